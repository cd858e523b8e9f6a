// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages entering and leaving the cache: the events that every exact figure comes from. An add is
 * classified by what its task is doing (adds.bpf.h). A delete is charged to the page's owner, never
 * to current; its cause is a separate fact (causes.bpf.h). pages.bpf.h of the build updates the
 * state of the page and the counters.
 */
#include "bpf/state/live.bpf.h"
#include "bpf/roles/causes.bpf.h"
#include OF_BUILD(pages.bpf.h)

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(page_add_tp, struct folio *folio)
{
	return WITH_LIVE(l, EV_ADD, folio_added(l, folio));
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(page_delete_tp, struct folio *folio)
{
	return WITH_LIVE(l, EV_DELETE, folio_swaps(folio) ? 0 : folio_deleted(l, ctx, folio));
}

/* Reclaim scopes: pages deleted inside them are charged to them. */
static __always_inline int reclaim_set(__u32 scope)
{
	return WITH_LIVE(l, EV_DELETE, l->s.reclaim = scope);
}

SEC("?tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(dreclaim_in_tp)
{
	return reclaim_set(RECLAIM_DIRECT);
}

SEC("?tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(dreclaim_out_tp)
{
	return reclaim_set(RECLAIM_NONE);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(mreclaim_in_tp)
{
	return reclaim_set(RECLAIM_MEMCG);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(mreclaim_out_tp)
{
	return reclaim_set(RECLAIM_NONE);
}
