// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions that do nothing but take pages out of the cache: what leaves inside them leaves for
 * their reason, whoever runs them. Their ends come from fexit, which misses none; a return probe
 * may, so that there is none of these by kprobe, and a stack tells instead (causes.bpf.h).
 */
#include "live.bpf.h"

static __always_inline void scope_note(struct live *l, __u32 scope)
{
	l->s.scope = scope;
	live_keep(l);
}

static __always_inline int scope_set(__u32 scope)
{
	return WITH_LIVE(l, EV_SCOPE, scope_note(l, scope));
}

SEC("?fentry/generic_fadvise")
int BPF_PROG(fadvise_in_fn)
{
	return scope_set(1 + EVICT_DONTNEED);
}

SEC("?fexit/generic_fadvise")
int BPF_PROG(fadvise_out_fn)
{
	return scope_set(0);
}

SEC("?fentry/invalidate_inode_pages2_range")
int BPF_PROG(inval_in_fn)
{
	return scope_set(1 + EVICT_DIRECT_IO);
}

SEC("?fexit/invalidate_inode_pages2_range")
int BPF_PROG(inval_out_fn)
{
	return scope_set(0);
}

SEC("?fentry/drop_pagecache_sb")
int BPF_PROG(drop_in_fn)
{
	return scope_set(1 + EVICT_DROP_CACHES);
}

SEC("?fexit/drop_pagecache_sb")
int BPF_PROG(drop_out_fn)
{
	return scope_set(0);
}

SEC("?fentry/truncate_inode_pages_range")
int BPF_PROG(truncate_in_fn, struct address_space *mapping)
{
	/* Its file may have lost a part of its last page and no page: reads of it are to be looked
	 * at before their end is known again. */
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(READ(mapping, host, i_ino))],
			     OUTSTANDING_ADD);
	return scope_set(1 + EVICT_TRUNCATE);
}

SEC("?fexit/truncate_inode_pages_range")
int BPF_PROG(truncate_out_fn)
{
	return scope_set(0);
}
