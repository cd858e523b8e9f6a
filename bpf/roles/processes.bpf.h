/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The job's processes: how many there were and how many are alive. Owns the marks that make each
 * one count once, whichever comes first: the hook of its fork, the hook of its end, or the
 * iterator.
 */
#ifndef PROCESSES_BPF_H
#define PROCESSES_BPF_H

#include "bpf/state/live.bpf.h"

static __always_inline void processes_add(__u32 slot, __u64 joined, __s64 alive)
{
	struct job_row *job = bpf_map_lookup_elem(&jobs, &slot);

	if (job) {
		/* A hook may preempt the iterator. With a constant 0, compilers emit another
		 * operation, which older kernels lack. */
		if (joined)
			__sync_fetch_and_add(&job->processes, joined);
		if (alive)
			__sync_fetch_and_add(&job->alive, alive);
	}
}

/* Marks in the state of a process's leader: counted among the job's processes; counted as alive;
 * ended, so that the iterator is too late; its last thread has ended. */
/* With many jobs, the rest is the job that counted it. */
enum {
	COUNTED_EVER = 1 << 0,
	COUNTED_INSIDE = 1 << 1,
	COUNTED_ENDED = 1 << 2,
	COUNTED_DEAD = 1 << 3,
};

/* A job's id, with the slot in the second byte. */
static __always_inline __u32 counted_by(__u32 job)
{
	return (job & ~JOB_SLOT) | (job & JOB_SLOT) << 8;
}

static __always_inline __u32 counted_job(__u32 counted)
{
	return (counted & ~0xffffu) | (counted >> 8 & JOB_SLOT);
}

/* The process leaves the job that counted it; that may have ended. */
static __always_inline void process_leaves(__u32 counted)
{
	__u32 job = many_jobs() ? counted_job(counted) : JOB_WATCHED;

	if (!many_jobs() || job_is_live(job))
		processes_add(own_slot(job), 0, -1);
}

/* It goes on in no job. */
static __always_inline void process_uncount(struct task_state *st)
{
	process_leaves(st->counted);
	st->counted = COUNTED_EVER | (many_jobs() ? st->counted & ~JOB_SLOT : 0);
}

#define JOIN_TRIES 4 /* each hook and the iterator change the marks at most once meanwhile */

/* With many jobs, another one may have counted the process. After its end it joins none. */
static __noinline int process_changes(struct task_state *st, __u32 job)
{
	for (int i = 0; i < JOIN_TRIES; i++) {
		__u32 was = st->counted;
		bool again = counted_job(was) == job;

		if (was & COUNTED_ENDED || (again && was & COUNTED_INSIDE))
			return 0;
		if (word_swap(&st->counted, was,
			      (was & COUNTED_DEAD) | COUNTED_EVER | COUNTED_INSIDE |
				      counted_by(job)) != was)
			continue;
		if (was & COUNTED_INSIDE)
			process_leaves(was);
		processes_add(own_slot(job), !again, 1);
		return 0;
	}
	__sync_fetch_and_add(&shared.losses.state_drops, 1);
	return 0;
}

/* The iterator may find a child before the hook of its fork has run. */
static __always_inline void process_joins(struct task_state *st, __u32 job)
{
	__u32 was;

	if (many_jobs()) {
		process_changes(st, job);
		return;
	}
	was = marks_set(st, COUNTED_EVER | COUNTED_INSIDE);
	if (!(was & (COUNTED_INSIDE | COUNTED_ENDED)))
		processes_add(own_slot(job), !(was & COUNTED_EVER), 1);
}

/* The first thread ends, and others continue. */
static __always_inline void mark_leave(struct task_struct *t)
{
	struct task_state *st = state_of(t);
	__u32 tgid = TYPED(t, tgid), counted;

	if (!st || !st->counted)
		return;
	counted = st->counted;
	if (bpf_map_update_elem(&marks_left, &tgid, &counted, BPF_ANY))
		__sync_fetch_and_add(&shared.losses.state_drops, 1);
	/* The exit of the last thread may already have looked for them. */
	if (!READ_NOW(t, signal, live.counter))
		bpf_map_delete_elem(&marks_left, &tgid);
}

/* Uses the present leader of the process. */
static __always_inline void mark_inherit(struct task_state *st, __u32 tgid)
{
	__u32 *left = st->counted ? NULL : bpf_map_lookup_elem(&marks_left, &tgid);

	if (left)
		marks_set(st, *left);
}

/* The process moved; if the first thread has ended, its state is not the valid one. */
static __always_inline void mark_moved(const struct task_state *st, __u32 tgid)
{
	__u32 *left = bpf_map_lookup_elem(&marks_left, &tgid);

	if (left)
		*left = st->counted;
}

/* A process inside the cgroup ends. A member at the start of counting may end before the iterator
 * reaches it. */
static __always_inline void member_ends(struct task_struct *t, __u32 job)
{
	struct task_state *st = state_make(TYPED(t, group_leader));
	__u32 was;

	if (!st) {
		__sync_fetch_and_add(&shared.losses.state_drops, 1);
		return;
	}
	mark_inherit(st, TYPED(t, tgid));
	if (many_jobs())
		process_changes(st, job);
	was = marks_set(st, COUNTED_EVER | COUNTED_ENDED);
	if (!(was & COUNTED_EVER))
		processes_add(own_slot(job), 1, 0);
	if (was & COUNTED_INSIDE)
		process_leaves(was);
}

#endif
