/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads small files such as those of procfs, sysfs and cgroupfs, whose size is unknown until end of
 * file. The caller interprets the contents.
 */
#ifndef FILE_H
#define FILE_H

#include <dirent.h>
#include <stddef.h>

/*
 * Reads the whole file into the caller's buffer, NUL-terminated. path is relative to dirfd
 * (AT_FDCWD: the working directory). -EFBIG: longer than max bytes.
 */
int file_read(int dirfd, const char *path, size_t max, char **ret_text, size_t *ret_len);

/* The same from the start of an open file. */
int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_len);

/* First line of root/path, without its newline; root: "" for the running machine, a directory in
 * tests. -E2BIG: it does not fit. */
int file_line(const char *root, const char *path, char *ret_line, size_t size);

/* The first line as one decimal number; -EINVAL if it is anything else. */
int file_number(const char *root, const char *path, long long *ret_number);

/* Opens a directory below dirfd that is not a symlink; NULL with errno. */
DIR *file_opendir(int dirfd, const char *name);

#endif
