/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a whole small file, as procfs, sysfs and cgroupfs have them: their size is unknown
 * until end of file.
 */
#ifndef FILE_H
#define FILE_H

#include <dirent.h>
#include <stddef.h>

/*
 * The whole file, NUL-terminated, in a buffer of the caller's. path is taken relative to dirfd
 * (AT_FDCWD for the working directory). -EFBIG when it is longer than max bytes.
 */
int file_read(int dirfd, const char *path, size_t max, char **ret_text, size_t *ret_len);

/* The same from the start of an open file. */
int file_read_fd(int fd, size_t max, char **ret_text, size_t *ret_len);

/* A directory below dirfd, itself no symlink; NULL with errno. */
DIR *file_opendir(int dirfd, const char *name);

#endif
