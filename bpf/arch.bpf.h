/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that differs between architectures, with the numbers in arch_uapi.h: argument registers,
 * flags that an architecture has its own values for, the order in which CPUs see each other's
 * stores. A new one adds a block to both files and its name to bpf/CMakeLists.txt. The size of a
 * page is no constant of an architecture: user space tells it (config.page_shift).
 */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

#include "reach.bpf.h"
#include "arch_uapi.h"

#if defined(CACHEMON_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
	__u64 orig_x0;
	__s32 syscallno;
} __attribute__((preserve_access_index));
/* What a function's arguments are read as (bpf_tracing.h): the beginning of struct pt_regs. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
} __attribute__((preserve_access_index));
#define REGS_NR(r)     ((long)READ(r, syscallno))
#define REGS_ARG1(r)   READ(r, orig_x0)
#define REGS_ARG2(r)   READ(r, regs[1])
#define REGS_ARG3(r)   READ(r, regs[2])
#define REGS_ARG4(r)   READ(r, regs[3])
#define REGS_ARG5(r)   READ(r, regs[4])
#define REGS_COMPAT(r) (READ(r, pstate) & 0x10) /* PSR_MODE32_BIT: AArch32 user mode */
#elif defined(CACHEMON_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs;
} __attribute__((preserve_access_index));
#define REGS_NR(r)	((long)READ(r, orig_ax))
#define REGS_ARG1(r)	READ(r, di)
#define REGS_ARG2(r)	READ(r, si)
#define REGS_ARG3(r)	READ(r, dx)
#define REGS_ARG4(r)	READ(r, r10)
#define REGS_ARG5(r)	READ(r, r8)
#define REGS_COMPAT(r)	(READ(r, cs) == 0x23) /* __USER32_CS */
#define ARCH_PAGE_SHIFT 12
#define ARCH_KEEPS_ORDER
#endif
#define O_DIRECT ARCH_O_DIRECT

/*
 * What comes before is seen by other CPUs before what comes after: of loads (order_reads) or of
 * stores (order_writes). Programs have no fence of that name, but each atomic operation that
 * returns what was there is a full one. word: any that nobody else needs; it becomes 0. On x86
 * loads are not passed by loads nor stores by stores, so that only the compiler must be kept from
 * it. A basic build has no such operation: there nothing is read that another CPU is in the middle
 * of writing.
 */
#if defined(ARCH_KEEPS_ORDER) || defined(CACHEMON_BASIC)
#define order_reads(word)  barrier()
#define order_writes(word) barrier()
#else
#define order_reads(word)  __sync_lock_test_and_set(word, 0)
#define order_writes(word) __sync_lock_test_and_set(word, 0)
#endif

#endif
