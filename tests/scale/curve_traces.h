/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reference strings for judging the miss-ratio curve, and the exact answer for each: LRU as a
 * linked list, OPT with a heap of next uses, one cache size at a time. Shares no code with the
 * advisor.
 */
#ifndef CURVE_TRACES_H
#define CURVE_TRACES_H

#include <stddef.h>
#include <stdint.h>

struct trace {
	const char *name;
	uint32_t *pages;
	size_t nr;
	uint32_t nr_pages; /* all page numbers are below this */
	uint32_t distinct;
};

enum { TRACES = 5 };

/* Trace i of TRACES, always the same. Exits if out of memory. */
void trace_make(int i, uint32_t nr_pages, size_t nr, struct trace *ret);
void trace_free(struct trace *t);

size_t exact_lru_misses(const struct trace *t, uint32_t cache_pages);
size_t exact_opt_misses(const struct trace *t, uint32_t cache_pages);

uint64_t mix(uint64_t x);

#endif
