/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/file.h"

#include <errno.h>
#include <fcntl.h>

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
		/* pread: /proc files begin anew at offset 0, also on a descriptor kept open. */
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
