/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory limit of a job, and the OOM killer's actions at it. Owns which of a job's cgroups
 * limits it.
 */
#ifndef JOB_LIMIT_H
#define JOB_LIMIT_H

#include <sys/types.h>

#include "cachemon/account/sample_machine.h"
#include "cachemon/job/memory_cgroup.h"

/* The memory cgroup of a process below ROOT/proc; v1 if that has the memory controller. -ENOENT:
 * not visible. */
int job_limit_cgroup(const char *root, const struct mountinfo *mounts, pid_t pid,
		     struct memory_cgroup *ret);

/* Processes that the OOM killer ended in and below a cgroup since it was first read. The kernel
 * loses the counts of removed cgroups; counts that were read stay. */
struct job_oom {
	char dir[PATH_MAX];	     /* the counted cgroup; "": none yet */
	int64_t last_kills, kills;   /* MACHINE_UNKNOWN: unknown */
	int64_t last_failed, failed; /* failed allocations at its limits; in v1 whether one was
				      * reached */
};
void job_oom_look(struct job_oom *o, const struct memory_cgroup *c);

/* Walks up from that cgroup: the lowest limit; among equals the nearest. */
void job_limit_read(const struct memory_cgroup *c, struct sample_limit *ret);

#endif
