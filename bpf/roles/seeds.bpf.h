/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forks and ends while the job's processes are still looked for: who is to be taken in with its
 * parent, and whose child each other one is. The iterator that takes them in is in job.bpf.c.
 */
#ifndef SEEDS_BPF_H
#define SEEDS_BPF_H

#include "bpf/state/pid_ns.bpf.h"
#include "bpf/roles/processes.bpf.h"

#define ANCESTORS_MAX 32

/* Whose child t is, and all above it: of a parent that is ending its end may have been noted by
 * nobody, and its children are still its own. Known already: so are those above. */
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

/* In place where there is one, of a process of the same number that ended: user space walks the
 * map, and an element that is replaced moves. */
static __always_inline long note_parent(__u32 tgid, const struct seed_note *note)
{
	struct seed_note *noted = bpf_map_lookup_elem(&parents, &tgid);

	if (!noted)
		return bpf_map_update_elem(&parents, &tgid, note, BPF_ANY);
	*noted = *note;
	return 0;
}

/*
 * While processes are taken in, what CPUs believe of their running task is old. A child of one that
 * is to be taken in is to be taken in too; of any other it is noted whose child it is, for that may
 * be found to be of the job when neither it nor its parent is there any more. A line of processes,
 * each of which forks the next one and ends, may be faster than whoever looks: it is taken in as
 * soon as the first one of it is found to be of the job, however long ago that ended.
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
	/* Without a name its end would not be known for that of one that was counted. */
	return inside && !err;
}

/* The same of a process that ends: is it one that was counted? */
static __always_inline bool seed_ends(struct live *l, struct task_struct *t)
{
	struct task_struct *leader = TYPED(t, group_leader);
	__u32 tgid = tgid_in(&shared.own_pids, t);
	struct task_state *st;

	/* Without room for it the scan of /proc has to do. */
	note_ancestors(addr_of(l, leader));
	/* The iterator finds it without a live thread. */
	if (!bpf_map_lookup_elem(&seeds, &tgid))
		return false;
	st = state_make(leader);
	if (!st)
		return false;
	return marks_set(st, COUNTED_ENDED) & COUNTED_INSIDE || st->job == JOB_WATCHED;
}

#endif
