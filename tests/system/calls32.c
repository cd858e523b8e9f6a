// SPDX-License-Identifier: BSD-2-Clause
/* A 32-bit program without a C library: it uses the 32-bit system call numbers. */
struct vector {
	void *base;
	unsigned long bytes;
};

static char buffer[65536];

static long call(long nr, const long arg[6])
{
	long ret;
	struct {
		long nr, first, last;
	} in = {nr, arg[0], arg[5]};

	__asm__ volatile("push %%ebp; push %%ebx; mov 8(%%eax), %%ebp; mov 4(%%eax), %%ebx;"
			 "mov (%%eax), %%eax; int $0x80; pop %%ebx; pop %%ebp"
			 : "=a"(ret)
			 : "a"(&in), "c"(arg[1]), "d"(arg[2]), "S"(arg[3]), "D"(arg[4])
			 : "memory");
	return ret;
}
#define CALL(nr, ...) call(nr, (const long[6]){__VA_ARGS__})

void _start(void)
{
	long fd = CALL(5, (long)PATH, 2);
	long offset = 2 << 20;
	struct vector v[2] = {{buffer, 5000}, {buffer + 5000, 6000}};

	for (int i = 0; i < 10; i++)
		CALL(180, fd, (long)buffer, 10000, 1000000 + i * 10000, 0); /* pread64 */
	CALL(19, fd, 500, 0);						    /* lseek */
	for (int i = 0; i < 10; i++)
		CALL(3, fd, (long)buffer, 4096); /* read */
	for (int i = 0; i < 10; i++)
		CALL(333, fd, (long)v, 2, 3 << 20, 0); /* preadv */
	CALL(272, fd, 5 << 20, 0, 65536, 0, 3);	       /* fadvise64_64, WILLNEED */
	CALL(225, fd, 6 << 20, 0, 65536);	       /* readahead */
	CALL(187, CALL(5, (long)"/dev/null", 1), fd, (long)&offset, 30000); /* sendfile */
	CALL(181, fd, (long)buffer, 16384, 7 << 20, 0);			    /* pwrite64 */
	CALL(1, 0);
}
