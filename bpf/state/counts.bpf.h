/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts for other rows than the event's: for the name of a file below an overlay, and for events
 * that end later, such as a fault, or a wait for a file that may no longer exist by then. Also
 * counts waits by process. */
#ifndef COUNTS_BPF_H
#define COUNTS_BPF_H

#include "bpf/state/live.bpf.h"
#include "bpf/state/pid_ns.bpf.h"
#include OF_BUILD(live_rows.bpf.h)

/* A file that an overlay opened below itself has the overlay's path. */
static __always_inline void row_name_below(struct live *l, struct inode *inode, struct file *file)
{
	__u64 file_addr = addr_of(l, file), inode_addr = addr_of(l, inode);

	if (l->s.job != JOB_OTHERS && file_addr && file_is_below(l, file_addr, inode_addr))
		row_name(l, inode_addr, file_addr);
}

static __always_inline void counts_add(struct counts_at at, enum counter c, __s64 n)
{
	if (at.cell)
		row_add(at.row, c, n);
	else
		shared_row_add(at.row, c, n);
}

static __always_inline struct process_row *process_find(__u32 epoch, __u32 key)
{
	return epoch & 1 ? bpf_map_lookup_elem(&processes_b, &key)
			 : bpf_map_lookup_elem(&processes_a, &key);
}

static __noinline struct process_row *process_make(struct task_struct *t, __u32 epoch, __u32 key)
{
	struct task_struct *first = READ(t, group_leader);
	struct process_row made = {};

	bpf_probe_read_kernel(made.comm, sizeof(made.comm), &first->comm);
	if (epoch & 1)
		bpf_map_update_elem(&processes_b, &key, &made, BPF_NOEXIST);
	else
		bpf_map_update_elem(&processes_a, &key, &made, BPF_NOEXIST);
	return process_find(epoch, key);
}

/* A switch adds the reads of a task to its process's row at most once in this CPU time, because the
 * lookup would add half to the cost of a switch. An interval may have reads of the one before. */
#define PROCESS_EVERY_NS 5000000

static __always_inline bool process_is_due(const struct task_state *s, __u32 epoch)
{
	return s->process_calls != s->syscr_calls &&
	       (s->process_epoch != epoch || s->runtime_ns >= s->process_due_ns);
}

/* Adds waits of the running task, which a file's row has just got, to the row of its process, and
 * its reads since the last time with them: they need no lookup of their own. */
GLOBAL int process_note(struct live *l, __u64 stall_ns, __u64 stalls)
{
	struct task_struct *t;
	struct process_row *row;
	__u64 bytes, calls;
	__u32 key;

	if (!l || l->s.job == JOB_OTHERS)
		return 0;
	t = CAST(task_struct, l->task);
	bytes = READ(t, ioac.rchar) - l->s.process_bytes;
	calls = READ(t, ioac.syscr) - l->s.process_calls;
	if (!stalls && !calls)
		return 0;
	l->s.process_due_ns = l->s.runtime_ns + PROCESS_EVERY_NS;
	l->s.process_epoch = l->epoch;
	l->s.process_bytes += bytes;
	l->s.process_calls += calls;
	key = tgid_in(&shared.own_pids, t);
	if (many_jobs())
		key |= job_slot(l->s.job) << PROCESS_SLOT_SHIFT;
	row = process_find(l->epoch, key) ?: process_make(t, l->epoch, key);
	if (!row)
		return 0;
	if (stalls) {
		__sync_fetch_and_add(&row->stall_ns, stall_ns);
		__sync_fetch_and_add(&row->stalls, stalls);
	}
	__sync_fetch_and_add(&row->rchar_bytes, bytes);
	__sync_fetch_and_add(&row->syscr_calls, calls);
	return 0;
}

/* Adds a wait for a file, and one to the counter kind (C_NR: no other counter). */
static __noinline int wait_charge(struct live *l, const struct file_key *file, enum counter kind,
				  __u64 stall_ns, __u64 stalls)
{
	struct counts_at at = counts_of(l, file);

	counts_add(at, kind, 1);
	counts_add(at, C_stall_ns, stall_ns);
	counts_add(at, C_stalls, stalls);
	if (stalls) {
		process_note(l, stall_ns, stalls);
		stall_charged(l, file);
	}
	return 0;
}

/* The last fault has ended when the task's fault counters changed, which show whether it was
 * major or minor. */
GLOBAL int fault_finish(struct live *l)
{
	enum counter kind;
	struct task_struct *t;
	struct task_state *s;
	__u64 stall_ns = 0, stalls = 0;

	if (!l)
		return 0;
	t = CAST(task_struct, l->task);
	s = &l->s;
	if (!s->fault_inode || fault_clock(t) == s->fault_id)
		return 0;
	kind = READ(t, maj_flt) != s->fault_maj ? C_faults_major : C_faults_minor;
	if (s->stall_kind == STALL_FAULT && s->stall_ns) {
		stall_ns = s->stall_ns;
		stalls = s->stalls;
	}
	s->fault_inode = 0;
	wait_charge(l, &s->fault_file, kind, stall_ns, stalls);
	return 0;
}

/* A read is submitted: earlier waits for the ring were for something else. */
static __always_inline void ring_forget(struct task_state *s)
{
	if (s->stall_kind == STALL_URING)
		stall_forget(s);
}

#define NO_CALL (~0ull) /* no call is in progress */

/*
 * Waits of a call that no event of the per-read hook charged, because it was off or came before the
 * wait: charged when the task's next event finds the call ended. The inode may no longer exist.
 */
static __always_inline void read_wait_finish(struct live *l, __u64 syscr)
{
	struct task_state *s = &l->s;

	if (!s->stalls || s->stall_kind != STALL_READ || s->stall_id == syscr)
		return;
	if (s->wait_file.ino)
		wait_charge(l, &s->wait_file, C_NR, s->stall_ns, s->stalls);
	stall_forget(s);
}

#endif
