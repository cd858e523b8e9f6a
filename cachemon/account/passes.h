/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes over files: what an interval read of each for the first time, the second and so on, by the
 * bytes read so far and the size; likewise what came into the cache. Owns the arithmetic; keeps
 * nothing between two intervals.
 */
#ifndef PASSES_H
#define PASSES_H

#include <stddef.h>
#include <stdint.h>

struct ledger;

/* The third pass over a file is what was read of it between twice its size and three times. */
struct sample_pass {
	uint64_t pass;			 /* from 1 */
	uint64_t read_bytes, file_bytes; /* and the sizes of the files whose pass begins here */
	uint64_t brought_pages, file_pages;
};

/* Further ones in an interval are left out, and so is a file that it read more often than this. */
enum { PASSES_MAX = 16, PASSES_OF_FILE_MAX = 2 };

struct passes {
	struct sample_pass list[PASSES_MAX];
	size_t nr;
};

/* A file of that size, of which total_bytes were read so far, last_bytes of them in the interval;
 * likewise pages that came into the cache. */
struct passes_file {
	uint64_t size_bytes, total_bytes, last_bytes, total_pages, last_pages;
};
void passes_add(struct passes *p, const struct passes_file *f, uint64_t page_size);
/* The files of the watched job in the last interval; after ledger_apply(). */
void passes_take(struct passes *p, const struct ledger *l, uint64_t page_size);

#endif
