/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system call that a task is in, as in full/regs.bpf.h, except calls of 32-bit programs: these
 * verifiers would walk the code that recognises them repeatedly. No helper returns the registers;
 * their place on the task's kernel stack is measured once.
 */
#ifndef BASIC_REGS_BPF_H
#define BASIC_REGS_BPF_H

#include "bpf/state/maps.bpf.h"

static __always_inline long regs_nr(__u64 regs)
{
	struct pt_regs *r = CAST(pt_regs, regs);

	return REGS_COMPAT(r) ? -1 : REGS_NR_NATIVE(r);
}

static __always_inline __u64 regs_arg(__u64 regs, __u32 n)
{
	struct pt_regs *r = CAST(pt_regs, regs);

	return REGS_ARG_NATIVE(r, n);
}

static __always_inline __u64 regs_at(struct task_struct *t)
{
	return (__u64)READ(t, stack) + shared.regs_offset;
}

/* regs: of a system call of the running task. */
static __always_inline void regs_measure(struct pt_regs *regs)
{
	shared.regs_offset = (__u64)regs - (__u64)READ(current_task(), stack);
}

#endif
