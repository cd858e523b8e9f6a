/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a task that goes to sleep inside of asynchronous requests reads the page cache: what AIO
 * submits may be writes as well, and so may what a worker of io_uring does. Owns that question.
 */
#ifndef REQUESTS_BPF_H
#define REQUESTS_BPF_H

#include "bpf/roles/ranges.bpf.h"

/* Without a loop helper only the first requests of a longer list are read, because each is
 * verified again. */
#define REQUESTS_BASIC 8

struct requests_walk {
	__u64 task, list;
	bool read, other; /* there is one */
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
	    !(READ(file, f_flags) & O_DIRECT)) {
		w->read = true;
		return 0;
	}
	w->other = true;
	return 1;
}

/* io_submit runs them one after the other and does not say which: of a list that has both nobody
 * knows. */
GLOBAL int requests_read(struct live *l)
{
	struct requests_walk w = {};
	__u64 regs;
	__u64 nr;

	if (!l)
		return 0;
	regs = l->regs;
	nr = REGS_ARG2(regs);
	w.list = REGS_ARG3(regs);
	w.task = l->task;
	LOOP(nr < IOCBS_MAX ? nr : IOCBS_MAX, REQUESTS_BASIC, requests_step, &w);
	return w.read && !w.other;
}

/* A worker of io_uring sleeps: whether in a read. Where that is not shown it is taken for one. */
static __always_inline bool worker_reads(struct task_struct *t)
{
	struct io_kiocb *req;
	__u8 op;

	if (!worker_is_shown(t))
		return true;
	req = worker_request(t);
	op = READ(req, opcode);
	if (op == IORING_OP_SPLICE)
		return true;
	return (op == IORING_OP_READ || op == IORING_OP_READV || op == IORING_OP_READ_FIXED ||
		op == IORING_OP_READ_MULTISHOT) &&
	       !(READ(req, file, f_flags) & O_DIRECT);
}

#endif
