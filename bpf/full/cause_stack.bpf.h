/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a page is evicted, from the kernel's stack. */
#ifndef FULL_CAUSE_STACK_BPF_H
#define FULL_CAUSE_STACK_BPF_H

#include "bpf/roles/invalidation.bpf.h"

enum { STACK_DEPTH = 24 };

static __always_inline bool in_symbol(__u64 addr, const volatile __u64 sym[2])
{
	return addr >= sym[0] && addr < sym[1];
}

static __noinline int cause_from_stack(struct live *l, void *ctx)
{
	__u64 stack[STACK_DEPTH];
	long n = bpf_get_stack(ctx, stack, sizeof(stack), 0);
	int cause = EVICT_OTHER;

	for (int i = 0; i < STACK_DEPTH; i++) {
		if (i * 8 >= n)
			break;
		if (in_symbol(stack[i], config.sym_fadvise))
			return EVICT_DONTNEED;
		if (in_symbol(stack[i], config.sym_invalidate2))
			return cause_of_invalidation(l);
		if (in_symbol(stack[i], config.sym_drop_caches))
			return EVICT_DROP_CACHES;
		/* MADV_REMOVE and io_uring come here as well. */
		if (in_symbol(stack[i], config.sym_fallocate))
			return EVICT_TRUNCATE;
		/* Invalidation uses it too; otherwise it is the end of a call, or of its
		 * writeback. */
		if (in_symbol(stack[i], config.sym_unmap))
			cause = EVICT_DONTCACHE;
	}
	return cause;
}

#endif
