// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions that only drop pages from the cache: evictions inside them have their cause, whichever
 * task runs them. fexit shows their ends without misses. A return probe may miss some, so there are
 * no such scopes for kprobes; a stack shows the cause instead (causes.bpf.h).
 */
#include "bpf/roles/invalidation.bpf.h"

static __always_inline void scope_note(struct live *l, __u32 scope)
{
	l->s.scope = scope;
	live_keep(l);
}

static __always_inline int scope_set(__u32 scope)
{
	return WITH_LIVE(l, EV_SCOPE, scope_note(l, scope));
}

#define SCOPE_BEGIN(function, name, cause)                                                         \
	SEC("?fentry/" #function)                                                                  \
	int BPF_PROG(name##_in_fn)                                                                 \
	{                                                                                          \
		return scope_set(1 + (cause));                                                     \
	}
#define SCOPE_END(function, name)                                                                  \
	SEC("?fexit/" #function)                                                                   \
	int BPF_PROG(name##_out_fn)                                                                \
	{                                                                                          \
		return scope_set(0);                                                               \
	}

SCOPE_BEGIN(generic_fadvise, fadvise, EVICT_DONTNEED)
SCOPE_END(generic_fadvise, fadvise)

/* No direct read or write is long enough to invalidate a whole file. */
static __always_inline int invalidation_set(__u64 last_page)
{
	bool all = last_page >= ~0ull >> 1 >> page_shift;

	return WITH_LIVE(l, EV_SCOPE,
			 scope_note(l, 1 + (all ? EVICT_INVALIDATE : cause_of_invalidation(l))));
}

SEC("?fentry/invalidate_inode_pages2_range")
int BPF_PROG(inval_in_fn, struct address_space *mapping, unsigned long first, unsigned long last)
{
	return invalidation_set(last);
}

SCOPE_END(invalidate_inode_pages2_range, inval)
SCOPE_BEGIN(drop_pagecache_sb, drop, EVICT_DROP_CACHES)
SCOPE_END(drop_pagecache_sb, drop)

SEC("?fentry/truncate_inode_pages_range")
int BPF_PROG(truncate_in_fn, struct address_space *mapping)
{
	/* The file may have lost part of its last page but no whole page: reads take the full path
	 * until its end is known again. */
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(READ(mapping, host, i_ino))],
			     OUTSTANDING_ADD);
	return scope_set(1 + EVICT_TRUNCATE);
}

SCOPE_END(truncate_inode_pages_range, truncate)
