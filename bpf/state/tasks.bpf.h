/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs' state of a task. Owns the layout; tasks.bpf.h of the build finds it. */
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

/*
 * A lookup ends with the folio that triggered an async window, and then waits for that folio only.
 * If it is present, the window itself waits: for blocks that map the file.
 */
static __always_inline bool window_is_open(const struct task_state *s, __u64 syscr)
{
	return s->win_inode && s->win_kind == WIN_ASYNC && s->win_id == syscr;
}

/* The address of a task as a plain number, for code without a struct live. */
static __always_inline __u64 task_addr(const struct task_struct *t)
{
	const void *at = t;
	__u64 addr = 0;

	bpf_probe_read_kernel(&addr, sizeof(addr), &at);
	return addr;
}

static __always_inline bool worker_is_shown(struct task_struct *t)
{
	return bpf_core_field_exists(t->worker_private) &&
	       bpf_core_field_exists(struct io_worker, cur_work) &&
	       bpf_core_field_exists(struct io_kiocb, work);
}

/* The work of an io_uring worker; reads as 0 if it is idle. */
static __always_inline struct io_kiocb *worker_request(struct task_struct *t)
{
	__u64 worker = (__u64)READ(t, worker_private);
	__u64 work = (__u64)READ(CAST(io_worker, worker), cur_work);

	return CAST(io_kiocb, work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0);
}

/* The mapping of the running task that contains an address. */
struct vma_seen {
	struct live *l;
	__u64 file; /* struct file; 0: mapping without a file */
	__u64 start, end, offset_pages;
	__u64 flags; /* VM_* */
};

#endif
