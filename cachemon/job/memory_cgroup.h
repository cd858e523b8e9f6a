/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory cgroup of a process, and what the files of such a cgroup say. Owns the file names of
 * both hierarchies as far as memory goes.
 */
#ifndef MEMORY_CGROUP_H
#define MEMORY_CGROUP_H

#include <limits.h>
#include <stdint.h>

#include "cachemon/job/cgroup.h"

/* A cgroup directory, and that of its mount: above it nothing can be seen. */
struct memory_cgroup {
	enum cgroup_kind kind;
	char dir[PATH_MAX], top[PATH_MAX];
};

/* As PROC_ROOT/WHO/cgroup has it; who: "self" or a number. -ENOENT: it cannot be seen. */
int memory_cgroup_of(const char *proc_root, const char *who, const struct mountinfo *mounts,
		     enum cgroup_kind kind, struct memory_cgroup *ret);

/* To the cgroup above it; false: it is the topmost one that can be seen. */
bool memory_cgroup_up(struct memory_cgroup *c);

enum memory_figure {
	MEMORY_LIMIT,
	MEMORY_USAGE,
	MEMORY_CACHED,	  /* page cache, of the usage */
	MEMORY_OOM,	  /* allocations that failed at its limit; v2 alone */
	MEMORY_OOM_KILLS, /* v1: without those of cgroups below */
	MEMORY_MOST,	  /* the highest usage; v1 alone */
	MEMORY_FIGURES,
};

enum { MEMORY_UNKNOWN = -1 };

/* A figure of a cgroup by its directory; MEMORY_UNKNOWN also where no limit is set. */
int64_t memory_cgroup_read(enum cgroup_kind kind, const char *dir, enum memory_figure what);
/* The value of a line "key value" of text; < 0: no such line. */
int64_t memory_cgroup_stat(const char *text, const char *key);

#endif
