/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System call numbers and argument registers of the machine the objects are built for. Owns all
 * that differs between architectures; a new one adds a block here and nothing elsewhere.
 */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

#if defined(CACHEMON_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
	__u64 orig_x0;
	__s32 syscallno;
} __attribute__((preserve_access_index));
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
#define REGS_COMPAT(r) (READ(r, pstate) & 0x10) /* AArch32 user mode */
enum {
	NR_ftruncate = 46,
	NR_fallocate = 47,
	NR_read = 63,
	NR_write = 64,
	NR_readv = 65,
	NR_writev = 66,
	NR_pread64 = 67,
	NR_pwrite64 = 68,
	NR_preadv = 69,
	NR_pwritev = 70,
	NR_sendfile = 71,
	NR_splice = 76,
	NR_io_submit = 2,
	NR_readahead = 213,
	NR_fadvise64 = 223,
	NR_madvise = 233,
	NR_preadv2 = 286,
	NR_pwritev2 = 287,
	NR_copy_file_range = 285,
	NR_io_uring_enter = 426,
};
#else /* x86_64 */
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
enum {
	NR_read = 0,
	NR_write = 1,
	NR_pread64 = 17,
	NR_pwrite64 = 18,
	NR_readv = 19,
	NR_writev = 20,
	NR_madvise = 28,
	NR_sendfile = 40,
	NR_ftruncate = 77,
	NR_readahead = 187,
	NR_io_submit = 209,
	NR_fadvise64 = 221,
	NR_splice = 275,
	NR_fallocate = 285,
	NR_preadv = 295,
	NR_pwritev = 296,
	NR_copy_file_range = 326,
	NR_preadv2 = 327,
	NR_pwritev2 = 328,
	NR_io_uring_enter = 426,
};
#endif

#endif
