// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which tasks belong to the job, and what they wait for: switches, forks, exits, moves between
 * cgroups, and the iterator that adds running processes.
 */
#include "bpf/roles/processes.bpf.h"
#include "bpf/roles/seeds.bpf.h"
#include "bpf/roles/waits.bpf.h"
#include "bpf/roles/calls.bpf.h"
#include "bpf/roles/requests.bpf.h"

/* Records what a task waits for now, which may differ from before. A read may fault on its
 * destination, and both wait. */
static __always_inline void stall_is_of(struct live *l, __u32 kind, __u64 id)
{
	struct task_state *s = &l->s;

	if (s->stall_kind != kind || s->stall_id != id) {
		read_wait_finish(l, NO_CALL);
		stall_forget(s);
		s->flags &= ~TASK_AWAITED;
	}
	s->stall_kind = kind;
	s->stall_id = id;
}

/* The file that a read call with system call number nr waits for. For AIO and io_uring workers no
 * descriptor shows it, only the per-read hook or the window that the task has just opened. */
static __always_inline void stall_file(struct live *l, struct task_struct *prev, long nr)
{
	__u64 syscr = TYPED(prev, ioac.syscr);
	struct task_state *s = &l->s;
	__u64 regs = l->regs;

	if (config.reads_by_call && shared.read_on)
		return; /* it has */
	if (nr >= 0 && nr != NR_io_submit) {
		read_sleep_file(l, nr == NR_sendfile ? REGS_ARG2(regs) : REGS_ARG1(regs), syscr);
		return;
	}
	s->wait_file = (struct file_key){};
	if (!shared.read_on && s->win_inode && s->win_id == syscr && !(s->win_kind & WIN_IN_FAULT))
		file_key_of(CAST(inode, s->win_inode), &s->wait_file);
}

/* A sleep counts when the task waits for I/O inside a read call or a fault of a file mapping. */
static __always_inline void stall_begin(struct live *l, struct task_struct *prev)
{
	struct task_state *s = &l->s;
	__u64 regs = l->regs;
	__u64 clock = fault_clock(prev);

	if (s->fault_inode && s->fault_id == clock) {
		stall_is_of(l, STALL_FAULT, clock);
	} else {
		long nr = l->regs ? REGS_NR(regs) : -1;

		if (TYPED(prev, flags) & PF_IO_WORKER) {
			if (!worker_reads(CAST(task_struct, l->task)))
				return;
		} else if (nr == NR_io_submit) {
			if (!requests_read(l))
				return;
		} else if (nr != NR_splice && (!nr_is_told(nr) || nr_executes(nr))) {
			return;
		}
		if (!read_may_sleep(s, TYPED(prev, ioac.syscr)))
			return;
		stall_is_of(l, STALL_READ, TYPED(prev, ioac.syscr));
		stall_file(l, prev, nr);
		if (config.reads_by_call && shared.read_on && s->read_id == s->stall_id)
			read_sleeps(l);
		/* Without the per-read hook nothing closes a window: the hook that sees the call
		 * decides. */
		if (!config.reads_by_call && (!shared.read_on || read_awaits(l, s->stall_id)))
			s->flags |= TASK_AWAITED;
	}
	s->sleep_start_ns = bpf_ktime_get_ns();
}

static __always_inline bool may_be_own(struct live *l, struct task_struct *t)
{
	return member_may(addr_of(l, t)) || TYPED(t, flags) & PF_IO_WORKER;
}

/* A task that waits for a ring may get its own reads: ring_woke() in reads.bpf.h. */
static __always_inline bool waits_for_ring(struct live *l)
{
	if (!l->regs || REGS_NR(l->regs) != NR_io_uring_enter)
		return false;
	return !(l->s.fault_inode && l->s.fault_id == fault_clock(CAST(task_struct, l->task)));
}

static __always_inline int switched(struct task_struct *prev, struct task_struct *next,
				    bool preempt, __u64 state)
{
	__u32 zero = 0, now = shared.epoch;
	bool sleeps = state && !preempt;
	struct task_state *st;
	struct live *l;

	l = bpf_map_lookup_elem(&lives, &zero);
	if (!l || !now)
		return 0;
	l->epoch = now;
	if (l->task == (__u64)prev) {
		tally_settle(&l->s);
		live_check_job(l, prev);
	} else if (may_be_own(l, prev))
		live_load(l, prev);
	else
		live_leave(l);
	live_runs(l, EV_SWITCH);
	if (l->s.job != JOB_OTHERS) {
		job_charge(l, prev);
		fault_finish(l);
		read_wait_finish(l, TYPED(prev, ioac.syscr));
		call_finish(l, TYPED(prev, ioac.syscr));
		if (sleeps && waits_for_ring(l)) {
			stall_is_of(l, STALL_URING, 0);
			if (!shared.read_on)
				shared.rings_unseen = 1;
			l->s.sleep_start_ns = bpf_ktime_get_ns();
		} else if (sleeps && READ_BITFIELD(prev, in_iowait)) {
			stall_begin(l, prev);
		}
		/* A sleep is noted when it ends. */
		if (!l->s.sleep_start_ns && process_is_due(&l->s, now))
			process_note(l, 0, 0);
		settle_asked(l);
	}
	if ((l->s.flags & (TASK_DIRTY | TASK_STORED)) == (TASK_DIRTY | TASK_STORED)) {
		st = state_of(prev);
		if (st) {
			__builtin_memcpy(&st->flags, &l->s.flags,
					 sizeof(*st) - offsetof(struct task_state, flags));
			/* In a tree, the seed iterator may have added the task meanwhile. */
			if (belongs_by_cgroup())
				st->job = l->s.job;
		}
	}
	if (state & TASK_DEAD && l->s.flags & TASK_NOTED)
		member_forget(l->task);
	if (may_be_own(l, next))
		live_load(l, next);
	else
		live_leave(l);
	if (l->s.job == JOB_OTHERS)
		l->epoch = now | EPOCH_STALE;
	return 0;
}

static __noinline int switched_told(__u64 *ctx)
{
	return switched((void *)ctx[1], (void *)ctx[2], ctx[0], (__u32)ctx[3]);
}

/* Before 5.18 the state belongs to the task alone. */
static __noinline int switched_untold(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	__u64 state = bpf_core_field_exists(prev->__state)
			      ? TYPED(prev, __state)
			      : TYPED((struct task_struct___state *)prev, state);

	return switched(prev, (void *)ctx[2], ctx[0], state);
}

/* The program has only the part that switches between other processes need. The rest is in a
 * function, so that the program has no registers to save. */
SEC("?tp_btf/sched_switch")
int switch_tp(__u64 *ctx)
{
	return tally_passes_switch(ctx) ? 0 : switched_told(ctx);
}

SEC("?tp_btf/sched_switch")
int switch3_tp(__u64 *ctx)
{
	return tally_passes_switch(ctx) ? 0 : switched_untold(ctx);
}

static __always_inline int forked(struct live *l, struct task_struct *parent,
				  struct task_struct *child)
{
	struct task_state *st;
	__u32 job = JOB_WATCHED;
	bool inside;

	if (many_jobs())
		tree_inherit(parent, child);
	/* clone3() may put a child into another cgroup than its parent's. */
	if (belongs_by_cgroup())
		inside = job = job_now(child);
	else
		inside = shared.seeding ? seed_forks(l, parent, child) : l->s.job != JOB_OTHERS;
	if (!inside)
		return 0;
	st = state_make(child);
	if (!st) {
		/* The iterator will come again. */
		if (shared.seeding)
			shared.seeds_missed++;
		else
			__sync_fetch_and_add(&shared.losses.state_drops, 1);
		return 0;
	}
	st->job = job;
	member_note(st, addr_of(l, child));
	if (TYPED(child, pid) == TYPED(child, tgid))
		process_joins(st, job);
	return 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(fork_tp, struct task_struct *parent, struct task_struct *child)
{
	return WITH_LIVE(l, EV_FORK_EXIT, forked(l, parent, child));
}

static __always_inline int exited(struct live *l, struct task_struct *t, bool group_dead)
{
	bool inside, by_cgroup = belongs_by_cgroup();
	__u32 tgid = TYPED(t, tgid);

	inside = l->s.job != JOB_OTHERS;
	if (inside) {
		fault_finish(l);
		read_wait_finish(l, NO_CALL);
		call_finish(l, NO_CALL);
		/* At its last switch it may have no process id any more. */
		process_note(l, 0, 0);
	}
	if (!group_dead) {
		if (by_cgroup && TYPED(t, pid) == TYPED(t, tgid))
			mark_leave(t);
		return 0;
	}
	if (by_cgroup) {
		if (inside)
			member_ends(t, l->s.job);
		bpf_map_delete_elem(&marks_left, &tgid);
		return 0;
	}
	/* In a tree, a member was counted when it joined. */
	if (shared.seeding)
		inside = seed_ends(l, t);
	if (inside)
		processes_add(JOB_WATCHED, 0, -1);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(exit_tp, struct task_struct *t, bool group_dead)
{
	return WITH_LIVE(l, EV_FORK_EXIT, exited(l, t, group_dead));
}

/* Before 6.16 nothing shows which thread of a process is last, and two that end at once both
 * find no live thread. The first one here counts, because both arrive after the last one's step. */
static __always_inline int exited_untold(struct live *l, struct task_struct *t)
{
	struct task_state *st;
	bool dead;

	dead = !TYPED(t, signal, live.counter);
	if (dead && l->s.job != JOB_OTHERS) {
		st = state_make(TYPED(t, group_leader));
		if (st)
			dead = !(marks_set(st, COUNTED_DEAD) & COUNTED_DEAD);
		else
			__sync_fetch_and_add(&shared.losses.state_drops, 1);
	}
	return exited(l, t, dead);
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(exit1_tp, struct task_struct *t)
{
	return WITH_LIVE(l, EV_FORK_EXIT, exited_untold(l, t));
}

/* For kernels without task storage. */
SEC("?tp_btf/sched_process_free")
int BPF_PROG(task_free_tp, struct task_struct *t)
{
	state_free(t);
	return 0;
}

static __always_inline void moved_itself(struct live *l)
{
	if (l->s.job != JOB_OTHERS)
		live_keep(l);
}

static __noinline int birth_record(struct cgroup *cgrp, const char *path, __u32 event)
{
	struct birth *b = bpf_ringbuf_reserve(&births, sizeof(*b), 0);

	if (!b) {
		__sync_fetch_and_add(&shared.losses.births_dropped, 1);
		return 0;
	}
	b->id = READ(cgrp, kn, id);
	b->hierarchy = READ(cgrp, root, hierarchy_id);
	b->event = event;
	b->level = READ(cgrp, level);
	bpf_probe_read_kernel_str(b->path, sizeof(b->path), path);
	bpf_ringbuf_submit(b, 0);
	return 0;
}

SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_mkdir_tp, struct cgroup *cgrp, const char *path)
{
	return many_jobs() ? birth_record(cgrp, path, BIRTH_MADE) : 0;
}

SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_rmdir_tp, struct cgroup *cgrp, const char *path)
{
	return many_jobs() ? birth_record(cgrp, path, BIRTH_REMOVED) : 0;
}

/* A task moved, so the CPUs' state of their running tasks is stale. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_move_tp, struct cgroup *dst, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	struct task_state *st;
	__u32 now = shared.epoch, tgid, job;
	bool known;

	if (many_jobs() && TYPED(task, pid) == TYPED(task, tgid))
		birth_record(dst, path, BIRTH_ENTERED);
	if (!belongs_by_cgroup() || !now)
		return 0;
	if (many_jobs())
		__sync_fetch_and_add(&shared.job_table, 1);
	moves_note(now);
	tallies_close();
	/* A task that moves itself may run for long before the next event. Its state must be stored
	 * now: if the next switch is not seen, because the kernel hides the other task, its charges
	 * would be lost. */
	if (task == current_task())
		WITH_LIVE(l, EV_FORK_EXIT, moved_itself(l));
	if (TYPED(task, pid) != TYPED(task, tgid))
		return 0;
	/* The tracepoint fires after the move; the origin is known for counted tasks. */
	job = job_now(task);
	tgid = TYPED(task, tgid);
	known = job || bpf_map_lookup_elem(&marks_left, &tgid);
	st = known ? state_make(task) : state_of(task);
	if (!st) {
		if (known)
			__sync_fetch_and_add(&shared.losses.state_drops, 1);
		return 0;
	}
	mark_inherit(st, tgid);
	if (!job && st->counted & COUNTED_INSIDE) {
		process_uncount(st);
	} else if (job && (!(st->counted & COUNTED_INSIDE) ||
			   (many_jobs() && counted_job(st->counted) != job))) {
		charge_from_now(st, task);
		st->job = job;
		member_note(st, task_addr(task));
		process_joins(st, job);
	}
	mark_moved(st, tgid);
	return 0;
}

/* The running process has gained privileges: its user may not see what it reads. Its state on this
 * CPU is checked at the next event. */
static __always_inline void tree_leave(struct task_struct *t, struct task_state *st)
{
	st->tree = JOB_OTHERS;
	st->job_table = 0;
	moves_note(shared.epoch);
	tallies_close();
	if (!job_now(t) && st->counted & COUNTED_INSIDE)
		process_uncount(st);
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(exec_tp, struct task_struct *t, int old_pid, struct linux_binprm *bprm)
{
	struct task_state *st;

	if (!many_jobs() || !READ_BITFIELD(bprm, secureexec))
		return 0;
	st = state_of(t);
	if (st && st->tree && !shared.slots[st->tree & JOB_SLOT].of_root)
		tree_leave(t, st);
	return 0;
}

static __always_inline void list_member(struct task_struct *t, __u32 tgid)
{
	struct task_state *st = state_of(t);
	struct seed_note note = {};

	if (st && st->job != JOB_OTHERS && tgid)
		bpf_map_update_elem(&parents, &tgid, &note, BPF_NOEXIST);
}

/* With many jobs, seeds has the job whose tree begins with the process. */
static __always_inline void tree_begin(struct task_struct *t, __u32 named)
{
	__u32 *tree = bpf_map_lookup_elem(&seeds, &named);
	__u32 job = tree ? job_now(t) : JOB_OTHERS;
	struct task_state *st;

	if (!tree)
		return;
	if (job && job != *tree) {
		shared.trees_taken++;
		return;
	}
	st = state_make(t);
	if (!st) {
		shared.seeds_missed++;
		return;
	}
	st->tree = *tree;
	st->job_table = 0;
	shared.trees_begun++;
}

/* Adds the processes named in seeds, or those inside the cgroup, to the job. */
SEC("?iter/task")
int seed_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct task_state *st;
	__u32 tgid, named, job = JOB_WATCHED;

	if (!shared.own_tgid)
		pid_views_find();
	if (!t)
		return 0;
	tgid = TYPED(t, tgid);
	/* A process without a live thread has had its exit event. */
	if (tgid == shared.own_tgid || !TYPED(t, signal, live.counter))
		return 0;
	named = tgid_in(&shared.own_pids, t);
	if (shared.listing) {
		list_member(t, named);
		return 0;
	}
	if (many_jobs())
		tree_begin(t, named);
	if (belongs_by_cgroup())
		job = job_now(t);
	else if (!bpf_map_lookup_elem(&seeds, &named))
		job = JOB_OTHERS;
	if (!job)
		return 0;
	st = state_make(t);
	if (!st) {
		shared.seeds_missed++;
		return 0;
	}
	shared.seeds_found++;
	/* In a cgroup it may already have had an event. */
	if (many_jobs() ? st->job != job : st->job == JOB_OTHERS)
		charge_from_now(st, t);
	/* The order matters: an exit in between must find the process counted. */
	if (TYPED(t, pid) == TYPED(t, tgid)) {
		if (belongs_by_cgroup())
			mark_inherit(st, tgid);
		process_joins(st, job);
		names_open(task_addr(t), job);
	}
	st->job = job;
	member_note(st, task_addr(t));
	return 0;
}

/* If no helper returns them: any task's system call shows where its registers are on the stack. */
SEC("?tp_btf/sys_enter")
int BPF_PROG(regs_tp, struct pt_regs *regs)
{
	regs_measure(regs);
	return 0;
}
