/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The differences between kernels' readahead, as a set of behaviours instead of a version. Owns the
 * table of known kernels and the choice by the recorded kernel. An unknown kernel has no entry.
 */
#ifndef RA_KERNEL_H
#define RA_KERNEL_H

#include <stdbool.h>

/* The page size that the model supports: windows, folio orders and fault-around of the kernels
 * below assume it. A run with another page size is refused (whatif_readahead.c). */
enum { RA_PAGE_SHIFT = 12, RA_PAGE_BYTES = 1 << RA_PAGE_SHIFT, RA_PAGE_KB = RA_PAGE_BYTES / 1024 };

enum ra_prev_pos {
	RA_PREV_LAST_READ, /* the last page read, with the offset of the end in it; set at the end
			    * of a call */
	RA_PREV_NEXT_EACH, /* the first byte not read; set after every folio */
	RA_PREV_NEXT_END,  /* the first byte not read; set at the end of a call */
};

enum ra_order_policy {
	RA_ORDER_NONE,	 /* single pages on every filesystem */
	RA_ORDER_MARKER, /* the marked folio's order plus two; first windows have order 2 */
	RA_ORDER_RAMP,	 /* stored with the window: 0 at first, plus two at each marker hit */
};

enum ra_mmap_miss {
	RA_MISS_VISITED,  /* fault-around subtracts one for every page it visits */
	RA_MISS_FAULTING, /* fault-around subtracts one if it mapped the faulting page at the first
			   * try */
};

struct ra_kernel {
	const char *name;
	enum ra_prev_pos prev_pos;
	enum ra_order_policy order;
	enum ra_mmap_miss mmap_miss;
	/* Misses and marker hits share one function: a miss at the end of the window continues
	 * it, and a window that is all lookahead is merged with its successor. */
	bool one_body;
	/* A search that finds no hole returns the last page that it visited. */
	bool next_full_is_last, prev_full_is_last;
	/* A read that reaches the end of the file, or begins past it, asks for the page there. */
	bool asks_past_end;
	bool never_shrinks; /* a continued window is never smaller than the previous one */
	bool search_lags;   /* a search that begins inside a large folio skips to slots after it */
	bool small_is_single; /* windows below four pages use single pages */
	bool no_order_1;      /* folios of two pages do not exist */
	bool overshoots;      /* after a cached page in the way, the whole size is read again */
	bool round_end;	      /* the end of a window is aligned to its folios */
	bool eof_marker;      /* a window that reaches the end of the file is marked too */
	bool exec_window;     /* executable mappings have their own windows */
	bool exec_uncounted;  /* executable mappings cause no misses, however many there are */
};

/*
 * By `uname -r` of the run. NULL: not a tested kernel, or between two tested kernels that differ;
 * *ret_why (static text) has the reason.
 */
const struct ra_kernel *ra_kernel_of(const char *release, const char **ret_why);
/* The entry with this name ("5.10", "6.1", "6.12", "6.18", "7.2"), or NULL. */
const struct ra_kernel *ra_kernel_named(const char *name);
/*
 * The largest folio order of a regular file with 4 KiB blocks, by the filesystem's name; -1:
 * unknown.
 */
int ra_kernel_max_order(const struct ra_kernel *kernel, const char *fstype);

#endif
