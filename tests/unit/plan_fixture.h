/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fake machine for the tests of plan/: a directory used as /, with files that a test writes and
 * the BTF of real kernels. fake_root_remove() removes it.
 */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fake_root {
	char dir[64];
};

extern char **environ;

static inline void fake_root_make(struct fake_root *root)
{
	strcpy(root->dir, "/tmp/cachemon-root-XXXXXX");
	assert_non_null(mkdtemp(root->dir));
}

static inline int fake_root_unlink(const char *path, const struct stat *st, int type,
				   struct FTW *ftw)
{
	return remove(path);
}

static inline void fake_root_remove(struct fake_root *root)
{
	assert_int_equal(nftw(root->dir, fake_root_unlink, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Creates an empty file at path (absolute, below the root) and its directories. */
static inline int fake_root_open(const struct fake_root *root, const char *path)
{
	char full[PATH_MAX];
	int fd;

	snprintf(full, sizeof(full), "%s%s", root->dir, path);
	for (char *p = full + strlen(root->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	return fd;
}

static inline void fake_root_write(const struct fake_root *root, const char *path, const char *text)
{
	int fd = fake_root_open(root, path);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Installs the BTF of kernel "6.18". Needs xz (Debian: xz-utils). */
static inline void fake_root_btf(const struct fake_root *root, const char *kernel)
{
	char packed[PATH_MAX];
	char *argv[] = {(char *)"xz", (char *)"-dc", packed, NULL};
	posix_spawn_file_actions_t actions;
	int fd = fake_root_open(root, "/sys/kernel/btf/vmlinux");
	int status = -1;
	pid_t pid;

	snprintf(packed, sizeof(packed), "%s/btf/%s.btf.xz", FIXTURES, kernel);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO), 0);
	assert_int_equal(posix_spawnp(&pid, "xz", &actions, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fd);
}

#endif
