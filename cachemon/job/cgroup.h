/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cgroups that the capture can select: a directory of the v2 hierarchy or of a v1 controller in
 * which managers place jobs. Owns the step from a path to the kernel's id. The mounts are a
 * parameter, so that tests can use any directory as a hierarchy.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachemon/base/errtext.h"
#include "cachemon/access/mountinfo.h"

/*
 * The hierarchies, in the order in which they are searched. Slurm places jobs in the controllers
 * that its configuration names: often in the freezer alone. bpf/shared.h counts them from 1.
 */
enum cgroup_kind {
	CGROUP_V2,
	CGROUP_V1_MEMORY,
	CGROUP_V1_FREEZER,
	CGROUP_V1_CPUSET,
	CGROUP_V1_CPUACCT,
	CGROUP_V1_PIDS,
	CGROUP_KINDS,
};

extern const char *const cgroup_controllers[CGROUP_KINDS]; /* "memory"; of v2: NULL */

struct cgroup_ref {
	enum cgroup_kind kind;
	uint64_t id; /* kernfs id = inode of the directory, unique in its hierarchy */
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
/* Whether it belongs to that hierarchy, is not its root, and the hierarchy is completely
 * visible. */
bool cgroup_limits_memory(const struct mountinfo *mi, const struct cgroup_ref *ref);

/* The mount points of the hierarchies that were searched, for a message: "/a, /b and /c"; "" if
 * no hierarchy is mounted. NULL: out of memory. */
char *cgroup_searched(const struct mountinfo *mi);

/*
 * A directory below a cgroup mount, or a path from a hierarchy's root ("/a/b" or "a/b"), looked up
 * in each hierarchy: the first with processes, else the first. -ENOENT: absent, -ENOTDIR: not a
 * cgroup, -EOPNOTSUPP: a v1 controller that cannot be watched.
 */
int cgroup_open(const struct mountinfo *mi, const char *path, struct cgroup_ref *ret,
		struct errtext *err);

/* The same from one path per hierarchy, below its root; NULL: absent there. */
int cgroup_open_first(const struct mountinfo *mi, const char *const paths[CGROUP_KINDS],
		      struct cgroup_ref *ret, struct errtext *err);

/* Calls each for its processes and those of cgroups below it until it returns true; whether it did.
 * A process that is not visible from here has the number 0. */
bool cgroup_each_process(const struct cgroup_ref *ref, bool (*each)(pid_t pid, void *arg),
			 void *arg);
/* Whether it or a cgroup below it has processes. */
bool cgroup_populated(const struct cgroup_ref *ref);
bool cgroup_exists(const struct cgroup_ref *ref);
void cgroup_close(struct cgroup_ref *ref);

#endif
