/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/cgroup.h"

#include <errno.h>
#include <fcntl.h>
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

static bool is_kind(const struct mount *m, enum cgroup_kind kind)
{
	if (kind == CGROUP_V2)
		return strcmp(m->fstype, "cgroup2") == 0;
	return strcmp(m->fstype, "cgroup") == 0 && mountinfo_has_option(m->options, "memory");
}

const struct mount *cgroup_mount(const struct mountinfo *mi, enum cgroup_kind kind)
{
	const struct mount *found = NULL;

	for (size_t i = 0; i < mi->nr; i++) {
		const struct mount *m = &mi->mounts[i];

		if (!is_kind(m, kind) || mountinfo_serving(mi, m->point) != m)
			continue;
		/* A bind mount shows only a part: the widest one wins. */
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

/* The controllers of a v1 mount: its options that name a controller. */
static int refuse_controller(const struct mountinfo *mi, const struct mount *m, const char *dir,
			     struct errtext *err)
{
	const struct mount *memory = cgroup_mount(mi, CGROUP_V1_MEMORY);
	const char *below = paths_below(dir, m->point);

	if (!memory)
		return errtext_set(err, -EOPNOTSUPP,
				   "%s belongs to a v1 controller other than memory, which is not "
				   "mounted: use --pid, or a v2 cgroup",
				   dir);
	return errtext_set(err, -EOPNOTSUPP,
			   "%s belongs to a v1 controller other than memory: use the memory one, "
			   "like %s/%s",
			   dir, memory->point, below ? below : "");
}

/* The path from the hierarchy's root: the part that the mount shows, and the position of real in
 * it. */
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
	ref.kind = is_kind(m, CGROUP_V2) ? CGROUP_V2 : CGROUP_V1_MEMORY;
	if (!is_kind(m, ref.kind)) {
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
	/* A bind mount shows only a part; the rest cannot be reached. */
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

static bool tree_has_processes(int parent, const char *name, int levels)
{
	_cleanup_free_ char *procs = NULL;
	_cleanup_closedir_ DIR *dir = file_opendir(parent, name);
	const struct dirent *entry;
	size_t len = 0;

	if (!dir)
		return false;
	if (file_read(dirfd(dir), "cgroup.procs", FILE_MAX, &procs, &len) == 0 && len > 0)
		return true;
	while ((entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && levels > 0 &&
		    tree_has_processes(dirfd(dir), entry->d_name, levels - 1))
			return true;
	}
	return false;
}

bool cgroup_populated(const struct cgroup_ref *ref)
{
	return tree_has_processes(ref->fd, ".", DEPTH_MAX);
}

/* The directory's own inode survives its removal while it is open; its files do not. */
bool cgroup_exists(const struct cgroup_ref *ref)
{
	return faccessat(ref->fd, "cgroup.procs", F_OK, 0) == 0;
}

/* Both hierarchies have the path: the one with processes wins, else v2. */
static void keep_one(struct cgroup_ref *v2, struct cgroup_ref *v1, struct cgroup_ref *ret)
{
	bool first = cgroup_populated(v2) || !cgroup_populated(v1);

	cgroup_close(first ? v1 : v2);
	*ret = first ? *v2 : *v1;
}

int cgroup_open_either(const struct mountinfo *mi, const char *path_v2, const char *path_v1,
		       struct cgroup_ref *ret, struct errtext *err)
{
	struct cgroup_ref v2 = {.fd = -1}, v1 = {.fd = -1};
	int e2 = path_v2 ? open_in_hierarchy(mi, CGROUP_V2, path_v2, &v2, err) : -ENOENT;
	int e1 = path_v1 ? open_in_hierarchy(mi, CGROUP_V1_MEMORY, path_v1, &v1, err) : -ENOENT;

	if (e2 == 0 && e1 == 0)
		keep_one(&v2, &v1, ret);
	else if (e2 == 0)
		*ret = v2;
	else if (e1 == 0)
		*ret = v1;
	else
		return e2 != -ENOENT ? e2 : e1;
	return 0;
}

int cgroup_open(const struct mountinfo *mi, const char *path, struct cgroup_ref *ret,
		struct errtext *err)
{
	_cleanup_free_ char *rooted = NULL;
	struct stat st;
	int e;

	if (!*path)
		return errtext_set(err, -ENOENT, "the cgroup path is empty");
	if (!cgroup_mount(mi, CGROUP_V2) && !cgroup_mount(mi, CGROUP_V1_MEMORY))
		return errtext_set(err, -EOPNOTSUPP,
				   "neither cgroup v2 nor the v1 memory controller is mounted: use "
				   "--pid or a command");
	if (stat(path, &st) == 0) {
		e = open_directory(mi, path, ret, err);
		if (e != -ENOTDIR)
			return e;
	}
	/* "/" and "user" may be directories elsewhere too, but name cgroups here. */
	if (text_print(&rooted, "/%s", path + strspn(path, "/")))
		return -ENOMEM;
	e = cgroup_open_either(mi, rooted, rooted, ret, err);
	if (e != -ENOENT)
		return e;
	if (stat(path, &st) == 0)
		return open_directory(mi, path, ret, err);
	return errtext_set(err, -ENOENT,
			   "no cgroup %s: it is not a directory, and neither in the v2 tree nor "
			   "under the v1 memory controller",
			   path);
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
