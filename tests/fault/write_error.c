/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: writes to a database and its log fail with the errno in the file
 * WRITE_ERROR_FILE, as long as it exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int wanted(void)
{
	const char *name = getenv("WRITE_ERROR_FILE");
	FILE *f = name ? fopen(name, "re") : NULL;
	int number = 0;

	if (f) {
		if (fscanf(f, "%d", &number) != 1)
			number = 0;
		fclose(f);
	}
	return number;
}

static int of_database(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	return strstr(path, ".db") != NULL;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at)
{
	int error = of_database(fd) ? wanted() : 0;

	if (error) {
		errno = error;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	return pwrite64(fd, data, size, at);
}
