/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a task that sleeps inside asynchronous requests reads the page cache: AIO may submit
 * writes as well, and a worker of io_uring may write. Owns that decision.
 */
#ifndef REQUESTS_BPF_H
#define REQUESTS_BPF_H

#include "bpf/roles/ranges.bpf.h"

/* Without a loop helper only the first requests of a longer list are read, because the verifier
 * checks each separately. */
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

/* io_submit runs them one after the other without showing which: for a list of reads and writes
 * the answer is unknown. */
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

/* Whether a sleeping worker of io_uring is in a read. If that is not shown, a read is assumed. */
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
