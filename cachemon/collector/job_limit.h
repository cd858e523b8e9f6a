/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory limit of a job: which directories of the cgroup filesystems may set one, and which of
 * them does. Owns the file names of both hierarchies as far as the job's limit goes.
 */
#ifndef JOB_LIMIT_H
#define JOB_LIMIT_H

#include <sys/types.h>

#include "cachemon/account/sample_machine.h"
#include "cachemon/job/cgroup.h"
#include "cachemon/access/mountinfo.h"

/* A cgroup directory, and that of its mount: above it nothing can be seen. */
struct job_cgroup {
	enum cgroup_kind kind;
	char dir[PATH_MAX], top[PATH_MAX];
};

/* The memory cgroup of a process as ROOT/proc/PID/cgroup has it; v1 where that has the memory
 * controller. -ENOENT: it cannot be seen. */
int job_cgroup_of_process(const char *root, const struct mountinfo *mounts, pid_t pid,
			  struct job_cgroup *ret);

/* What the OOM killer did in a cgroup and below it since it was first looked at. Counts of cgroups
 * that were removed are lost to the kernel; those that were seen are kept. */
struct job_oom {
	char dir[PATH_MAX];	     /* what is counted; "": nothing yet */
	int64_t last_kills, kills;   /* MACHINE_UNKNOWN: the kernel does not tell */
	int64_t last_failed, failed; /* allocations at its limits, of v1 whether one was full */
};
void job_oom_look(struct job_oom *o, const struct job_cgroup *c);

/* From that cgroup up: the lowest limit, the nearest where two are alike. */
void job_limit_read(const struct job_cgroup *c, struct sample_limit *ret);

#endif
