/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a kernel's readahead behaves, as far as kernels differ: a set of behaviours, not a version.
 * Owns the table of known ones and the choice by what a run recorded. An unknown kernel has none.
 */
#ifndef RA_KERNEL_H
#define RA_KERNEL_H

#include <stdbool.h>

/* The pages of the model, and no others: windows, folio orders and fault-around of the kernels
 * below are those with these. A run with other pages is refused (whatif_readahead.c). */
enum { RA_PAGE_SHIFT = 12, RA_PAGE_BYTES = 1 << RA_PAGE_SHIFT, RA_PAGE_KB = RA_PAGE_BYTES / 1024 };

enum ra_prev_pos {
	RA_PREV_LAST_READ, /* the last page read, with the end's offset in it; set when a call ends
			    */
	RA_PREV_NEXT_EACH, /* the first byte not read; set after every folio */
	RA_PREV_NEXT_END,  /* the first byte not read; set when a call ends */
};

enum ra_order_policy {
	RA_ORDER_NONE,	 /* single pages, whatever the filesystem */
	RA_ORDER_MARKER, /* two more than the marked folio's; first windows have order 2 */
	RA_ORDER_RAMP,	 /* kept with the window: 0 at first, two more with each marker hit */
};

enum ra_mmap_miss {
	RA_MISS_VISITED,  /* fault-around takes one off for every page it visits */
	RA_MISS_FAULTING, /* one, where it mapped the faulting page at the first try */
};

struct ra_kernel {
	const char *name;
	enum ra_prev_pos prev_pos;
	enum ra_order_policy order;
	enum ra_mmap_miss mmap_miss;
	/* One body for misses and marker hits: a miss at the end of the window continues it, and a
	 * window that is all lookahead is merged with its successor. */
	bool one_body;
	/* A search that meets no hole in its range answers with the last page it looked at. */
	bool next_full_is_last, prev_full_is_last;
	/* A read that gets to the end of the file, or begins past it, asks for the page there. */
	bool asks_past_end;
	bool never_shrinks; /* a window that goes on is not smaller than the one before */
	bool search_lags;   /* a search that begins inside a large folio looks at slots after it */
	bool small_is_single; /* windows below four pages have single pages */
	bool no_order_1;      /* there are no folios of two pages */
	bool overshoots;      /* after a page in the way the whole size is read again */
	bool round_end;	      /* a window's end is cut to a multiple of its folios */
	bool eof_marker;      /* a window that reaches the end of the file is marked too */
	bool exec_window;     /* executable mappings have windows of their own */
	bool exec_uncounted;  /* which are no misses, however many there are */
};

/*
 * By `uname -r` as the run recorded it. NULL: not one of those the model was held against, or
 * between two of them that differ, and *ret_why (static text) says so.
 */
const struct ra_kernel *ra_kernel_of(const char *release, const char **ret_why);
/* One of the table by its name ("5.10", "6.1", "6.12", "6.18", "7.2"), or NULL. */
const struct ra_kernel *ra_kernel_named(const char *name);
/*
 * The largest folio order of a regular file of 4 KiB blocks there, by the filesystem's name; -1
 * where it is not known.
 */
int ra_kernel_max_order(const struct ra_kernel *kernel, const char *fstype);

#endif
