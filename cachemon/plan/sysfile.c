/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/sysfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sysfile_line(const char *root, const char *path, char *ret_line, size_t size)
{
	char full[PATH_MAX];
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *f;
	int err = 0;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	f = fopen(full, "re");
	if (!f)
		return -errno;
	errno = 0;
	len = getline(&line, &room, f);
	if (len < 0) {
		err = errno ? -errno : -ENODATA;
		goto out;
	}
	if (len && line[len - 1] == '\n')
		line[--len] = '\0';
	if ((size_t)len >= size)
		err = -E2BIG;
	else
		memcpy(ret_line, line, (size_t)len + 1);
out:
	free(line);
	fclose(f);
	return err;
}

int sysfile_number(const char *root, const char *path, long long *ret_number)
{
	char line[32];
	char *end;
	long long n;
	int err = sysfile_line(root, path, line, sizeof(line));

	if (err)
		return err == -E2BIG ? -EINVAL : err;
	errno = 0;
	n = strtoll(line, &end, 10);
	if (errno || end == line || *end)
		return -EINVAL;
	*ret_number = n;
	return 0;
}
