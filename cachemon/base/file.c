/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/vec.h"

int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_len)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0, size = 0;

	for (;;) {
		ssize_t n;

		if (size - len < 2) {
			if (len > max)
				return -EFBIG;
			if (vec_reserve(text, size, len ? len + 2 : 4096))
				return -ENOMEM;
		}
		/* pread, so that a /proc file on an open descriptor can be read again from
		 * offset 0. */
		// cppcheck-suppress nullPointerArithmetic ; vec_reserve() has set it
		n = pread(fd, text + len, size - len - 1, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len > max)
		return -EFBIG;
	text[len] = '\0';
	*ret_text = TAKE_PTR(text);
	*ret_len = len;
	return 0;
}

int file_read(int dirfd, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max, ret_text, ret_len);
}

DIR *file_opendir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		cleanup_close(&fd);
	return dir;
}

int file_line(const char *root, const char *path, char *ret_line, size_t size)
{
	char full[PATH_MAX];
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	f = fopen(full, "re");
	if (!f)
		return -errno;
	errno = 0;
	len = getline(&line, &room, f);
	if (len < 0)
		return errno ? -errno : -ENODATA;
	if (len && line[len - 1] == '\n')
		line[--len] = '\0';
	if ((size_t)len >= size)
		return -E2BIG;
	memcpy(ret_line, line, (size_t)len + 1);
	return 0;
}

int file_number(const char *root, const char *path, long long *ret_number)
{
	char line[32];
	char *end;
	long long n;
	int err = file_line(root, path, line, sizeof(line));

	if (err)
		return err == -E2BIG ? -EINVAL : err;
	errno = 0;
	n = strtoll(line, &end, 10);
	if (errno || end == line || *end)
		return -EINVAL;
	*ret_number = n;
	return 0;
}
