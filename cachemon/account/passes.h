/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes over files: what an interval read of each file for the first time, the second time and so
 * on, from the bytes read so far and the file size; the same for added pages. Owns the arithmetic;
 * keeps no state between intervals.
 */
#ifndef PASSES_H
#define PASSES_H

#include <stddef.h>
#include <stdint.h>

struct ledger;

/* The third pass over a file is what was read between twice and three times its size. */
struct sample_pass {
	uint64_t pass;			 /* from 1 */
	uint64_t read_bytes, file_bytes; /* and the sizes of files whose pass begins here */
	uint64_t brought_pages, file_pages;
};

/* The limit per interval, and per file; further passes are left out. */
enum { PASSES_MAX = 16, PASSES_OF_FILE_MAX = 2 };

struct passes {
	struct sample_pass list[PASSES_MAX];
	size_t nr;
};

/* A file of that size: total_bytes read so far, last_bytes of them in the interval; or the same
 * in added pages. */
struct passes_file {
	uint64_t size_bytes, total_bytes, last_bytes, total_pages, last_pages;
};
void passes_add(struct passes *p, const struct passes_file *f, uint64_t page_size);
/* The watched job's files in the last interval; call it after ledger_apply(). */
void passes_take(struct passes *p, const struct ledger *l, uint64_t page_size);

#endif
