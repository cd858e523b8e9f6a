/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a page is evicted, from the kernel's stack, as in full/cause_stack.bpf.h. These verifiers
 * need initialised memory and code without branches.
 */
#ifndef BASIC_CAUSE_STACK_BPF_H
#define BASIC_CAUSE_STACK_BPF_H

#include "bpf/roles/invalidation.bpf.h"

enum { STACK_DEPTH = 24 };

/* ~0: the address is inside the symbol. */
static __always_inline __u64 symbol_mask(__u64 addr, const volatile __u64 sym[2])
{
	__u64 off = addr - sym[0], in = ~off & (off - (sym[1] - sym[0]));

	barrier_var(in);
	return -(in >> 63);
}

/* From the outermost frame inwards, so that the innermost decides. */
static __noinline int cause_from_stack(struct live *l, void *ctx)
{
	__u64 *stack = work_of(WORK_STACK), cause = EVICT_OTHER;
	__u64 invalidated = cause_of_invalidation(l);
	long n;

	if (!stack)
		return EVICT_OTHER;
	n = bpf_get_stack(ctx, stack, STACK_DEPTH * sizeof(*stack), 0);
	for (int i = STACK_DEPTH - 1; i >= 0; i--) {
		__u64 filled = (__u64)(i * 8 - n), dontneed, invalidate, drop, punch;

		barrier_var(filled);
		filled = -(filled >> 63);
		dontneed = symbol_mask(stack[i], config.sym_fadvise) & filled;
		invalidate = symbol_mask(stack[i], config.sym_invalidate2) & filled;
		drop = symbol_mask(stack[i], config.sym_drop_caches) & filled;
		punch = symbol_mask(stack[i], config.sym_fallocate) & filled;
		cause &= ~(dontneed | invalidate | drop | punch);
		cause |= (dontneed & EVICT_DONTNEED) | (invalidate & invalidated) |
			 (drop & EVICT_DROP_CACHES) | (punch & EVICT_TRUNCATE);
	}
	return cause & 15;
}

#endif
