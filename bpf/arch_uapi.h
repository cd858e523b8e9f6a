/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What architectures number in their own way between programs and the kernel: system calls, as a
 * task's registers have them, and O_DIRECT. Parses alone; a unit test holds it against the headers
 * of the machine that it is built for.
 */
#ifndef ARCH_UAPI_H
#define ARCH_UAPI_H

#if defined(CACHEMON_ARCH_arm64)
/* include/uapi/asm-generic/unistd.h, arch/arm64/include/uapi/asm/fcntl.h */
#define ARCH_O_DIRECT 0200000
enum {
	NR_io_submit = 2,
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
	NR_readahead = 213,
	NR_execve = 221,
	NR_fadvise64 = 223,
	NR_madvise = 233,
	NR_finit_module = 273,
	NR_execveat = 281,
	NR_copy_file_range = 285,
	NR_preadv2 = 286,
	NR_pwritev2 = 287,
	NR_io_uring_enter = 426,
};
#elif defined(CACHEMON_ARCH_x86)
/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/fcntl.h */
#define ARCH_O_DIRECT 00040000
enum {
	NR_read = 0,
	NR_write = 1,
	NR_pread64 = 17,
	NR_pwrite64 = 18,
	NR_readv = 19,
	NR_writev = 20,
	NR_madvise = 28,
	NR_sendfile = 40,
	NR_execve = 59,
	NR_ftruncate = 77,
	NR_readahead = 187,
	NR_io_submit = 209,
	NR_fadvise64 = 221,
	NR_splice = 275,
	NR_fallocate = 285,
	NR_preadv = 295,
	NR_pwritev = 296,
	NR_finit_module = 313,
	NR_execveat = 322,
	NR_copy_file_range = 326,
	NR_preadv2 = 327,
	NR_pwritev2 = 328,
	NR_io_uring_enter = 426,
};
#else
#error "no numbers of this architecture"
#endif

#endif
