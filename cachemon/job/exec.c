/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/exec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DIR/NAME, "./NAME" for an empty DIR. */
static int join(char path[PATH_MAX], const char *dir, size_t dir_len, const char *name)
{
	size_t name_len = strlen(name);

	if (dir_len == 0) {
		dir = ".";
		dir_len = 1;
	}
	if (dir_len + 1 + name_len + 1 > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, dir, dir_len);
	path[dir_len] = '/';
	memcpy(path + dir_len + 1, name, name_len + 1);
	return 0;
}

/* Of a file that could not be executed: what it means for the search. */
static int judge(const char *path, int err)
{
	struct stat st;

	switch (err) {
	case EACCES:
		return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? -EACCES : -ENOENT;
	case ENOENT:
	case ENOTDIR:
	case ENODEV:
	case ESTALE:
	case ETIMEDOUT:
	case ELOOP:
		return -ENOENT;
	default:
		return -err;
	}
}

int exec_command(char *const argv[], char *const env[])
{
	const char *dirs = getenv("PATH"), *name = argv[0];
	int result = -ENOENT;
	char path[PATH_MAX];

	if (strchr(name, '/')) {
		/* With a slash it searches nothing, and hands scripts to /bin/sh. */
		execvpe(name, argv, env);
		return -errno;
	}
	if (!*name)
		return result;
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(dirs, ":");

		if (join(path, dirs, len, name) == 0) {
			int err;

			execvpe(path, argv, env);
			err = judge(path, errno);
			if (err != -ENOENT && err != -EACCES)
				return err;
			/* A later directory may have one that works. */
			if (err == -EACCES)
				result = err;
		}
		if (!dirs[len])
			return result;
		dirs += len + 1;
	}
}
