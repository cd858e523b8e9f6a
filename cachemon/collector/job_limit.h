/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory limit of a job, and what the OOM killer did at it. Owns which of the cgroups that a
 * job is in limits it.
 */
#ifndef JOB_LIMIT_H
#define JOB_LIMIT_H

#include <sys/types.h>

#include "cachemon/account/sample_machine.h"
#include "cachemon/job/memory_cgroup.h"

/* The memory cgroup of a process below ROOT/proc; v1 where that has the memory controller. -ENOENT:
 * it cannot be seen. */
int job_limit_cgroup(const char *root, const struct mountinfo *mounts, pid_t pid,
		     struct memory_cgroup *ret);

/* Processes that the OOM killer ended in and below a cgroup since it was first read. The kernel
 * loses the counts of removed cgroups; those that were seen are kept. */
struct job_oom {
	char dir[PATH_MAX];	     /* what is counted; "": nothing yet */
	int64_t last_kills, kills;   /* MACHINE_UNKNOWN: unknown to the kernel */
	int64_t last_failed, failed; /* allocations at its limits, of v1 whether one was full */
};
void job_oom_look(struct job_oom *o, const struct memory_cgroup *c);

/* From that cgroup up: the lowest limit, the nearest where two are alike. */
void job_limit_read(const struct memory_cgroup *c, struct sample_limit *ret);

#endif
