/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many jobs at once (config.job_hierarchies): the job of a task, by the nearest of its cgroups in
 * job_cgroups, otherwise by its process tree. Owns the search, and the meaning of a job's id.
 * Everything here depends on a constant, so that the verifier removes it from the programs of one
 * job.
 */
#ifndef FULL_JOBS_BPF_H
#define FULL_JOBS_BPF_H

#include "bpf/full/tasks.bpf.h"
#include "bpf/state/cgroups.bpf.h"

static __always_inline bool many_jobs(void)
{
	return MANY_JOBS && config.job_hierarchies;
}

/* The slot of a job or of others. */
static __always_inline __u32 job_slot(__u32 job)
{
	return MANY_JOBS ? job & JOB_SLOT : job;
}

/* The slot of what is known to be a job. */
static __always_inline __u32 own_slot(__u32 job)
{
	return MANY_JOBS ? job & JOB_SLOT : JOB_WATCHED;
}

/* Another job may have its slot by now. Others are no job. */
static __always_inline bool job_is_live(__u32 job)
{
	return job && shared.slots[job & JOB_SLOT].job == job;
}

/* The clock of a job's refault distances: its evicted pages, modulo 2^32. */
static __always_inline __u32 *evicted_clock(__u32 job)
{
	return many_jobs() ? &shared.slots[job & JOB_SLOT].evicted_pages : &shared.evicted_pages;
}

struct job_search {
	__u64 cgroup; /* struct cgroup of the task */
	__u32 hierarchy;
	__u32 level;
	__u32 job;
	__u32 pad;
};

/* From the task's own cgroup upwards. */
STEP job_search_step(__u32 i, struct job_search *x)
{
	struct cgroup *cgrp = CAST(cgroup, x->cgroup);
	struct job_cgroup key = {.hierarchy = x->hierarchy};
	__u32 *job;

	cgrp = CAST(cgroup, load_ptr((__u64)cgrp + bpf_core_field_offset(struct cgroup, ancestors) +
				     (x->level - i) * 8));
	key.id = READ(cgrp, kn, id);
	job = bpf_map_lookup_elem(&job_cgroups, &key);
	if (!job)
		return 0;
	x->job = *job;
	return 1;
}

static __always_inline __u32 job_in(struct css_set *set, __u32 by)
{
	struct job_search x = {.hierarchy = by};

	if (!(config.job_hierarchies & 1u << by))
		return JOB_OTHERS;
	x.cgroup = (__u64)cgroup_in(set, by);
	x.level = READ(CAST(cgroup, x.cgroup), level);
	bpf_loop(x.level < JOB_LEVELS ? x.level + 1 : JOB_LEVELS, job_search_step, &x, 0);
	return x.job;
}

static __noinline __u32 jobs_search(struct task_struct *t)
{
	struct css_set *set = TYPED(t, cgroups);

	if (TYPED(t, tgid) == (int)shared.own_tgid)
		return JOB_OTHERS;
	return job_in(set, JOB_BY_V2)
		       ?: job_in(set, JOB_BY_MEMORY)
		       ?: job_in(set, JOB_BY_FREEZER)
		       ?: job_in(set, JOB_BY_CPUSET)
		       ?: job_in(set, JOB_BY_CPUACCT)
		       ?: job_in(set, JOB_BY_PIDS);
}

/* io_uring workers are created without the fork tracepoint; they act for their leader. */
static __always_inline __u32 tree_of(struct task_struct *t, struct task_state *st)
{
	if (TYPED(t, flags) & PF_IO_WORKER)
		st = state_of(TYPED(t, group_leader));
	return st && job_is_live(st->tree) ? st->tree : JOB_OTHERS;
}

/* A child, thread or process, is in the tree of its parent. */
static __always_inline void tree_inherit(struct task_struct *parent, struct task_struct *child)
{
	struct task_state *of = state_of(parent), *st;

	if (!of || !job_is_live(of->tree))
		return;
	st = state_make(child);
	if (st)
		st->tree = of->tree;
	else
		__sync_fetch_and_add(&shared.losses.state_drops, 1);
}

/* As of now. Jobs by cgroup go first: no tree takes anything from them. */
static __always_inline __u32 jobs_now(struct task_struct *t)
{
	return jobs_search(t) ?: tree_of(t, state_of(t));
}

/* A task's stored state has the result until the table changes or a task moves. */
static __always_inline __u32 jobs_find(struct task_struct *t, struct task_state *st)
{
	__u32 table = shared.job_table, job;

	if (st && st->job_table == table)
		return st->job;
	job = jobs_search(t) ?: tree_of(t, st);
	if (st) {
		st->job = job;
		st->job_table = table;
	}
	return job;
}

#endif
