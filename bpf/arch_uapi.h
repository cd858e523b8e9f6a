/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers of the kernel's user interface that depend on the architecture: system calls, as in a
 * task's registers, and O_DIRECT. Needs no other header; a unit test compares it with the headers
 * of the machine that it is built for.
 */
#ifndef ARCH_UAPI_H
#define ARCH_UAPI_H

#if defined(CACHEMON_ARCH_arm64)
/* include/uapi/asm-generic/unistd.h, arch/arm64/include/uapi/asm/fcntl.h */
#define ARCH_O_DIRECT 0200000
enum {
	NR_io_submit = 2,
	NR_mkdirat = 34,
	NR_unlinkat = 35,
	NR_ftruncate = 46,
	NR_fallocate = 47,
	NR_openat = 56,
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
	NR_process_madvise = 440,
	NR_finit_module = 273,
	NR_execveat = 281,
	NR_copy_file_range = 285,
	NR_preadv2 = 286,
	NR_pwritev2 = 287,
	NR_io_uring_enter = 426,
	NR_openat2 = 437,
};
#define ARCH_COMPAT_ADVISES(nr) false
#elif defined(CACHEMON_ARCH_x86)
/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/fcntl.h */
#define ARCH_O_DIRECT 00040000
enum {
	NR_read = 0,
	NR_write = 1,
	NR_open = 2,
	NR_pread64 = 17,
	NR_pwrite64 = 18,
	NR_readv = 19,
	NR_writev = 20,
	NR_madvise = 28,
	NR_process_madvise = 440,
	NR_sendfile = 40,
	NR_execve = 59,
	NR_ftruncate = 77,
	NR_mkdir = 83,
	NR_rmdir = 84,
	NR_creat = 85,
	NR_unlink = 87,
	NR_readahead = 187,
	NR_io_submit = 209,
	NR_fadvise64 = 221,
	NR_openat = 257,
	NR_mkdirat = 258,
	NR_unlinkat = 263,
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
	NR_openat2 = 437,
};

/* arch/x86/entry/syscalls/syscall_32.tbl: calls of 32-bit programs, and the one of the above
 * that each equals. */
enum {
	COMPAT_pread64 = 180,
	COMPAT_pwrite64 = 181,
	COMPAT_sendfile = 187,
	COMPAT_madvise = 219,
	COMPAT_readahead = 225,
	COMPAT_fadvise64 = 250,
	COMPAT_fadvise64_64 = 272,
	COMPAT_preadv = 333,
	COMPAT_pwritev = 334,
	COMPAT_preadv2 = 378,
	COMPAT_pwritev2 = 379,
};
#define ARCH_COMPAT_CALLS                                                                          \
	{3, NR_read}, {4, NR_write}, {5, NR_open}, {8, NR_creat}, {10, NR_unlink},                 \
		{11, NR_execve}, {39, NR_mkdir}, {40, NR_rmdir}, {93, NR_ftruncate},               \
		{145, NR_readv}, {146, NR_writev}, {COMPAT_pread64, NR_pread64},                   \
		{COMPAT_pwrite64, NR_pwrite64}, {COMPAT_sendfile, NR_sendfile},                    \
		{194, NR_ftruncate}, {COMPAT_madvise, NR_madvise},                                 \
		{COMPAT_readahead, NR_readahead}, {239, NR_sendfile}, {248, NR_io_submit},         \
		{295, NR_openat}, {296, NR_mkdirat}, {301, NR_unlinkat}, {437, NR_openat2},        \
		{COMPAT_fadvise64, NR_fadvise64}, {COMPAT_fadvise64_64, NR_fadvise64},             \
		{313, NR_splice}, {324, NR_fallocate}, {COMPAT_preadv, NR_preadv},                 \
		{COMPAT_pwritev, NR_pwritev}, {350, NR_finit_module}, {358, NR_execveat},          \
		{377, NR_copy_file_range}, {COMPAT_preadv2, NR_preadv2},                           \
		{COMPAT_pwritev2, NR_pwritev2}, {426, NR_io_uring_enter},                          \
	{                                                                                          \
		440, NR_process_madvise                                                            \
	}
/* The fourth and the fifth argument are the two halves of an offset. */
#define ARCH_COMPAT_AT_OFFSET(nr)                                                                  \
	((nr) == COMPAT_pread64 || (nr) == COMPAT_pwrite64 || (nr) == COMPAT_preadv ||             \
	 (nr) == COMPAT_pwritev || (nr) == COMPAT_preadv2 || (nr) == COMPAT_pwritev2)
#define ARCH_COMPAT_ADVISES(nr)                                                                    \
	((nr) == COMPAT_madvise || (nr) == COMPAT_readahead || (nr) == COMPAT_fadvise64 ||         \
	 (nr) == COMPAT_fadvise64_64)
#else
#error "no numbers of this architecture"
#endif

#endif
