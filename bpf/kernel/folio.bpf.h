/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unit of cached memory: a folio, or before 5.16 a page, whose events are about the head of a
 * compound page. Owns the layouts of both; all other code says folio.
 */
#ifndef FOLIO_BPF_H
#define FOLIO_BPF_H

#include "bpf/kernel/reach.bpf.h"

static __always_inline bool kernel_has_folios(void)
{
	return bpf_core_type_exists(struct folio);
}

static __always_inline struct address_space *folio_mapping(struct folio *f)
{
	return kernel_has_folios() ? READ(f, mapping) : READ((struct page *)f, mapping);
}

static __always_inline __u64 folio_index(struct folio *f)
{
	return kernel_has_folios() ? READ(f, index) : READ((struct page *)f, index);
}

static __always_inline unsigned long folio_flags(struct folio *f)
{
	if (bpf_core_field_exists(((struct folio___memdesc *)0)->flags.f))
		return READ((struct folio___memdesc *)f, flags.f);
	return kernel_has_folios() ? READ(f, flags) : READ((struct page *)f, flags);
}

static __always_inline bool folio_uptodate(struct folio *f)
{
	return folio_flags(f) >> bpf_core_enum_value(enum pageflags, PG_uptodate) & 1;
}

/* A page of a file in memory (inode_in_memory()), by its flags, which are needed anyway. */
static __always_inline bool folio_swaps(struct folio *f)
{
	return folio_flags(f) >> bpf_core_enum_value(enum pageflags, PG_swapbacked) & 1;
}

/* _nr_pages since 6.13, _folio_nr_pages since 6.0; a page has its order in the second page. */
static __always_inline __u64 folio_pages(struct folio *f)
{
	if (!(folio_flags(f) >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (bpf_core_field_exists(struct folio, _nr_pages))
		return READ(f, _nr_pages);
	if (bpf_core_field_exists(struct folio___nr, _folio_nr_pages))
		return READ((struct folio___nr *)f, _folio_nr_pages);
	return 1ull << READ(CAST(page, (__u64)f + bpf_core_type_size(struct page)), compound_order);
}

/* The cached folio at index, from the page tree; NULL: none. */
static __noinline __u64 folio_at(struct live *l, struct address_space *mapping, __u64 index)
{
	__u64 entry = addr_of(l, READ(mapping, i_pages.xa_head)), slots;

	slots = bpf_core_field_offset(struct xa_node, slots);
	/* lib/xarray.c: internal entries end in binary 10, nodes are above the sibling range. */
	for (int depth = 0; depth < 11; depth++) {
		__u64 node, off;

		if ((entry & 3) != 2 || entry < 4096)
			break;
		node = entry - 2;
		off = (index >> (READ(CAST(xa_node, node), shift) & 63)) & 63;
		entry = load_ptr(node + slots + off * 8);
		if ((entry & 3) == 2 && entry < 4096) /* a sibling: its slot holds the folio */
			entry = load_ptr(node + slots + (entry >> 2 & 63) * 8);
	}
	return entry & 3 ? 0 : entry;
}

/* The first and last page, or false. */
static __always_inline bool folio_span(struct live *l, struct address_space *mapping, __u64 index,
				       __u64 *ret_first, __u64 *ret_last)
{
	struct folio *f = CAST(folio, folio_at(l, mapping, index));

	if (!(__u64)f)
		return false;
	*ret_first = folio_index(f);
	*ret_last = *ret_first + folio_pages(f) - 1;
	return *ret_first <= index && index <= *ret_last;
}

#endif
