/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features of the order in which a file was accessed, and of the tasks that did it: all reads, or
 * all touches of its mappings, as plain arrays. Pure.
 */
#ifndef PATTERN_ACCESSES_H
#define PATTERN_ACCESSES_H

#include "advisor/pattern/pattern.h"

struct access {
	uint64_t pos, len;    /* bytes; of the page for a fault */
	uint32_t description; /* the open file or the mapping */
	uint32_t actor;	      /* the task; for a read only */
};

/* 0 or -ENOMEM. */
int accesses_features(const struct access *a, size_t nr, uint64_t page_bytes, struct features *f);
/* For reads: the number of tasks that read nearly all of the file. */
int readers_features(const struct access *a, size_t nr, uint64_t size_bytes, struct features *f);
int faults_features(const struct access *a, size_t nr, uint64_t page_bytes, struct features *f);

#endif
