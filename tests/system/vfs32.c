/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of files and directories by the numbers of 32-bit programs (int $0x80), for node_vfs.py:
 * as a 32-bit program, and as a 64-bit one, whose addresses must fit into 32 bits. Waits for a
 * byte, works in DIR, writes a byte and waits for another.
 */
enum {
	EXIT = 1,
	READ = 3,
	WRITE = 4,
	OPEN = 5,
	CREAT = 8,
	UNLINK = 10,
	MKDIR = 39,
	RMDIR = 40,
	READV = 145,
	WRITEV = 146,
	PREAD64 = 180,
	PWRITE64 = 181,
	OPENAT = 295,
	MKDIRAT = 296,
	UNLINKAT = 301,
};

#define AT_FDCWD     -100
#define AT_REMOVEDIR 0x200
#define O_RDWR	     2
#define O_CREAT	     0100

static char buf[1000];
static struct {
	unsigned int base, len;
} vec[2];

static int call(int nr, long a, long b, long c, long d, long e)
{
	int ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory");
	return ret;
}

void _start(void)
{
	int fd;

	vec[0].base = vec[1].base = (unsigned int)(long)buf;
	vec[0].len = vec[1].len = 300;
	call(READ, 0, (long)buf, 1, 0, 0);
	for (int i = 0; i < 2; i++)
		call(MKDIR, (long)(DIR "/d"), 0700, 0, 0, 0); /* the second fails */
	call(MKDIRAT, AT_FDCWD, (long)(DIR "/e"), 0700, 0, 0);
	call(RMDIR, (long)(DIR "/d"), 0, 0, 0, 0);
	call(UNLINKAT, AT_FDCWD, (long)(DIR "/e"), AT_REMOVEDIR, 0, 0);
	call(CREAT, (long)(DIR "/f"), 0600, 0, 0, 0);
	call(OPENAT, AT_FDCWD, (long)(DIR "/g"), O_RDWR | O_CREAT, 0600, 0);
	call(OPEN, (long)(DIR "/none"), O_RDWR, 0, 0, 0);
	fd = call(OPEN, (long)(DIR "/f"), O_RDWR, 0, 0, 0);
	call(WRITE, fd, (long)buf, 1000, 0, 0);
	call(PWRITE64, fd, (long)buf, 200, 5000, 0);
	call(WRITEV, fd, (long)vec, 2, 0, 0);
	call(PREAD64, fd, (long)buf, 100, 5000, 0);
	call(READV, fd, (long)vec, 2, 0, 0); /* zeros between 1600 and 5000 */
	call(UNLINK, (long)(DIR "/f"), 0, 0, 0, 0);
	call(UNLINKAT, AT_FDCWD, (long)(DIR "/g"), 0, 0, 0);
	call(UNLINK, (long)(DIR "/g"), 0, 0, 0, 0); /* fails */
	call(WRITE, 1, (long)buf, 1, 0, 0);
	call(READ, 0, (long)buf, 1, 0, 0);
	call(EXIT, 0, 0, 0, 0, 0);
}
