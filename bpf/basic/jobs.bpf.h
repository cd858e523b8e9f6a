/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One job; full/jobs.bpf.h describes each name. */
#ifndef BASIC_JOBS_BPF_H
#define BASIC_JOBS_BPF_H

#include "bpf/state/cgroups.bpf.h"

static __always_inline bool many_jobs(void)
{
	return false;
}

static __always_inline __u32 job_slot(__u32 job)
{
	return job;
}

static __always_inline __u32 own_slot(__u32 job)
{
	return JOB_WATCHED;
}

static __always_inline bool job_is_live(__u32 job)
{
	return true;
}

static __always_inline void tree_inherit(struct task_struct *parent, struct task_struct *child)
{
}

static __always_inline __u32 jobs_now(struct task_struct *t)
{
	return JOB_OTHERS;
}

static __always_inline __u32 jobs_find(struct task_struct *t, struct task_state *st)
{
	return JOB_OTHERS;
}

#endif
