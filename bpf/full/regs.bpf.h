/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system call that a task is in: the place of its registers, and their meaning by the numbers
 * and the argument order of 64-bit programs. Owns the translation of 32-bit programs' calls.
 */
#ifndef FULL_REGS_BPF_H
#define FULL_REGS_BPF_H

#include "bpf/kernel/arch.bpf.h"

#ifdef CACHEMON_ARCH_x86
/* The 64-bit number of a 32-bit program's system call; -1: none that matters. */
GLOBAL long compat_nr(long nr)
{
	static const struct {
		__u16 compat, native;
	} same[] = {ARCH_COMPAT_CALLS};

	for (__u32 i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		if (same[i].compat == nr)
			return same[i].native;
	}
	return -1;
}

static __always_inline __u64 compat_reg(__u64 regs, __u32 n)
{
	return (__u32)load_ptr(regs + (n == 1	? bpf_core_field_offset(struct pt_regs, bx)
				       : n == 2 ? bpf_core_field_offset(struct pt_regs, cx)
				       : n == 3 ? bpf_core_field_offset(struct pt_regs, dx)
				       : n == 4 ? bpf_core_field_offset(struct pt_regs, si)
				       : n == 5 ? bpf_core_field_offset(struct pt_regs, di)
						: bpf_core_field_offset(struct pt_regs, bp)));
}

/* An offset that takes one register elsewhere is a pair here. */
GLOBAL __u64 compat_arg(__u64 regs, __u32 n)
{
	long nr = REGS_NR_NATIVE(CAST(pt_regs, regs));
	bool wide = nr == COMPAT_fadvise64_64, pair = n == 4 && ARCH_COMPAT_AT_OFFSET(nr);
	__u64 value;

	if (wide || nr == COMPAT_fadvise64 || nr == COMPAT_readahead) {
		pair = n == 2 || (n == 3 && wide);
		n += (n > 2) + (n > 3 && wide);
	}
	value = compat_reg(regs, n);
	return pair ? value | compat_reg(regs, n + 1) << 32 : value;
}
#else
/* Numbers and arguments of 32-bit calls are unknown here: treated as no system call. */
#define compat_nr(nr)	    (-1L)
#define compat_arg(regs, n) 0
#endif

static __always_inline long regs_nr(__u64 regs)
{
	struct pt_regs *r = CAST(pt_regs, regs);
	long nr = REGS_NR_NATIVE(r);

	return REGS_COMPAT(r) ? compat_nr(nr) : nr;
}

static __always_inline __u64 regs_arg(__u64 regs, __u32 n)
{
	struct pt_regs *r = CAST(pt_regs, regs);

	if (REGS_COMPAT(r))
		return compat_arg(regs, n);
	return REGS_ARG_NATIVE(r, n);
}

static __always_inline __u64 regs_at(struct task_struct *t)
{
	return (__u64)bpf_task_pt_regs(t);
}

/* The helper returns the registers. */
static __always_inline void regs_measure(struct pt_regs *regs)
{
}

#endif
