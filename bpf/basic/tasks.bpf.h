/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the data of a task, as full/tasks.bpf.h does: its state in a hash by its address, the marks
 * of its process under a lock, and its mappings in the tree of these kernels. Each task may belong
 * to the job.
 */
#ifndef BASIC_TASKS_BPF_H
#define BASIC_TASKS_BPF_H

#include "bpf/basic/locks.bpf.h"
#include "bpf/basic/regs.bpf.h"
#include "bpf/state/tasks.bpf.h"

static __always_inline bool member_may(__u64 task)
{
	return true;
}

static __always_inline void member_note(struct task_state *st, __u64 task)
{
}

static __always_inline void member_forget(__u64 task)
{
}

static __always_inline struct task_state *state_of(struct task_struct *t)
{
	__u64 key = (__u64)t;

	return bpf_map_lookup_elem(&tasks, &key);
}

static __always_inline struct task_state *state_make(struct task_struct *t)
{
	__u64 key = (__u64)t;
	struct task_state *st = bpf_map_lookup_elem(&tasks, &key);

	if (st)
		return st;
	bpf_map_update_elem(&tasks, &key, &zero_state, BPF_NOEXIST);
	return bpf_map_lookup_elem(&tasks, &key);
}

static __always_inline void state_free(struct task_struct *t)
{
	__u64 key = (__u64)t;

	bpf_map_delete_elem(&tasks, &key);
}

static __always_inline __u32 marks_set(struct task_state *st, __u32 marks)
{
	__u32 zero = 0, was;
	struct live *l = bpf_map_lookup_elem(&lives, &zero);
	__u64 lock = l ? addr_of(l, st) : 0;
	int held = lock_take(lock);

	/* Without the lock another mark could be lost, and a process counted twice or never. */
	if (!held)
		__sync_fetch_and_add(&shared.losses.state_drops, 1);
	was = st->counted;
	st->counted = was | marks;
	if (held)
		lock_drop(lock);
	return was;
}

#define VMA_DEPTH_MAX 40 /* no tree of an address space's mappings is deeper */

/* 0: found. */
static __noinline long vma_find(__u64 addr, struct vma_seen *seen)
{
	__u64 node = (__u64)READ(current_task(), mm, mm_rb.rb_node);

	for (int i = 0; i < VMA_DEPTH_MAX && node; i++) {
		struct vm_area_struct *vma = CAST(
			vm_area_struct, node - bpf_core_field_offset(struct vm_area_struct, vm_rb));

		if (addr < READ(vma, vm_start)) {
			node = (__u64)READ(vma, vm_rb.rb_left);
		} else if (addr >= READ(vma, vm_end)) {
			node = (__u64)READ(vma, vm_rb.rb_right);
		} else {
			seen->file = (__u64)READ(vma, vm_file);
			seen->start = READ(vma, vm_start);
			seen->end = READ(vma, vm_end);
			seen->offset_pages = READ(vma, vm_pgoff);
			seen->flags = READ(vma, vm_flags);
			return 0;
		}
	}
	return -1;
}

/* Makes each CPU check its task again at the next event. */
static __always_inline void moves_note(__u32 epoch)
{
	__sync_fetch_and_add(&shared.moves, 1);
}

static __always_inline bool moves_are_new(struct live *l)
{
	__u32 moves = shared.moves;

	if (l->moves == moves)
		return false;
	l->moves = moves;
	return true;
}

#endif
