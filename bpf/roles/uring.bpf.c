// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * io_uring: the range of each read, recorded at its submission. No register shows it, and a request
 * that has to wait returns from task work or in a worker. Reads that bypass the cache are left out,
 * because no event would ever remove them from the table.
 */
#include "bpf/state/counts.bpf.h"
#include "bpf/roles/ranges.bpf.h"

/* The file of a fixed slot, in the table of 6.13; NULL on kernels with another table. */
static __always_inline struct file *file_of_slot(struct live *l, struct io_kiocb *req, __u32 nr)
{
	struct io_rsrc_node *node;

	if (!bpf_core_field_exists(struct io_rsrc_data, nodes) ||
	    !bpf_core_field_exists(struct io_rsrc_node, file_ptr))
		return NULL;
	if (nr >= READ(req, ctx, file_table.data.nr))
		return NULL;
	node = CAST(io_rsrc_node, load_ptr(addr_of(l, READ(req, ctx, file_table.data.nodes)) +
					   nr * sizeof(void *)));
	/* The low bits are flags (FFS_MASK). */
	return CAST(file, READ(node, file_ptr) & ~7ull);
}

/* The request's file is looked up when it is issued; its number is stored instead of the flags. */
static __always_inline struct file *file_of_req(struct live *l, struct io_kiocb *req)
{
	__u32 fd = READ(req, cqe.fd);

	return READ(req, flags) & REQ_F_FIXED_FILE ? file_of_slot(l, req, fd)
						   : file_of_fd(CAST(task_struct, l->task), fd);
}

/* No event of the read leads to the path when its pages are cached. */
static __always_inline void name_below(struct live *l, struct file *file)
{
	struct inode *inode = READ(file_of_pages(file), f_mapping, host);

	if (inode_counts(inode))
		row_name(l, addr_of(l, inode), addr_of(l, file));
}

/* The read, or false: no such request, or it bypasses the page cache. */
static __always_inline bool range_of_req(struct live *l, struct io_kiocb *req, struct uring_read *r)
{
	struct io_rw *rw = CAST(io_rw, addr_of(l, req));
	__u8 op = READ(req, opcode);
	__u64 len = READ(rw, len);
	struct inode *inode;
	struct file *file;

	if (op == IORING_OP_READV)
		len = iov_total(READ(rw, addr), len, regs_compat(l->regs));
	else if (op != IORING_OP_READ && op != IORING_OP_READ_FIXED)
		return false;
	if (len > MAX_RW_COUNT)
		len = MAX_RW_COUNT;
	r->pos = READ(rw, kiocb.ki_pos);
	file = file_of_req(l, req);
	if (file) {
		if (READ(file, f_flags) & O_DIRECT)
			return false;
		if (r->pos == ~0ull)
			r->pos = READ(file, f_pos);
		inode = READ(file, f_mapping, host);
		if (!inode_counts(inode) || r->pos >= (__u64)READ(inode, i_size))
			return false;
		if (file_is_overlay(file))
			name_below(l, file);
		else
			r->mapping = (__u64)READ(file, f_mapping);
	}
	r->end = r->pos + len;
	return (__s64)r->pos >= 0 && r->end > r->pos;
}

/* One more request of a known range. */
static __always_inline bool uring_more(struct uring_read *u, struct uring_read *r)
{
	__u32 state = *(volatile __u32 *)&u->state;

	order_reads(&u->pad);
	if (u->pos != r->pos || u->end != r->end || u->tgid != r->tgid ||
	    u->mapping != r->mapping || u->read_on != r->read_on ||
	    uring_waiting(state) >= URING_TAKEN - 1)
		return false;
	u->tick = r->tick;
	return __sync_val_compare_and_swap(&u->state, state, state + 1) == state;
}

struct uring_places {
	__u64 last;
	__u32 tgid;
	__u32 free, old; /* 1 + its slot; 0: none */
	__u32 pad;
	__u64 free_tick, old_tick;
};

STEP uring_oldest_step(__u32 way, struct uring_places *p)
{
	struct uring_read *u = uring_read_of(p->tgid, p->last, way & (URING_WAYS - 1));

	if (!u)
		return 1;
	if (uring_waiting(u->state) == URING_TAKEN)
		return 0;
	if ((!uring_waiting(u->state) || u->read_on != shared.read_on) &&
	    (!p->free || u->tick < p->free_tick)) {
		p->free = way + 1;
		p->free_tick = u->tick;
	}
	if (!p->old || u->tick < p->old_tick) {
		p->old = way + 1;
		p->old_tick = u->tick;
	}
	return 0;
}

/* 1 + the slot of the range counted longest ago; if all are waiting, of the one submitted
 * longest ago. 0: none. */
GLOBAL int uring_oldest(__u32 tgid, __u64 last)
{
	struct uring_places p = {.tgid = tgid, .last = last};

	LOOP(URING_WAYS, URING_WAYS, uring_oldest_step, &p);
	return p.free ? p.free : p.old;
}

static __always_inline int submitted(struct live *l, struct io_kiocb *req)
{
	struct uring_read r = {}, *u;
	__u32 state;
	__u64 last;

	r.read_on = shared.read_on;
	if (!r.read_on || !range_of_req(l, PLAIN(io_kiocb, req), &r))
		return 0;
	ring_forget(&l->s);
	r.tgid = READ(CAST(task_struct, l->task), tgid);
	r.tick = bpf_jiffies64();
	last = (r.end - 1) >> page_shift;
	for (__u32 way = 0; way < URING_WAYS; way++) {
		u = uring_read_of(r.tgid, last, way);
		if (u && uring_more(u, &r))
			return 0;
	}
	/* Another CPU may want the same slot: the one that takes it fills it. */
	for (int attempt = 0; attempt < URING_WAYS; attempt++) {
		u = uring_way(r.tgid, last, uring_oldest(r.tgid, last));
		if (!u)
			return 0;
		state = u->state;
		if (uring_waiting(state) == URING_TAKEN ||
		    __sync_val_compare_and_swap(&u->state, state, state | URING_TAKEN) != state)
			continue;
		u->pos = r.pos;
		u->end = r.end;
		u->mapping = r.mapping;
		u->tgid = r.tgid;
		u->read_on = r.read_on;
		u->tick = r.tick;
		/* A new generation, so that a CPU that read the old slot does not change it now. */
		__sync_lock_test_and_set(&u->state,
					 (state & ~(__u32)URING_TAKEN) + URING_TAKEN + 2);
		return 0;
	}
	return 0;
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(uring_tp, struct io_kiocb *req)
{
	return WITH_LIVE(l, EV_URING, submitted(l, req));
}
