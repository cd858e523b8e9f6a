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

/* What the OOM killer did in a cgroup and below it since it was first looked at. Counts of cgroups
 * that were removed are lost to the kernel; those that were seen are kept. */
struct job_oom {
	char dir[PATH_MAX];	     /* what is counted; "": nothing yet */
	int64_t last_kills, kills;   /* MACHINE_UNKNOWN: the kernel does not tell */
	int64_t last_failed, failed; /* allocations at its limits, of v1 whether one was full */
};
void job_oom_look(struct job_oom *o, const struct memory_cgroup *c);

/* From that cgroup up: the lowest limit, the nearest where two are alike. */
void job_limit_read(const struct memory_cgroup *c, struct sample_limit *ret);

#endif
