/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cgroups that the capture can select: a directory of the v2 hierarchy or of the v1 memory
 * controller. Owns the step from a path to the kernel's id. The mounts are a parameter, so that
 * tests can use any directory as a hierarchy.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"
#include "cachemon/access/mountinfo.h"

enum cgroup_kind { CGROUP_V2, CGROUP_V1_MEMORY };

struct cgroup_ref {
	enum cgroup_kind kind;
	uint64_t id; /* kernfs id = inode of the directory */
	/* Depth below the hierarchy's root (0: the root itself), as cgroup->level. In a cgroup
	 * namespace it counts from the namespace's root, not from the kernel's. */
	unsigned int level;
	char *path; /* canonical, from the hierarchy's root: "/a/b" */
	char *dir;  /* absolute path of the directory */
	int fd;	    /* O_PATH, close-on-exec; cgroup_exists() knows a removed cgroup */
};

/* The mount through which a hierarchy is reached, or NULL when it is not mounted. */
const struct mount *cgroup_mount(const struct mountinfo *mi, enum cgroup_kind kind);
/* The hierarchy that limits memory: v1 if it has that controller. */
const struct mount *cgroup_memory_mount(const struct mountinfo *mi);
/* It belongs to that hierarchy, the hierarchy is completely visible, and it is not the root. */
bool cgroup_limits_memory(const struct mountinfo *mi, const struct cgroup_ref *ref);

/*
 * A directory below a cgroup mount, or a path from a hierarchy's root ("/a/b" or "a/b"), looked up
 * in v2, then in the v1 memory controller; a v2 cgroup without processes yields to a v1 one with
 * the same path and some. -ENOENT: absent, -ENOTDIR: not a cgroup, -EOPNOTSUPP: another v1
 * controller.
 */
int cgroup_open(const struct mountinfo *mi, const char *path, struct cgroup_ref *ret,
		struct errtext *err);

/* From paths below the hierarchies' roots, each NULL if absent; the same choice. */
int cgroup_open_either(const struct mountinfo *mi, const char *path_v2, const char *path_v1,
		       struct cgroup_ref *ret, struct errtext *err);

/* Whether it or a cgroup below it has processes. */
bool cgroup_populated(const struct cgroup_ref *ref);
bool cgroup_exists(const struct cgroup_ref *ref);
void cgroup_close(struct cgroup_ref *ref);

#endif
