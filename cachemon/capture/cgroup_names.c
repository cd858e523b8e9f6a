/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/cgroup_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/job/cgroup.h"
#include "cachemon/base/cleanup.h"

enum { NAMES_MAX = 4096, DEPTH_MAX = 32 };

struct cgroup_names {
	char *top;
	bool looked; /* in this interval */
	size_t nr;
	struct {
		uint64_t id;
		char *path;
	} names[NAMES_MAX];
};

int cgroup_names_new(const char *top, struct cgroup_names **ret)
{
	struct cgroup_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->top = top ? strdup(top) : NULL;
	if (top && !n->top) {
		free(n);
		return -ENOMEM;
	}
	*ret = n;
	return 0;
}

int cgroup_names_of_memory(const char *mountinfo, struct cgroup_names **ret)
{
	const struct mount *m = NULL;
	struct mountinfo mounts;
	int r = mountinfo_read(mountinfo, &mounts), made;

	if (!r)
		m = cgroup_memory_mount(&mounts);
	made = cgroup_names_new(m ? m->point : NULL, ret);
	if (!r)
		mountinfo_free(&mounts);
	return made;
}

void cgroup_names_free(struct cgroup_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->nr; i++)
		free(n->names[i].path);
	free(n->top);
	free(n);
}

void cgroup_names_again(struct cgroup_names *n)
{
	n->looked = false;
}

static const char *find_cgroup_name(const struct cgroup_names *n, uint64_t id)
{
	for (size_t i = 0; i < n->nr; i++)
		if (n->names[i].id == id)
			return n->names[i].path;
	return NULL;
}

static void add_cgroup_name(struct cgroup_names *n, uint64_t id, const char *path)
{
	char *copy;

	if (n->nr == NAMES_MAX || find_cgroup_name(n, id))
		return;
	copy = strdup(path);
	if (!copy)
		return;
	n->names[n->nr].id = id;
	n->names[n->nr++].path = copy;
}

/* path: a buffer of PATH_MAX bytes with the path from top; what is appended is removed before
 * returning. */
static void look_below(struct cgroup_names *n, int dirfd, char *path, size_t len,
		       unsigned int depth)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (e = readdir(dir))) {
		_cleanup_close_ int child = -1;
		struct stat st;
		int more;

		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		child = openat(dirfd, e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child < 0 || fstat(child, &st))
			continue;
		more = snprintf(path + len, PATH_MAX - len, "/%s", e->d_name);
		if (more < (int)(PATH_MAX - len)) {
			add_cgroup_name(n, st.st_ino, path);
			if (depth < DEPTH_MAX && n->nr < NAMES_MAX)
				look_below(n, child, path, len + (size_t)more, depth + 1);
		}
		path[len] = '\0';
	}
}

static void look_all(struct cgroup_names *n)
{
	_cleanup_close_ int top = open(n->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX] = "";
	struct stat st;

	if (top < 0 || fstat(top, &st))
		return;
	add_cgroup_name(n, st.st_ino, "/");
	look_below(n, top, path, 0, 0);
}

const char *cgroup_names_get(struct cgroup_names *n, uint64_t id)
{
	const char *path = find_cgroup_name(n, id);

	if (path || n->looked || !n->top)
		return path;
	n->looked = true;
	look_all(n);
	return find_cgroup_name(n, id);
}
