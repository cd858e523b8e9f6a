/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/job_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/job/proctree.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"

enum { LEVELS_MAX = 16, CHARGED_AHEAD = 64 << 12 }; /* include/linux/memcontrol.h: a batch */

_Static_assert(MACHINE_UNKNOWN == (int)MEMORY_UNKNOWN, "figures are stored as they are read");

void job_limit_read(const struct memory_cgroup *c, struct sample_limit *ret)
{
	struct memory_cgroup at = *c;

	ret->limit_bytes = ret->oom_kills = MACHINE_UNKNOWN;
	memcpy(ret->at, c->dir, sizeof(ret->at));
	do {
		int64_t limit = memory_cgroup_read(c->kind, at.dir, MEMORY_LIMIT);

		if (limit >= 0 && (ret->limit_bytes < 0 || limit < ret->limit_bytes)) {
			ret->limit_bytes = limit;
			memcpy(ret->at, at.dir, sizeof(ret->at));
		}
	} while (memory_cgroup_up(&at));
	ret->usage_bytes = memory_cgroup_read(c->kind, ret->at, MEMORY_USAGE);
	ret->file_bytes = memory_cgroup_read(c->kind, ret->at, MEMORY_CACHED);
}

static int64_t kills_in(enum cgroup_kind kind, const char *dir, int levels)
{
	int64_t kills = memory_cgroup_read(kind, dir, MEMORY_OOM_KILLS);
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *entry;

	if (kind == CGROUP_V2 || kills < 0 || !levels)
		return kills;
	d = file_opendir(AT_FDCWD, dir);
	while (d && (entry = readdir(d))) {
		char below[PATH_MAX];
		int64_t more;

		if (entry->d_type != DT_DIR || *entry->d_name == '.' ||
		    snprintf(below, sizeof(below), "%s/%s", dir, entry->d_name) >=
			    (int)sizeof(below))
			continue;
		more = kills_in(kind, below, levels - 1);
		kills += more > 0 ? more : 0;
	}
	return kills;
}

/* How often an allocation failed at the limit of a cgroup. v1 has no such count (failcnt
 * includes failures that reclaim solved, and not all others): there it is 1 if the limit was
 * ever reached. */
static int64_t failures_in(enum cgroup_kind kind, const char *dir)
{
	int64_t limit = memory_cgroup_read(kind, dir, MEMORY_LIMIT), most;

	if (limit < 0)
		return 0;
	if (kind == CGROUP_V2)
		return memory_cgroup_read(kind, dir, MEMORY_OOM);
	most = memory_cgroup_read(kind, dir, MEMORY_MOST);
	return most < 0 ? most : most >= limit - CHARGED_AHEAD;
}

/* Failed allocations at the limits of the cgroup and of its parents. */
static int64_t count_failures(const struct memory_cgroup *c)
{
	struct memory_cgroup at = *c;
	int64_t sum = 0;

	do {
		int64_t n = failures_in(c->kind, at.dir);

		if (n < 0)
			return n;
		sum += n;
	} while (memory_cgroup_up(&at));
	return sum;
}

/* A falling count means that a counted cgroup was removed. */
static void add_growth(int64_t now, int64_t *last, int64_t *sum)
{
	if (now < 0 || *sum < 0)
		*sum = MACHINE_UNKNOWN;
	else if (now > *last)
		*sum += now - *last;
	*last = now;
}

void job_oom_look(struct job_oom *o, const struct memory_cgroup *c)
{
	int64_t kills = kills_in(c->kind, c->dir, LEVELS_MAX), failed = count_failures(c);

	if (strcmp(o->dir, c->dir) != 0) {
		/* Events before the start do not belong to this run; events in another cgroup
		 * do, if the run saw them. */
		memcpy(o->dir, c->dir, sizeof(o->dir));
		o->last_kills = kills;
		o->last_failed = c->kind == CGROUP_V2 ? failed : 0;
	}
	/* For a removed cgroup, the last known values stay. */
	if (kills < 0 && access(c->dir, F_OK))
		return;
	add_growth(kills, &o->last_kills, &o->kills);
	add_growth(failed, &o->last_failed, &o->failed);
}

int job_limit_cgroup(const char *root, const struct mountinfo *mounts, pid_t pid,
		     struct memory_cgroup *ret)
{
	char proc[PATH_MAX], who[16];

	/* In v1 a process that is ending appears in the root. */
	snprintf(proc, sizeof(proc), "%s/proc", root);
	if (proctree_flags(proc, pid) & PROCTREE_EXITING)
		return -ENOENT;
	snprintf(who, sizeof(who), "%d", (int)pid);
	if (!memory_cgroup_of(proc, who, mounts, CGROUP_V1_MEMORY, ret))
		return 0;
	return memory_cgroup_of(proc, who, mounts, CGROUP_V2, ret);
}
