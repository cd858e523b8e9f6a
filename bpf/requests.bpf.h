/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a task that goes to sleep inside of asynchronous requests reads the page cache: what AIO
 * submits may be writes as well, and so may what a worker of io_uring does. Owns that question.
 */
#ifndef REQUESTS_BPF_H
#define REQUESTS_BPF_H

#include "ranges.bpf.h"

struct requests_walk {
	__u64 task, list;
	__u32 reads, others;
};

STEP requests_step(__u32 i, struct requests_walk *w)
{
	struct file *file;
	struct iocb cb;
	__u64 ptr;

	if (bpf_probe_read_user(&ptr, sizeof(ptr), (void *)(w->list + i * sizeof(ptr))) ||
	    bpf_probe_read_user(&cb, sizeof(cb), (void *)ptr))
		return 1;
	file = file_of_fd(CAST(task_struct, w->task), cb.fd);
	if ((cb.opcode == IOCB_CMD_PREAD || cb.opcode == IOCB_CMD_PREADV) && file &&
	    !(READ(file, f_flags) & O_DIRECT))
		w->reads++;
	else
		w->others++;
	return 0;
}

/* io_submit runs them one after the other and does not say which: of a list that has both nobody
 * knows. */
GLOBAL int requests_read(struct live *l)
{
	struct requests_walk w = {};
	struct pt_regs *regs;
	__u64 nr;

	if (!l)
		return 0;
	regs = CAST(pt_regs, l->regs);
	nr = REGS_ARG2(regs);
	w.list = REGS_ARG3(regs);
	w.task = l->task;
	LOOP(nr < IOCBS_MAX ? nr : IOCBS_MAX, VECTOR_BASIC, requests_step, &w);
	return w.reads && !w.others;
}

/* What a worker of io_uring is at. Where that is not shown it is taken for a read. */
static __always_inline bool worker_reads(struct live *l, struct task_struct *t)
{
	struct io_kiocb *req;
	__u64 work;
	__u8 op;

	if (!bpf_core_field_exists(t->worker_private) ||
	    !bpf_core_field_exists(struct io_worker, cur_work))
		return true;
	work = (__u64)READ(CAST(io_worker, (__u64)READ(t, worker_private)), cur_work);
	if (!work)
		return false;
	req = CAST(io_kiocb, work - bpf_core_field_offset(struct io_kiocb, work));
	op = READ(req, opcode);
	if (op == IORING_OP_SPLICE)
		return true;
	return (op == IORING_OP_READ || op == IORING_OP_READV || op == IORING_OP_READ_FIXED ||
		op == IORING_OP_READ_MULTISHOT) &&
	       !(READ(req, file, f_flags) & O_DIRECT);
}

#endif
