/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forks and exits while the job's processes are being found: which ones join with their parent, and
 * the parents of all others. The iterator that adds them is in job.bpf.c.
 */
#ifndef SEEDS_BPF_H
#define SEEDS_BPF_H

#include "bpf/state/pid_ns.bpf.h"
#include "bpf/roles/processes.bpf.h"

#define ANCESTORS_MAX 32

/* Records the parents of t and of its ancestors, up to one that is known, because those above it
 * are known too. The exit of an ending parent may not be recorded, but its children are still its
 * own. */
STEP ancestor_step(__u32 i, __u64 *task)
{
	struct task_struct *t = CAST(task_struct, *task), *up = READ(t, real_parent);
	__u32 tgid = tgid_in(&shared.own_pids, t), parent = tgid_in(&shared.own_pids, up);
	struct seed_note note = {parent, tgid};

	if (tgid <= 1 || bpf_map_update_elem(&parents, &tgid, &note, BPF_NOEXIST))
		return 1;
	*task = (__u64)up;
	return 0;
}

static __noinline void note_ancestors(__u64 task)
{
	LOOP(ANCESTORS_MAX, ANCESTORS_MAX, ancestor_step, &task);
}

/* Updates an existing entry of an ended process with the same number in place: user space walks
 * the map, and a replaced element would move. */
static __always_inline long note_parent(__u32 tgid, const struct seed_note *note)
{
	struct seed_note *noted = bpf_map_lookup_elem(&parents, &tgid);

	if (!noted)
		return bpf_map_update_elem(&parents, &tgid, note, BPF_ANY);
	*noted = *note;
	return 0;
}

/*
 * While processes are added, the CPUs' state of their running tasks is old. A child of a process to
 * be added is added too; for any other child its parent is recorded, because that may turn out to
 * belong to the job after both have ended. A chain of processes, each of which forks the next one
 * and exits, may be faster than the scan: it is added as soon as its first process is found to
 * belong to the job, however long ago that ended.
 */
static __always_inline bool seed_forks(struct live *l, struct task_struct *parent,
				       struct task_struct *child)
{
	__u32 from = tgid_in(&shared.own_pids, parent), to = tgid_in(&shared.own_pids, child);
	__u32 one = 1;
	struct seed_note *of = bpf_map_lookup_elem(&parents, &from);
	struct seed_note note = {from, of ? of->line : from};
	bool inside = bpf_map_lookup_elem(&seeds, &from) || bpf_map_lookup_elem(&seeds, &note.line);
	long err = 0;

	if (from == to)
		return inside;
	if (inside)
		err = bpf_map_update_elem(&seeds, &to, &one, BPF_ANY);
	else
		err = note_parent(to, &note);
	if (!inside)
		note_ancestors(addr_of(l, READ(PLAIN(task_struct, parent), group_leader)));
	if (err)
		__sync_fetch_and_add(&shared.losses.state_drops, 1);
	/* Without an entry in seeds, the exit would not be recognised as that of a counted
	 * process. */
	return inside && !err;
}

/* The same for a process that exits: whether it was counted. */
static __always_inline bool seed_ends(struct live *l, struct task_struct *t)
{
	struct task_struct *leader = TYPED(t, group_leader);
	__u32 tgid = tgid_in(&shared.own_pids, t);
	struct task_state *st;

	/* If it does not fit, the scan of /proc must suffice. */
	note_ancestors(addr_of(l, leader));
	/* The process is to be added, but the iterator will find it without a live thread. */
	if (!bpf_map_lookup_elem(&seeds, &tgid))
		return false;
	st = state_make(leader);
	if (!st)
		return false;
	return marks_set(st, COUNTED_ENDED) & COUNTED_INSIDE || st->job != JOB_OTHERS;
}

#endif
