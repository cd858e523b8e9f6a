/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The example's dataset: the names and sizes shared by its maker and its reader, both of which run
 * in the dataset's directory.
 */
#ifndef DATASET_H
#define DATASET_H

#include <stddef.h>

#define MIB ((size_t)1 << 20)

#define NR_CLASSES    8
#define CLASS_SAMPLES 32
#define NR_SAMPLES    (NR_CLASSES * CLASS_SAMPLES)
#define SAMPLE_BYTES  MIB
#define SAMPLE_PATH   "train/class-%d/sample-%02d.bin"

#define NR_SHARDS   4
#define SHARD_BYTES (16 * MIB)
#define SHARD_PATH  "shards/shard-%d.bin"

#define VALIDATION_PATH	 "validation/validation.bin" /* read in order, then dropped */
#define VALIDATION_BYTES (96 * MIB)
#define VALIDATED_BYTES	 (32 * MIB)		       /* this much of it is read */
#define FEATURES_PATH	 "features/plain.bin"	       /* random records, no advice */
#define ADVISED_PATH	 "features/advised-random.bin" /* the same with POSIX_FADV_RANDOM */
#define FEATURES_BYTES	 (32 * MIB)
#define TOKENS_PATH	 "tokens/tokens.bin" /* mapped, touched at random */
#define TOKENS_BYTES	 (48 * MIB)

#define CHECKPOINT_PATH	 "checkpoints/last.bin"
#define CHECKPOINT_BYTES (24 * MIB)

#define PATH_MAX_BYTES 64

#endif
