/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of the running task. Owns the per-CPU state: finding it (without a helper call while
 * nothing changed) and refreshing it. live_rows.bpf.h of the build has the row in which an event
 * counts. The switch hook keeps live.task right for the job's tasks. For others, and until a CPU's
 * first switch, it leaves the epoch stale, and the first event refreshes from current: their state
 * is not loaded earlier, and a kernel may hide tasks from tracing, whose switch is then not seen.
 */
#ifndef LIVE_BPF_H
#define LIVE_BPF_H

#include "bpf/state/alone.bpf.h"
#include OF_BUILD(tally.bpf.h)
#include OF_BUILD(jobs.bpf.h)
#include "bpf/state/trace.bpf.h"

#define EPOCH_STALE (1u << 31)

/* STALL_URING: a wait for a ring; a later event shows whether a read of the page cache ended it. */
enum { STALL_READ = 1, STALL_FAULT = 2, STALL_URING = 3 };

/* An io_uring read whose submission was seen. No syscr has this value, so each event is looked up,
 * and none is mistaken for one of the last call with the same end. */
#define URING_CALL (1ull << 63)

static __always_inline __u64 fault_clock(struct task_struct *t)
{
	return READ(t, min_flt) + READ(t, maj_flt);
}

/* Whether tasks belong to the job by cgroup; otherwise by fork (a process tree, or the
 * calibration). */
static __always_inline bool belongs_by_cgroup(void)
{
	return (config.job_by_cgroup != JOB_BY_FORK || many_jobs()) && !shared.calibrating;
}

/* For one job. */
static __always_inline bool cgroup_matches(struct task_struct *t)
{
	struct css_set *set = TYPED(t, cgroups);
	struct cgroup *cgrp, *at;

	if (TYPED(t, tgid) == (int)shared.own_tgid)
		return false;
	cgrp = cgroup_in(set, config.job_by_cgroup);
	if (READ(cgrp, level) < (int)config.job_cgroup_level)
		return false;
	if (!bpf_core_field_exists(cgrp->ancestors))
		return load_ptr((__u64)cgrp +
				bpf_core_field_offset(struct cgroup___ids, ancestor_ids) +
				config.job_cgroup_level * 8) == config.job_cgroup_id;
	at = CAST(cgroup, load_ptr((__u64)cgrp + bpf_core_field_offset(struct cgroup, ancestors) +
				   config.job_cgroup_level * 8));
	return READ(at, kn, id) == config.job_cgroup_id;
}

/* The job of a task by its cgroups. st: its stored state or NULL. */
static __always_inline __u32 job_by_cgroup(struct task_struct *t, struct task_state *st)
{
	if (many_jobs())
		return jobs_find(t, st);
	return cgroup_matches(t) ? JOB_WATCHED : JOB_OTHERS;
}

/* The same for another task than the running one. */
static __always_inline __u32 job_now(struct task_struct *t)
{
	return many_jobs() ? jobs_now(t) : job_by_cgroup(t, NULL);
}

static __always_inline void activity_of(struct task_struct *t, struct activity *ret)
{
	ret->wchar_bytes = TYPED(t, ioac.wchar);
	ret->runqueue_ns =
		bpf_core_field_exists(t->sched_info) ? TYPED(t, sched_info.run_delay) : 0;
	ret->switches_voluntary = TYPED(t, nvcsw);
	ret->switches_forced = TYPED(t, nivcsw);
}

static __always_inline void activity_add(struct activity *sum, const struct activity *now,
					 const struct activity *before)
{
	sum->wchar_bytes += now->wchar_bytes - before->wchar_bytes;
	sum->runqueue_ns += now->runqueue_ns - before->runqueue_ns;
	sum->switches_voluntary += now->switches_voluntary - before->switches_voluntary;
	sum->switches_forced += now->switches_forced - before->switches_forced;
}

/* Starts to charge a task: its earlier CPU time and reads are not the job's. */
static __always_inline void charge_from_now(struct task_state *st, struct task_struct *t)
{
	st->runtime_ns = TYPED(t, se.sum_exec_runtime);
	st->rchar_bytes = TYPED(t, ioac.rchar);
	st->syscr_calls = TYPED(t, ioac.syscr);
	st->process_bytes = st->rchar_bytes;
	st->process_calls = st->syscr_calls;
	if (many_jobs())
		activity_of(t, &st->activity);
}

/* CPU time and reads of a task of the job since they were last charged. */
static __always_inline void job_charge(struct live *l, struct task_struct *t)
{
	__u64 runtime = TYPED(t, se.sum_exec_runtime);
	__u64 rchar = TYPED(t, ioac.rchar), syscr = TYPED(t, ioac.syscr);
	__u32 slot = own_slot(l->s.job);
	struct job_row *job = bpf_map_lookup_elem(&jobs, &slot);

	if (job) {
		job->cpu_ns += runtime - l->s.runtime_ns;
		job->rchar_bytes += rchar - l->s.rchar_bytes;
		job->syscr_calls += syscr - l->s.syscr_calls;
	}
	if (many_jobs()) {
		struct activity now;

		activity_of(t, &now);
		if (job)
			activity_add(&job->activity, &now, &l->s.activity);
		l->s.activity = now;
	}
	l->s.runtime_ns = runtime;
	l->s.rchar_bytes = rchar;
	l->s.syscr_calls = syscr;
	l->s.flags |= TASK_DIRTY;
}

static __always_inline __u64 regs_of(struct task_struct *t)
{
	if (TYPED(t, flags) & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	return (__u64)regs_at(t);
}

/* The job of a task that is about to run or runs. st: its stored state or NULL. */
static __always_inline __u32 job_of(struct task_struct *t, struct task_state *st)
{
	struct task_state *leader;

	if (belongs_by_cgroup())
		return job_by_cgroup(t, st);
	if (st)
		return st->job;
	/* io_uring workers are created without the fork tracepoint; they act for their leader. */
	if (TYPED(t, flags) & PF_IO_WORKER) {
		leader = state_of(TYPED(t, group_leader));
		if (leader)
			return leader->job;
	}
	return JOB_OTHERS;
}

/* Sets the owner of the running task; if that changed, charges start now. */
static __always_inline void live_belongs(struct live *l, struct task_struct *t, __u32 job)
{
	if (l->s.job == job)
		return;
	charge_from_now(&l->s, t);
	l->s.job = job;
	l->s.flags |= TASK_DIRTY;
}

/* The job of the running task may have ended: nothing more is charged to it. */
static __always_inline void live_check_job(struct live *l, struct task_struct *t)
{
	if (many_jobs() && l->s.job != JOB_OTHERS && !job_is_live(l->s.job))
		live_belongs(l, t, JOB_OTHERS);
}

/* Forgets the sleeps so far: they are charged, or were not for the page cache. */
static __always_inline void stall_forget(struct task_state *s)
{
	s->stall_ns = 0;
	if (!s->stalls)
		return;
	s->stalls = 0;
	__builtin_memset(s->sleeps, 0, sizeof(s->sleeps));
}

static const struct wait_row zero_waits;

static __noinline struct wait_row *wait_row_of(const struct file_key *file, __u32 at_epoch)
{
	struct file_key key = *file;
	bool b = at_epoch & 1;
	struct wait_row *row;

	row = b ? bpf_map_lookup_elem(&waits_b, &key) : bpf_map_lookup_elem(&waits_a, &key);
	if (row)
		return row;
	if (b)
		bpf_map_update_elem(&waits_b, &key, &zero_waits, BPF_NOEXIST);
	else
		bpf_map_update_elem(&waits_a, &key, &zero_waits, BPF_NOEXIST);
	return b ? bpf_map_lookup_elem(&waits_b, &key) : bpf_map_lookup_elem(&waits_a, &key);
}

/* The sleeps that the row of this file has just got, by length. */
GLOBAL int stall_charged(struct live *l, const struct file_key *file)
{
	struct wait_row *row;
	struct job_row *job;
	__u32 slot;

	if (!l || !file)
		return 0;
	slot = job_slot(l->s.job);
	job = bpf_map_lookup_elem(&jobs, &slot);
	if (job)
		for (int i = 0; i < WAIT_BUCKETS; i++)
			job->sleeps[i] += l->s.sleeps[i];
	row = slot != JOB_OTHERS && !many_jobs() ? wait_row_of(file, l->epoch) : NULL;
	for (int i = 0; row && i < WAIT_BUCKETS; i++)
		if (l->s.sleeps[i])
			__sync_fetch_and_add(&row->sleeps[i], l->s.sleeps[i]);
	stall_forget(&l->s);
	return 0;
}

/* Makes l the state of t, which runs or is about to. */
static __always_inline void live_load(struct live *l, struct task_struct *t)
{
	struct task_state *st = state_of(t);

	/* Belongs to no task meanwhile, for sweep_charges on another CPU. */
	*(volatile __u64 *)&l->task = 0;
	order_writes(&l->pad);
	tally_close();
	l->regs = regs_of(t);
	if (st) {
		l->s = *st;
		l->s.flags = TASK_STORED | (st->flags & (TASK_NOTED | TASK_AWAITED));
	} else {
		__builtin_memset(&l->s, 0, sizeof(l->s));
		/* If the task belongs to the job, its charges begin now. */
		charge_from_now(&l->s, t);
	}
	live_belongs(l, t, job_of(t, st));
	if (l->s.sleep_start_ns) {
		__u64 ns = bpf_ktime_get_ns() - l->s.sleep_start_ns;
		__u32 bucket = log2_at_most(ns >> WAIT_SHIFT, WAIT_BUCKETS - 1);

		l->s.stall_ns += ns;
		l->s.stalls++;
		if (bucket < WAIT_BUCKETS)
			l->s.sleeps[bucket]++;
		l->s.sleep_start_ns = 0;
		l->s.flags |= TASK_DIRTY;
	}
	order_writes(&l->pad);
	*(volatile __u64 *)&l->task = (__u64)t;
	if (l->s.job != JOB_OTHERS)
		member_note(&l->s, *(volatile __u64 *)&l->task);
	tally_loaded(true, l->s.job != JOB_OTHERS);
}

/* Nothing is known about the running task: its first event checks. */
static __always_inline void live_leave(struct live *l)
{
	*(volatile __u64 *)&l->task = 0;
	order_writes(&l->pad);
	tally_close();
	tally_loaded(false, false);
	l->s.job = JOB_OTHERS;
	l->s.flags = 0;
	l->s.direct_iocb = 0;
}

/* The epoch changed, or the switch hook left the owner of this state open. */
GLOBAL int live_refresh(struct live *l, __u32 now)
{
	struct task_struct *t = current_task();
	struct task_state *st;

	if (!l)
		return 0;
	l->epoch = now;
	if (l->task != (__u64)t) {
		live_load(l, t);
		return 0;
	}
	st = state_of(t);
	if (st)
		l->s.flags |= TASK_STORED;
	live_check_job(l, t);
	if (l->s.job != JOB_OTHERS)
		job_charge(l, t);
	live_belongs(l, t, job_of(t, st));
	if (l->s.job != JOB_OTHERS)
		member_note(&l->s, l->task);
	tally_loaded(true, l->s.job != JOB_OTHERS);
	return 0;
}

/* The running task's state, or NULL before the start. */
static __always_inline struct live *live_now(void)
{
	__u32 zero = 0, now = shared.epoch;
	struct live *l = bpf_map_lookup_elem(&lives, &zero);

	if (!l || !now)
		return NULL;
	if (l->epoch != now || moves_are_new(l))
		live_refresh(l, now);
	tally_settle(&l->s);
	return l;
}

static __always_inline void live_runs(struct live *l, enum event ev)
{
	l->runs[l->s.job != JOB_OTHERS][ev]++;
}

static __always_inline struct live *live_get(enum event ev)
{
	struct live *l = live_now();

	if (l)
		live_runs(l, ev);
	return l;
}

/*
 * A program whose event is about the running task: runs call with its state as l, without other
 * programs on this CPU. Does nothing before the start. UNCOUNTED: call counts its own runs.
 */
#define WITH_LIVE_OF(l, get, call)                                                                 \
	({                                                                                         \
		struct live *l;                                                                    \
                                                                                                   \
		alone_begin();                                                                     \
		l = get;                                                                           \
		if (l)                                                                             \
			call;                                                                      \
		alone_end();                                                                       \
		0;                                                                                 \
	})
#define WITH_LIVE(l, ev, call)	     WITH_LIVE_OF(l, live_get(ev), call)
#define WITH_LIVE_UNCOUNTED(l, call) WITH_LIVE_OF(l, live_now(), call)

/* Stores this state when the task is switched out. Events call it, the scheduler hook never
 * does, because creating storage allocates. */
static __always_inline void live_keep(struct live *l)
{
	struct task_state *st;

	l->s.flags |= TASK_DIRTY;
	if (l->s.flags & TASK_STORED)
		return;
	st = state_make(current_task());
	if (!st) {
		__sync_fetch_and_add(&shared.losses.state_drops, 1);
		return;
	}
	/* The iterator may have added it to the job already. The rest comes with the switch. */
	if (st->job == JOB_OTHERS)
		st->job = l->s.job;
	l->s.flags |= TASK_STORED;
}

/* Facts of the file besides its counters, at present. Its name is read at the interval's first
 * event on the file, and at the first of a call with a descriptor for it. */
static __always_inline void row_refresh(struct live *l, struct file_row *row, struct inode *inode,
					__u64 hint, bool by_call)
{
	bool own = l->s.job != JOB_OTHERS;

	if (row->size_bytes != (__u64)READ(inode, i_size) || !row->size_since) {
		row->size_bytes = READ(inode, i_size);
		row->size_since = bpf_ktime_get_ns();
	}
	row->flags =
		(row->flags & ROW_NAMED) | ROW_SIZED | (READ(inode, i_nlink) ? 0 : ROW_DELETED);
	if (row->flags & ROW_NAMED || (by_call && !own))
		return;
	/* Another process's path is better than none, but is not the one that the job used. */
	if (name_send(l, addr_of(l, inode), hint, by_call) && own)
		row->flags |= ROW_NAMED;
}

/* The row for events of a file that may no longer exist. */
struct counts_at {
	struct file_row *row; /* NULL: nowhere */
	bool cell;	      /* row is a cell of this CPU, not shared */
};

#endif
