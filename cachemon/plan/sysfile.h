/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small files of procfs and sysfs below a root ("" for the running machine, a directory in
 * tests). Owns only their reading; what a value means is the caller's.
 */
#ifndef SYSFILE_H
#define SYSFILE_H

#include <stddef.h>

/* First line of root/path, without its newline. -E2BIG when it does not fit. */
int sysfile_line(const char *root, const char *path, char *ret_line, size_t size);

/* The whole first line as one decimal number; -EINVAL when it is anything else. */
int sysfile_number(const char *root, const char *path, long long *ret_number);

#endif
