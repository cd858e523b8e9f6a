/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the data of a task: its state in task storage, its slot among the members of the job, the
 * marks of its process, and its mappings (by helper). Owns the maps of tasks and members.
 */
#ifndef FULL_TASKS_BPF_H
#define FULL_TASKS_BPF_H

#include "bpf/full/regs.bpf.h"
#include "bpf/state/tasks.bpf.h"

static __always_inline __u32 *member_slot(__u64 task)
{
	return &members[task >> 6 & (NR_MEMBERS - 1)];
}

/* Whether the task may belong to the job. */
static __always_inline bool member_may(__u64 task)
{
	return *member_slot(task);
}

/* st: its state, stored or running. A second call does no harm. */
static __always_inline void member_note(struct task_state *st, __u64 task)
{
	if (st->flags & TASK_NOTED)
		return;
	st->flags |= TASK_NOTED;
	__sync_fetch_and_add(member_slot(task), 1);
}

static __always_inline void member_forget(__u64 task)
{
	__sync_fetch_and_add(member_slot(task), -1);
}

static __always_inline struct task_state *state_of(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, NULL, 0);
}

static __always_inline struct task_state *state_make(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* The kernel frees it with the task. */
static __always_inline void state_free(struct task_struct *t)
{
}

/* COUNTED_* of processes.bpf.h; returns those that were already set. */
static __always_inline __u32 marks_set(struct task_state *st, __u32 marks)
{
	return __sync_fetch_and_or(&st->counted, marks);
}

static long vma_look(struct task_struct *t, struct vm_area_struct *vma, struct vma_seen *seen)
{
	seen->file = addr_of(seen->l, TYPED(vma, vm_file));
	seen->start = TYPED(vma, vm_start);
	seen->end = TYPED(vma, vm_end);
	seen->offset_pages = TYPED(vma, vm_pgoff);
	seen->flags = TYPED(vma, vm_flags);
	return 0;
}

/* 0: found. */
static __always_inline long vma_find(__u64 addr, struct vma_seen *seen)
{
	return bpf_find_vma(current_task(), addr, vma_look, seen, 0);
}

/* Makes each CPU check its task again; the generation of rows stays. If another CPU was faster,
 * it has done so already. After counting has stopped, a plain addition would restart it. */
static __always_inline void moves_note(__u32 epoch)
{
	__sync_val_compare_and_swap(&shared.epoch, epoch, epoch + 2);
}

/* The epoch shows whether a task moved to another cgroup since the last check. */
static __always_inline bool moves_are_new(struct live *l)
{
	return false;
}

#endif
