/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features of the order in which a file was accessed, and by whom: all of its reads, or all touches
 * of its mappings, as plain arrays. Pure.
 */
#ifndef PATTERN_ACCESSES_H
#define PATTERN_ACCESSES_H

#include "advisor/pattern/pattern.h"

struct access {
	uint64_t pos, len;    /* bytes; of a fault its page */
	uint32_t description; /* which open file description, or which mapping */
	uint32_t actor;	      /* which task; of a read alone */
};

/* 0 or -ENOMEM. */
int accesses_features(const struct access *a, size_t nr, uint64_t page_bytes, struct features *f);
/* Of reads: how many tasks read nearly all of the file. */
int readers_features(const struct access *a, size_t nr, uint64_t size_bytes, struct features *f);
int faults_features(const struct access *a, size_t nr, uint64_t page_bytes, struct features *f);

#endif
