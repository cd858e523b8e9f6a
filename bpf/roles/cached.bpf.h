/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts cached pages of a range from the page tree, as cachestat(2) would. For rare events: it
 * takes a step for each 64 cached pages, and skips uncached ranges in the largest strides of the
 * tree. Owns the walk.
 */
#ifndef CACHED_BPF_H
#define CACHED_BPF_H

#include "bpf/kernel/folio.bpf.h"

#define CACHED_STEPS (1 << 16) /* upper limit: 16 GiB of cached pages of 4 KiB */

struct cached_look {
	__u64 mapping;
	__u64 index, last; /* still to visit */
	__u64 at, end;	   /* the current entry, and its last index; 0: begin at the root */
	__u64 pages;
};

static __always_inline bool entry_is_node(__u64 entry)
{
	return (entry & 3) == 2 && entry >= 4096;
}

/* A folio, or a sibling slot that refers to it: lib/xarray.c, xa_mk_sibling(). */
static __always_inline bool entry_is_cached(__u64 entry)
{
	return entry && (!(entry & 3) || ((entry & 3) == 2 && entry < 256));
}

/* One level down, without a loop, which the verifier would walk again on each path through it. */
static long cached_step(__u32 i, struct cached_look **look)
{
	struct cached_look *x = *look;
	__u64 slots = bpf_core_field_offset(struct xa_node, slots), index = x->index;
	__u64 head = bpf_core_field_offset(struct address_space, i_pages.xa_head);
	__u64 entry = x->at ? x->at : load_ptr(x->mapping + head), end = x->end;

	if (entry_is_node(entry)) {
		struct xa_node *node = CAST(xa_node, entry - 2);
		__u64 shift = READ(node, shift) & 63, slot = index >> shift;

		if (!x->at && slot > 63) { /* larger than any existing index */
			x->index = x->last + 1;
			return 1;
		}
		if (shift || index & 63 || index + 63 > x->last) {
			x->at = load_ptr((__u64)node + slots + (slot & 63) * 8);
			x->end = ((slot + 1) << shift) - 1;
			if (x->at)
				return 0;
			x->index = x->end + 1;
			return x->index > x->last;
		}
		x->pages += READ(node, count) - READ(node, nr_values);
		end = index + 63;
	} else if (!x->at) {
		x->pages += !index && entry_is_cached(entry);
		end = x->last;
	} else if (entry_is_cached(entry)) {
		x->pages += (end < x->last ? end : x->last) - index + 1;
	}
	x->at = 0;
	x->index = end + 1;
	return x->index > x->last;
}

/* The verifier does not track pointees across loop iterations. */
GLOBAL int cached_walk(struct cached_look *x)
{
	if (x)
		bpf_loop(CACHED_STEPS, cached_step, &x, 0);
	return 0;
}

/* first <= last. False: the range has too many pages, or cannot be walked. */
static __always_inline bool cached_count(__u64 mapping, __u64 first, __u64 last, __u64 *ret_pages)
{
	struct cached_look x = {.mapping = mapping, .index = first, .last = last};

	if (!LOOPS_BY_HELPER)
		return false;
	cached_walk(&x);
	*ret_pages = x.pages;
	return x.index > last;
}

#endif
