/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory cgroup of a process, and the contents of its files. Owns the names of the memory files
 * of both hierarchies.
 */
#ifndef MEMORY_CGROUP_H
#define MEMORY_CGROUP_H

#include <limits.h>
#include <stdint.h>

#include "cachemon/job/cgroup.h"

/* A cgroup directory, and the directory of its mount, above which nothing is visible. */
struct memory_cgroup {
	enum cgroup_kind kind;
	char dir[PATH_MAX], top[PATH_MAX];
};

/* From PROC_ROOT/WHO/cgroup; who: "self" or a number. -ENOENT: not visible. */
int memory_cgroup_of(const char *proc_root, const char *who, const struct mountinfo *mounts,
		     enum cgroup_kind kind, struct memory_cgroup *ret);

/* Moves to the parent cgroup; false: it is the topmost visible one. */
bool memory_cgroup_up(struct memory_cgroup *c);

enum memory_figure {
	MEMORY_LIMIT,
	MEMORY_USAGE,
	MEMORY_CACHED,	  /* the part of the usage that is page cache */
	MEMORY_OOM,	  /* failed allocations at its limit; v2 only */
	MEMORY_OOM_KILLS, /* v1: without cgroups below */
	MEMORY_MOST,	  /* the highest usage; v1 only */
	MEMORY_FIGURES,
};

enum { MEMORY_UNKNOWN = -1 };

/* A figure of a cgroup by its directory; MEMORY_UNKNOWN also means unlimited. */
int64_t memory_cgroup_read(enum cgroup_kind kind, const char *dir, enum memory_figure what);
/* The value of a line "key value" of text; < 0: no such line. */
int64_t memory_cgroup_stat(const char *text, const char *key);

#endif
