/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/access/access.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/paths.h"

#define FILE_MAX (16U << 20)
/* Deeper than any cgroup tree in use; the kernel bounds v2 by cgroup.max.depth. */
enum { DEPTH_MAX = 64 };

const char *const cgroup_controllers[CGROUP_KINDS] = {
	[CGROUP_V1_MEMORY] = "memory", [CGROUP_V1_FREEZER] = "freezer",
	[CGROUP_V1_CPUSET] = "cpuset", [CGROUP_V1_CPUACCT] = "cpuacct",
	[CGROUP_V1_PIDS] = "pids",
};

static bool is_kind(const struct mount *m, enum cgroup_kind kind)
{
	if (kind == CGROUP_V2)
		return strcmp(m->fstype, "cgroup2") == 0;
	return strcmp(m->fstype, "cgroup") == 0 &&
	       mountinfo_has_option(m->options, cgroup_controllers[kind]);
}

/* CGROUP_KINDS: another v1 controller. A v1 mount may have several. */
static enum cgroup_kind kind_of(const struct mount *m)
{
	enum cgroup_kind kind = CGROUP_V2;

	while (kind < CGROUP_KINDS && !is_kind(m, kind))
		kind++;
	return kind;
}

const struct mount *cgroup_mount(const struct mountinfo *mi, enum cgroup_kind kind)
{
	const struct mount *found = NULL;

	for (size_t i = 0; i < mi->nr; i++) {
		const struct mount *m = &mi->mounts[i];

		if (!is_kind(m, kind) || mountinfo_serving(mi, m->point) != m)
			continue;
		/* A bind mount shows only a part of the hierarchy: the widest part wins. */
		if (!found || strlen(m->root) < strlen(found->root))
			found = m;
	}
	return found;
}

const struct mount *cgroup_memory_mount(const struct mountinfo *mi)
{
	return cgroup_mount(mi, CGROUP_V1_MEMORY) ?: cgroup_mount(mi, CGROUP_V2);
}

bool cgroup_limits_memory(const struct mountinfo *mi, const struct cgroup_ref *ref)
{
	const struct mount *m = cgroup_memory_mount(mi);

	return m && m == cgroup_mount(mi, ref->kind) && strcmp(m->root, "/") == 0 &&
	       strcmp(ref->path, "/") != 0;
}

static unsigned int depth_of(const char *path)
{
	unsigned int n = 0;

	for (const char *p = path; *p; p++)
		n += *p == '/' && p[1] && p[1] != '/';
	return n;
}

/* One mount may have several controllers. */
static bool is_first_kind(const struct mountinfo *mi, enum cgroup_kind kind)
{
	const struct mount *m = cgroup_mount(mi, kind);

	return m && kind_of(m) == kind;
}

char *cgroup_searched(const struct mountinfo *mi)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	size_t left = 0, all = 0;

	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++)
		all += is_first_kind(mi, kind);
	left = all;
	for (enum cgroup_kind kind = CGROUP_V2; out && kind < CGROUP_KINDS; kind++) {
		if (!is_first_kind(mi, kind))
			continue;
		fprintf(out, "%s%s",
			left == all ? ""
			: left > 1  ? ", "
				    : " and ",
			cgroup_mount(mi, kind)->point);
		left--;
	}
	return text_end(&b);
}

/* For a v1 mount with another controller: suggests the same place below one that can be watched. */
static int refuse_controller(const struct mountinfo *mi, const struct mount *m, const char *dir,
			     struct errtext *err)
{
	const char *below = paths_below(dir, m->point);
	const struct mount *other = NULL;

	for (enum cgroup_kind kind = CGROUP_V1_MEMORY; !other && kind < CGROUP_KINDS; kind++)
		other = cgroup_mount(mi, kind);
	if (!other)
		return errtext_set(err, -EOPNOTSUPP,
				   "%s belongs to a v1 controller that cannot be watched: use "
				   "--pid, or a v2 cgroup",
				   dir);
	return errtext_set(err, -EOPNOTSUPP,
			   "%s belongs to a v1 controller that cannot be watched: use another, "
			   "like %s/%s",
			   dir, other->point, below ? below : "");
}

/* The path from the hierarchy's root: the path of the part that the mount shows, then that of real
 * in it. */
static char *canonical_path(const struct mount *m, const char *real)
{
	const char *root = strcmp(m->root, "/") == 0 ? "" : m->root;
	const char *below = paths_below(real, m->point);
	char *path = NULL;

	if (!below || !*below)
		return strdup(*root ? root : "/");
	text_print(&path, "%s/%s", root, below);
	return path;
}

/* A directory, by a plain file system path. */
static int open_directory(const struct mountinfo *mi, const char *dir, struct cgroup_ref *ret,
			  struct errtext *err)
{
	struct cgroup_ref ref = {.fd = -1};
	const struct mount *m;
	struct stat st;
	int e;

	ref.dir = realpath(dir, NULL);
	if (!ref.dir)
		return errtext_set(err, -errno, "%s: %s", dir, strerror(errno));
	m = mountinfo_serving(mi, ref.dir);
	if (!m || strncmp(m->fstype, "cgroup", 6) != 0) {
		e = errtext_set(err, -ENOTDIR, "%s is not a cgroup: it is not below a cgroup mount",
				dir);
		goto out;
	}
	ref.kind = kind_of(m);
	if (ref.kind == CGROUP_KINDS) {
		e = refuse_controller(mi, m, ref.dir, err);
		goto out;
	}
	ref.fd = access_open(AT_FDCWD, ref.dir, O_PATH | O_DIRECTORY, 0, ACCESS_DIRECTORY);
	e = ref.fd < 0 ? ref.fd : fstat(ref.fd, &st) ? -errno : 0;
	if (e) {
		errtext_set(err, e, "%s: %s", dir,
			    e == -ENOTDIR ? "is a file: give the directory of the cgroup"
					  : strerror(-e));
		goto out;
	}
	ref.id = st.st_ino;
	ref.path = canonical_path(m, ref.dir);
	e = ref.path ? 0 : -ENOMEM;
	if (!e)
		ref.level = depth_of(ref.path);
out:
	if (e)
		cgroup_close(&ref);
	else
		*ret = ref;
	return e;
}

/* path from the root of a hierarchy. -ENOENT without a text: absent, or not mounted. */
static int open_in_hierarchy(const struct mountinfo *mi, enum cgroup_kind kind, const char *path,
			     struct cgroup_ref *ret, struct errtext *err)
{
	const struct mount *m = cgroup_mount(mi, kind);
	_cleanup_free_ char *joined = NULL;
	struct cgroup_ref ref = {.fd = -1};
	int e;

	if (!m)
		return -ENOENT;
	/* A bind mount shows only a part of the hierarchy; the rest cannot be reached. */
	if (strcmp(m->root, "/") != 0) {
		path = paths_below(path, m->root);
		if (!path)
			return -ENOENT;
	}
	if (text_print(&joined, "%s/%s", m->point, path + strspn(path, "/")))
		return -ENOMEM;
	e = open_directory(mi, joined, &ref, err);
	if (e)
		return e;
	/* ".." or a symlink must not lead to another hierarchy. */
	if (ref.kind != kind) {
		cgroup_close(&ref);
		return errtext_set(err, -ENOTDIR, "%s is not a cgroup of its hierarchy", path);
	}
	*ret = ref;
	return 0;
}

static bool each_in_tree(int parent, const char *name, int levels,
			 bool (*each)(pid_t pid, void *arg), void *arg)
{
	_cleanup_free_ char *procs = NULL;
	_cleanup_closedir_ DIR *dir = file_opendir(parent, name);
	const struct dirent *entry;
	char *rest = NULL;
	size_t len = 0;

	if (!dir)
		return false;
	if (file_read(dirfd(dir), "cgroup.procs", FILE_MAX, &procs, &len) == 0)
		for (char *pid = strtok_r(procs, "\n", &rest); pid;
		     pid = strtok_r(NULL, "\n", &rest))
			if (each((pid_t)strtol(pid, NULL, 10), arg))
				return true;
	while ((entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && levels > 0 &&
		    each_in_tree(dirfd(dir), entry->d_name, levels - 1, each, arg))
			return true;
	}
	return false;
}

bool cgroup_each_process(const struct cgroup_ref *ref, bool (*each)(pid_t pid, void *arg),
			 void *arg)
{
	return each_in_tree(ref->fd, ".", DEPTH_MAX, each, arg);
}

static bool stop_at_first(pid_t pid, void *arg)
{
	(void)pid;
	(void)arg;
	return true;
}

bool cgroup_populated(const struct cgroup_ref *ref)
{
	return cgroup_each_process(ref, stop_at_first, NULL);
}

/* The directory's own inode survives its removal while it is open; its files do not. */
bool cgroup_exists(const struct cgroup_ref *ref)
{
	return faccessat(ref->fd, "cgroup.procs", F_OK, 0) == 0;
}

int cgroup_open_first(const struct mountinfo *mi, const char *const paths[CGROUP_KINDS],
		      struct cgroup_ref *ret, struct errtext *err)
{
	struct cgroup_ref first = {.fd = -1};
	int failed = -ENOENT;

	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++) {
		struct cgroup_ref ref = {.fd = -1};
		int e = -ENOENT;

		if (paths[kind])
			e = open_in_hierarchy(mi, kind, paths[kind], &ref,
					      failed == -ENOENT ? err : NULL);
		if (e) {
			failed = failed == -ENOENT ? e : failed;
			continue;
		}
		if (cgroup_populated(&ref)) {
			cgroup_close(&first);
			*ret = ref;
			return 0;
		}
		if (first.fd < 0)
			first = ref;
		else
			cgroup_close(&ref);
	}
	if (first.fd < 0)
		return failed;
	*ret = first;
	return 0;
}

int cgroup_open(const struct mountinfo *mi, const char *path, struct cgroup_ref *ret,
		struct errtext *err)
{
	_cleanup_free_ char *rooted = NULL, *searched = cgroup_searched(mi);
	const char *paths[CGROUP_KINDS];
	struct stat st;
	int e;

	if (!*path)
		return errtext_set(err, -ENOENT, "the cgroup path is empty");
	if (!searched)
		return errtext_set(err, -ENOMEM, "out of memory");
	if (!*searched)
		return errtext_set(err, -EOPNOTSUPP,
				   "no cgroup hierarchy that can be watched is mounted: use --pid "
				   "or a command");
	if (stat(path, &st) == 0) {
		e = open_directory(mi, path, ret, err);
		if (e != -ENOTDIR)
			return e;
	}
	/* "/" and "user" may be directories elsewhere too, but name cgroups here. */
	if (text_print(&rooted, "/%s", path + strspn(path, "/")))
		return -ENOMEM;
	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++)
		paths[kind] = rooted;
	e = cgroup_open_first(mi, paths, ret, err);
	if (e != -ENOENT)
		return e;
	if (stat(path, &st) == 0)
		return open_directory(mi, path, ret, err);
	return errtext_set(err, -ENOENT, "no cgroup %s: it is not a directory, and not below %s",
			   path, searched);
}

void cgroup_close(struct cgroup_ref *ref)
{
	if (!ref)
		return;
	free(ref->path);
	free(ref->dir);
	if (ref->fd >= 0)
		close(ref->fd);
	memset(ref, 0, sizeof(*ref));
	ref->fd = -1;
}
