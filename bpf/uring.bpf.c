// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * io_uring: the range of each read, when it is submitted. No register tells it, and a request that
 * has to wait comes back from task work or in a worker.
 */
#include "live.bpf.h"

/* The slot of this range, else of one that ended alike, else the one begun longest ago. */
static __noinline struct uring_read *uring_slot(__u32 tgid, __u64 pos, __u64 end)
{
	struct uring_read *u, *free = NULL;

	for (__u32 way = 0; way < URING_WAYS; way++) {
		u = uring_read_of(tgid, (end - 1) >> page_shift, way);
		if (!u)
			return NULL;
		if (u->pos == pos && u->end == end && u->tgid == tgid)
			return u;
		if (u->pending)
			continue;
		if (u->tgid == tgid && u->end &&
		    (u->end - 1) >> page_shift == (end - 1) >> page_shift)
			u->begun_tick = 0;
		if (!free || u->begun_tick < free->begun_tick)
			free = u;
	}
	return free ? free : u;
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(uring_tp, struct io_kiocb *req)
{
	struct live *l = live_get(EV_URING);
	struct uring_read *u;
	__u8 op = req->opcode;
	struct io_rw *rw;
	__u64 pos, end;
	__u32 tgid;

	if (!l || (op != IORING_OP_READ && op != IORING_OP_READ_FIXED))
		return 0;
	rw = CAST(io_rw, addr_of(l, req));
	pos = rw->kiocb.ki_pos;
	end = pos + rw->len;
	if ((__s64)pos < 0 || end <= pos)
		return 0;
	tgid = CAST(task_struct, l->task)->tgid;
	u = uring_slot(tgid, pos, end);
	if (!u)
		return 0;
	if (u->pos != pos || u->end != end || u->tgid != tgid) {
		u->pos = pos;
		u->end = end;
		u->tgid = tgid;
		u->pending = 0;
	}
	u->begun = 0;
	u->pending++;
	return 0;
}
