/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All differences between architectures, with the numbers in arch_uapi.h: argument registers, flags
 * with different values, and the order in which CPUs see each other's stores. A new architecture
 * adds a block to both files, one to full/regs.bpf.h if it runs 32-bit programs, and its name to
 * bpf/CMakeLists.txt. The page size does not depend only on the architecture: user space sets it
 * (config.page_shift).
 */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

#include "bpf/kernel/reach.bpf.h"
#include "bpf/arch_uapi.h"

#if defined(CACHEMON_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
	__u64 orig_x0;
	__s32 syscallno;
} __attribute__((preserve_access_index));
/* The type for reading a function's arguments (<bpf/bpf_tracing.h>): the beginning of struct
 * pt_regs. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
} __attribute__((preserve_access_index));
#define REGS_COMPAT(r)		  (READ(r, pstate) & 0x10) /* PSR_MODE32_BIT: AArch32 user mode */
#define REGS_NR_NATIVE(r)	  ((long)READ(r, syscallno))
#define REGS_ARG_NATIVE(r, n)	  ((n) == 1 ? READ(r, orig_x0) : READ(r, regs[(n)-1]))
#define REGS_ARG3_NATIVE(r)	  READ(r, regs[2])
#define ARCH_OFFSET_IS_SHORT(r)	  false
#define REGS_ARG4_NATIVE(r)	  READ(r, regs[3])
#define ARCH_CALL_IS_COMPAT(t, r) REGS_COMPAT(r)
#define ARCH_VFS_CALLS
/* BPF has no separate fence, but each atomic operation that returns the old value is a full one. */
#define ARCH_ORDER(word) __sync_lock_test_and_set(word, 0)
#elif defined(CACHEMON_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs;
} __attribute__((preserve_access_index));
#define REGS_COMPAT(r)	    (READ(r, cs) == 0x23) /* __USER32_CS */
#define REGS_NR_NATIVE(r)   ((long)READ(r, orig_ax))
#define REGS_ARG3_NATIVE(r) READ(r, dx)
#define REGS_ARG4_NATIVE(r) READ(r, r10)

#define REGS_ARG_NATIVE(r, n)                                                                      \
	((n) == 1   ? READ(r, di)                                                                  \
	 : (n) == 2 ? READ(r, si)                                                                  \
	 : (n) == 3 ? READ(r, dx)                                                                  \
	 : (n) == 4 ? READ(r, r10)                                                                 \
		    : READ(r, r8))
#define ARCH_OFFSET_IS_SHORT(r)	  (REGS_COMPAT(r) && REGS_NR_NATIVE(r) == COMPAT_sendfile)
/* A 64-bit program can make the call of a 32-bit one (int $0x80): TS_COMPAT of
 * arch/x86/include/asm/thread_info.h. */
#define ARCH_CALL_IS_COMPAT(t, r) (READ(t, thread_info.status) & 2)
#define ARCH_VFS_CALLS                                                                             \
	[NR_open] = 1 + VFS_OPEN, [NR_creat] = 1 + VFS_OPEN, [NR_mkdir] = 1 + VFS_MKDIR,           \
	[NR_rmdir] = 1 + VFS_RMDIR, [NR_unlink] = 1 + VFS_UNLINK,
#define ARCH_PAGE_SHIFT	 12
/* This architecture does not reorder loads with loads or stores with stores: only the compiler
 * must be restrained. */
#define ARCH_ORDER(word) barrier()
#endif

/* The system call is one of a 32-bit program. */
static __always_inline bool regs_compat(__u64 regs)
{
	return REGS_COMPAT(CAST(pt_regs, regs));
}

/* Its numbers are not those of the program: what it does is unknown. */
static __always_inline bool regs_are_mixed(struct task_struct *t, __u64 regs)
{
	struct pt_regs *r = CAST(pt_regs, regs);

	return !ARCH_CALL_IS_COMPAT(t, r) != !REGS_COMPAT(r);
}

static __always_inline bool regs_offset_is_short(__u64 regs)
{
	return ARCH_OFFSET_IS_SHORT(CAST(pt_regs, regs));
}

/* By the numbers and the argument order of 64-bit programs: regs.bpf.h. */
#define REGS_NR(regs)	regs_nr(regs)
#define REGS_ARG1(regs) regs_arg(regs, 1)
#define REGS_ARG2(regs) regs_arg(regs, 2)
#define REGS_ARG3(regs) regs_arg(regs, 3)
#define REGS_ARG4(regs) regs_arg(regs, 4)
#define REGS_ARG5(regs) regs_arg(regs, 5)
#define O_DIRECT	ARCH_O_DIRECT

#endif
