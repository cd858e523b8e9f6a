/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is kept of each task, its user registers, and its mappings. Owns how a build finds them.
 */
#ifndef TASKS_BPF_H
#define TASKS_BPF_H

#include "bpf/state/maps.bpf.h"

enum { WIN_SYNC = 1, WIN_ASYNC, WIN_FORCED, WIN_KIND = 3, WIN_IN_FAULT = 4 };

enum {
	TASK_STORED = 1 << 0, /* has a copy in tasks */
	TASK_DIRTY = 1 << 1,
	TASK_NOTED = 1 << 2,   /* among the members */
	TASK_AWAITED = 1 << 3, /* some of its stalls were for a folio that it reads */
};

/* The address of a task, a plain number: where there is no struct live to take it through. */
static __always_inline __u64 task_addr(const struct task_struct *t)
{
	const void *at = t;
	__u64 addr = 0;

	bpf_probe_read_kernel(&addr, sizeof(addr), &at);
	return addr;
}

#ifdef CACHEMON_BASIC
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
#else
static __always_inline __u32 *member_slot(__u64 task)
{
	return &members[task >> 6 & (NR_MEMBERS - 1)];
}

/* May the task be of the job? */
static __always_inline bool member_may(__u64 task)
{
	return *member_slot(task);
}

/* st: its state, stored or running. Twice does no harm. */
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
#endif

#ifdef CACHEMON_BASIC
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

/* The top of its kernel stack; user space has measured where. */
static __always_inline __u64 regs_at(struct task_struct *t)
{
	return (__u64)READ(t, stack) + shared.regs_offset;
}
#else
static __always_inline struct task_state *state_of(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, NULL, 0);
}

static __always_inline struct task_state *state_make(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline __u64 regs_at(struct task_struct *t)
{
	return (__u64)bpf_task_pt_regs(t);
}
#endif

static __always_inline bool worker_is_shown(struct task_struct *t)
{
	return bpf_core_field_exists(t->worker_private) &&
	       bpf_core_field_exists(struct io_worker, cur_work) &&
	       bpf_core_field_exists(struct io_kiocb, work);
}

/* What a worker of io_uring is at; reads as 0 where that is nothing. */
static __always_inline struct io_kiocb *worker_request(struct task_struct *t)
{
	__u64 worker = (__u64)READ(t, worker_private);
	__u64 work = (__u64)READ(CAST(io_worker, worker), cur_work);

	return CAST(io_kiocb, work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0);
}

/* The mapping of the running task that an address is in. */
struct vma_seen {
	struct live *l;
	__u64 file; /* struct file; 0: of no file */
	__u64 start, end, offset_pages;
	__u64 flags; /* VM_* */
};

#ifdef CACHEMON_BASIC
#define VMA_DEPTH_MAX 40 /* of a red-black tree of all mappings that fit in an address space */

/* Kernels without the helper keep mappings in a red-black tree. 0: found. */
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
#else
static long vma_look(struct task_struct *t, struct vm_area_struct *vma, struct vma_seen *seen)
{
	seen->file = addr_of(seen->l, TYPED(vma, vm_file));
	seen->start = TYPED(vma, vm_start);
	seen->end = TYPED(vma, vm_end);
	seen->offset_pages = TYPED(vma, vm_pgoff);
	seen->flags = TYPED(vma, vm_flags);
	return 0;
}

static __always_inline long vma_find(__u64 addr, struct vma_seen *seen)
{
	return bpf_find_vma(current_task(), addr, vma_look, seen, 0);
}
#endif

#endif
