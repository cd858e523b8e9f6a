/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A temporary directory of a test: made below TMPDIR, filled by relative paths, removed with its
 * content. Failures fail the test.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
	char dir[PATH_MAX];
};

static inline void scratch_new(struct scratch *s)
{
	const char *tmp = getenv("TMPDIR");
	char template[PATH_MAX];

	snprintf(template, sizeof(template), "%s/cachemon-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(template));
	assert_non_null(realpath(template, s->dir));
}

static inline const char *scratch_path(const struct scratch *s, const char *name, char *buf)
{
	assert_true(snprintf(buf, PATH_MAX, "%s/%s", s->dir, name) < PATH_MAX);
	return buf;
}

/* Creates the directories of name, including name itself if it ends with '/'. */
static inline void scratch_mkdir(const struct scratch *s, const char *name)
{
	char path[PATH_MAX];

	scratch_path(s, name, path);
	for (char *p = strchr(path + strlen(s->dir) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
}

static inline void scratch_write(const struct scratch *s, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	scratch_mkdir(s, name);
	f = fopen(scratch_path(s, name, path), "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline void scratch_symlink(const struct scratch *s, const char *name, const char *target)
{
	char path[PATH_MAX];

	scratch_mkdir(s, name);
	unlink(scratch_path(s, name, path));
	assert_int_equal(symlink(target, path), 0);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *at)
{
	return remove(path);
}

static inline void scratch_free(const struct scratch *s)
{
	assert_int_equal(nftw(s->dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
