/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name of a pattern from its features: a pure decision. Owns the names, the thresholds and how
 * sure a name is. What is not known decides nothing; without anything known the name is unknown.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include "advisor/pattern/features.h"

#define PATTERN_NAMES(X)                                                                           \
	X(unknown)                                                                                 \
	X(sequential)                                                                              \
	X(strided)                                                                                 \
	X(random)                                                                                  \
	X(backward)                                                                                \
	X(scan_once)                                                                               \
	X(reread)                                                                                  \
	X(small_files)                                                                             \
	X(shuffled_epoch)                                                                          \
	X(mmap_sequential)                                                                         \
	X(mmap_random)                                                                             \
	X(interleaved)                                                                             \
	X(direct)                                                                                  \
	X(append_follow)                                                                           \
	X(mixed)

enum pattern_name {
#define X(name) PATTERN_##name,
	PATTERN_NAMES(X)
#undef X
		PATTERN_NR,
};

enum { PATTERN_DECIDING_MAX = 6 };

struct pattern {
	enum pattern_name name;
	double confidence; /* 0..1; of unknown 0 */
	enum feature decided[PATTERN_DECIDING_MAX];
	size_t nr_decided;
};

const char *pattern_name(enum pattern_name name);
struct pattern pattern_of_file(const struct features *f);

/* A file of a directory. weight: what the job read of it. */
struct pattern_part {
	enum pattern_name name;
	double confidence;
	double weight;
};

/* f: of the directory as a whole; F_main_share is set here. */
struct pattern pattern_of_directory(struct features *f, const struct pattern_part *parts,
				    size_t nr);

#endif
