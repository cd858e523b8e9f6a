/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Process ids as user space knows them. The kernel's own are those of the first pid namespace; in a
 * container cachemon and its /proc use others. Owns the translation.
 */
#ifndef PID_NS_BPF_H
#define PID_NS_BPF_H

#include "bpf/state/maps.bpf.h"

#define NO_LEVEL (~0u) /* deeper than any namespace: no process has an id there */

static __always_inline __u64 pid_of_process(struct task_struct *t)
{
	return (__u64)READ(PLAIN(task_struct, t), group_leader, thread_pid);
}

static __always_inline struct upid *pid_at(__u64 pid, __u32 level)
{
	return CAST(upid, pid + bpf_core_field_offset(struct pid, numbers) +
				  (__u64)level * bpf_core_type_size(struct upid));
}

/* The id of t's process in a namespace; 0: it has none there. */
static __always_inline __u32 tgid_in(const struct pid_view *view, struct task_struct *t)
{
	struct upid *at;
	__u64 pid;

	if (!view->level)
		return READ(t, tgid);
	pid = pid_of_process(t);
	if (READ(CAST(pid, pid), level) < view->level)
		return 0;
	at = pid_at(pid, view->level);
	return (__u64)READ(at, ns) == view->ns ? READ(at, nr) : 0;
}

static __always_inline void pid_view_set(struct pid_view *view, __u64 pid, __u32 level)
{
	view->ns = (__u64)READ(pid_at(pid, level), ns);
	view->level = level;
}

/* Called in cachemon itself. /proc may belong to a namespace above its own. */
static __always_inline void pid_views_find(void)
{
	struct task_struct *self = current_task();
	__u64 pid = pid_of_process(self);
	__u32 level = READ(CAST(pid, pid), level), up = shared.proc_levels_up;

	shared.own_tgid = READ(self, tgid);
	pid_view_set(&shared.own_pids, pid, level);
	shared.proc_pids.level = NO_LEVEL;
	if (up <= level)
		pid_view_set(&shared.proc_pids, pid, level - up);
}

#endif
