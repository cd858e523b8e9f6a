/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The range that a read call asked for: from the registers of its system call, from its submission,
 * or, if those do not explain the event, from the event alone. Owns the rules for each kind of
 * call; counts nothing.
 */
#ifndef RANGES_BPF_H
#define RANGES_BPF_H

#include "bpf/state/live.bpf.h"

struct call {
	__u64 pos;  /* first requested byte */
	__u64 end;  /* byte after the last requested one */
	__u64 last; /* last requested page; differs from the event's only for a call in parts */
	bool parts; /* sendfile, copy_file_range: the kernel reads one pipe's worth at a time */
	bool again; /* an already counted call */
	bool uring; /* known from its submission */
	bool alone; /* its windows opened no call: its misses are recorded already */
	bool told;  /* ioac.rchar and ioac.syscr change at its end */
};

/* The range that the event alone shows. */
static __always_inline void call_from_event(__u64 index, __u64 last, struct call *c)
{
	c->pos = index << page_shift;
	c->end = (last + 1) << page_shift;
	c->last = last;
	c->parts = false;
	c->again = false;
	c->uring = false;
	c->alone = false;
	c->told = false;
}

/* System calls that read files inside the kernel for their own use. */
static __always_inline bool nr_executes(long nr)
{
	return nr == NR_execve || nr == NR_execveat || nr == NR_finit_module;
}

/* The kernel counts the bytes that these calls return; it does not do so for splice, AIO and
 * io_uring. */
static __always_inline bool nr_is_told(long nr)
{
	return nr == NR_read || nr == NR_pread64 || nr == NR_readv || nr == NR_preadv ||
	       nr == NR_preadv2 || nr == NR_sendfile || nr == NR_copy_file_range || nr_executes(nr);
}

/* include/uapi/linux/uio.h, include/uapi/linux/aio_abi.h: no system call takes a longer vector,
 * and longer request lists are not read further. */
enum { IOV_MAX = 1024, IOCBS_MAX = 1024, VECTOR_BASIC = 64 };

struct iov_walk {
	__u64 iov;
	__u64 total;
	bool compat; /* of a 32-bit program: half as long */
};

/* The verifier walks a helper's loop once, whatever its length. */
STEP iov_step(__u32 i, struct iov_walk *w)
{
	struct iovec v;
	__u64 pair;

	if (w->compat) {
		if (bpf_probe_read_user(&pair, sizeof(pair), (void *)(w->iov + i * sizeof(pair))))
			goto unknown;
		w->total += pair >> 32;
		return 0;
	}
	if (bpf_probe_read_user(&v, sizeof(v), (void *)(w->iov + i * sizeof(v))))
		goto unknown;
	w->total += v.iov_len;
	return 0;
unknown:
	w->total = 0;
	return 1;
}

/* 0: empty or unreadable. */
static __always_inline __u64 iov_total(__u64 iov, __u64 nr, bool compat)
{
	struct iov_walk w = {.iov = iov, .compat = compat};

	if (LOOP_IS_CUT(nr, VECTOR_BASIC))
		return 0;
	LOOP(nr < IOV_MAX ? nr : IOV_MAX, VECTOR_BASIC, iov_step, &w);
	return w.total;
}

/* A pipe that is shorter than the request takes one page per slot, and the rest of the first
 * page in its own slot: the last end that fits. */
static __always_inline __u64 part_end(__u64 pos, __u64 end, __u64 last)
{
	__u64 low = pos & ((1ull << page_shift) - 1), fit = last + !low;

	/* A part that stops early within that page is followed by one that does not. */
	if ((end - 1) >> page_shift == last)
		return end;
	fit <<= page_shift;
	return fit < end ? fit : end;
}

/*
 * An event only shows the last page of its request, and several requests for the same pages may be
 * in flight. So it counts one uncounted request: among those that end there, the one that begins
 * last but not after the event. Each request has at least one event at or after its first page, so
 * none remains when all have ended: a request that lost its event to another one begins no later
 * than that, and may use any event of the other.
 */
static __always_inline bool uring_fits(struct uring_read *u, __u32 tgid, __u64 mapping, __u64 index,
				       __u64 last)
{
	return u->tgid == tgid && u->read_on == shared.read_on && u->pos >> page_shift <= index &&
	       (u->end - 1) >> page_shift == last && (!u->mapping || u->mapping == mapping);
}

struct uring_walk {
	__u64 mapping, index, last;
	__u32 tgid;
	bool waiting;
	__u32 best; /* 1 + its slot; 0: none */
	__u64 best_pos;
};

STEP uring_find_step(__u32 way, struct uring_walk *w)
{
	struct uring_read *u = uring_read_of(w->tgid, w->last, way & (URING_WAYS - 1));

	if (!u)
		return 1;
	if (!uring_fits(u, w->tgid, w->mapping, w->index, w->last) ||
	    uring_waiting(u->state) == URING_TAKEN || (w->waiting && !uring_waiting(u->state)))
		return 0;
	if (!w->best || u->pos > w->best_pos) {
		w->best = way + 1;
		w->best_pos = u->pos;
	}
	return 0;
}

/* 1 + the matching slot; 0: none. */
GLOBAL int uring_find(__u32 tgid, __u64 mapping, __u64 index, __u64 last, bool waiting)
{
	struct uring_walk w = {
		.mapping = mapping, .index = index, .last = last, .tgid = tgid, .waiting = waiting};

	LOOP(URING_WAYS, URING_WAYS, uring_find_step, &w);
	return w.best;
}

/* Counts one request of this range, if any is left. The range is valid while the state stays:
 * another CPU may have reused the slot since it was found. */
static __always_inline bool uring_take(struct uring_read *u, __u32 tgid, __u64 mapping, __u64 index,
				       __u64 last, struct call *c)
{
	__u32 state = *(volatile __u32 *)&u->state;

	order_reads(&u->pad);
	c->pos = u->pos;
	c->end = u->end;
	return uring_waiting(state) && uring_waiting(state) != URING_TAKEN &&
	       uring_fits(u, tgid, mapping, index, last) &&
	       __sync_val_compare_and_swap(&u->state, state, state - 1) == state;
}

/* The event's range, if no submission explains it. */
GLOBAL int call_from_uring(__u32 tgid, __u64 mapping, __u64 index, __u64 last, struct call *c)
{
	struct uring_read *u;

	if (!c)
		return 0;
	for (int attempt = 0; attempt < URING_WAYS; attempt++) {
		u = uring_way(tgid, last, uring_find(tgid, mapping, index, last, true));
		if (!u)
			break;
		if (!uring_take(u, tgid, mapping, index, last, c))
			continue;
		u->tick = bpf_jiffies64();
		c->uring = true;
		c->alone = true;
		return 0;
	}
	call_from_event(index, last, c);
	u = uring_way(tgid, last, uring_find(tgid, mapping, index, last, false));
	if (!u)
		return 0;
	c->pos = u->pos;
	c->end = u->end;
	c->uring = true;
	c->alone = true;
	c->again = true;
	return 0;
}

/* include/uapi/linux/aio_abi.h */
enum { IOCB_CMD_PREAD = 0, IOCB_CMD_PREADV = 7 };
struct iocb {
	__u64 data;
	__u32 key, rw_flags;
	__u16 opcode, reqprio;
	__u32 fd;
	__u64 buf, nbytes, offset;
};

struct iocb_walk {
	__u64 task, list, mapping;
	__u64 index, last; /* pages of the event */
	__u64 pos, end;	   /* bytes of the matching request; end 0: none */
};

STEP iocb_step(__u32 i, struct iocb_walk *w)
{
	struct file *file;
	struct iocb cb;
	__u64 ptr;

	if (bpf_probe_read_user(&ptr, sizeof(ptr), (void *)(w->list + i * sizeof(ptr))) ||
	    bpf_probe_read_user(&cb, sizeof(cb), (void *)ptr))
		return 1;
	if (!cb.nbytes || cb.offset >> page_shift > w->index ||
	    (cb.offset + cb.nbytes - 1) >> page_shift != w->last)
		return 0;
	file = file_of_fd(CAST(task_struct, w->task), cb.fd);
	if (!file || !file_leads_to(file, w->mapping))
		return 0;
	w->pos = cb.offset;
	w->end = cb.offset + cb.nbytes;
	return 1;
}

/* io_submit runs its requests one after the other without showing which: takes the one that ends
 * where this event does. */
GLOBAL int call_from_iocbs(struct live *l, __u64 mapping, __u64 index, __u64 last, struct call *c)
{
	__u64 regs = l ? l->regs : 0;
	struct iocb_walk w = {.mapping = mapping, .index = index, .last = last};
	__u64 nr;

	if (!l || !c)
		return 0;
	w.task = l->task;
	nr = regs_compat(regs) ? 0 : REGS_ARG2(regs); /* with another layout */
	w.list = REGS_ARG3(regs);
	LOOP(nr < IOCBS_MAX ? nr : IOCBS_MAX, VECTOR_BASIC, iocb_step, &w);
	if (w.end) {
		c->pos = w.pos;
		c->end = w.end;
	}
	return 0;
}

/* The offset that is passed by address. sendfile(2) of 32-bit programs has a shorter one, unlike
 * sendfile64(2). */
static __always_inline __u32 pipe_offset_bytes(__u64 regs, long nr)
{
	return nr == NR_sendfile && regs_offset_is_short(regs) ? 4 : 8;
}

/* sendfile, splice, copy_file_range: c stays unchanged if they do not explain the event. */
GLOBAL int call_from_pipe(struct live *l, __u64 mapping, __u64 index, __u64 last, struct call *c)
{
	__u64 regs, ptr, count, pos, size;
	struct file *file;
	bool sends;
	long nr;

	if (!l || !c)
		return 0;
	regs = l->regs;
	nr = REGS_NR(regs);
	sends = nr == NR_sendfile;
	ptr = sends ? REGS_ARG3(regs) : REGS_ARG2(regs);
	count = sends ? REGS_ARG4(regs) : REGS_ARG5(regs);
	file = file_of_fd(CAST(task_struct, l->task), sends ? REGS_ARG2(regs) : REGS_ARG1(regs));
	if (!file || !file_leads_to(file, mapping))
		return 0;
	pos = ptr ? 0 : READ(file, f_pos);
	if (ptr && bpf_probe_read_user(&pos, pipe_offset_bytes(regs, nr), (void *)ptr))
		return 0;
	if (count > MAX_RW_COUNT)
		count = MAX_RW_COUNT;
	if (nr == NR_copy_file_range) {
		/* The only call that is cut at EOF in advance (generic_copy_file_checks()). */
		size = READ(CAST(address_space, mapping), host, i_size);
		if (pos < size && count > size - pos)
			count = size - pos;
	}
	if (!count || pos >> page_shift > index || (pos + count - 1) >> page_shift < last)
		return 0;
	c->pos = pos;
	if (nr == NR_splice) {
		c->end = part_end(pos, pos + count, last);
		return 0;
	}
	c->end = pos + count;
	c->last = (c->end - 1) >> page_shift;
	c->parts = true;
	c->told = true;
	return 0;
}

/* A splice of io_uring, which always runs in a worker. False: another kind of request. */
static __always_inline bool call_from_splice(struct task_struct *t, __u64 mapping, __u64 index,
					     __u64 last, struct call *c)
{
	struct io_kiocb *req;
	struct io_splice *sp;
	struct file *file;
	__u64 pos, len;

	if (!worker_is_shown(t) || !bpf_core_field_exists(struct io_splice, off_in))
		return false;
	req = worker_request(t);
	if (READ(req, opcode) != IORING_OP_SPLICE)
		return false;
	sp = CAST(io_splice, (__u64)req);
	pos = READ(sp, off_in);
	len = READ(sp, len);
	if (pos == ~0ull) {
		file = file_of_fd(t, READ(sp, splice_fd_in));
		if (!file || !file_leads_to(file, mapping))
			return true;
		pos = READ(file, f_pos);
	}
	if (len > MAX_RW_COUNT)
		len = MAX_RW_COUNT;
	c->alone = true;
	if (!len || pos >> page_shift > index || (pos + len - 1) >> page_shift < last)
		return true;
	c->pos = pos;
	c->end = part_end(pos, pos + len, last);
	return true;
}

/* The rarer calls. Uses the event alone if the registers do not explain it. */
GLOBAL int call_from_regs(struct live *l, __u64 mapping, __u64 index, __u64 last, struct call *c)
{
	struct task_struct *t;
	__u64 regs;
	struct file *file = NULL;
	__u64 pos, count = 0;
	long nr;

	if (!l || !c)
		return 0;
	t = CAST(task_struct, l->task);
	regs = l->regs;
	call_from_event(index, last, c);
	/* A kernel thread that reads for itself, such as a loop device. */
	if (!l->regs && !(READ(t, flags) & PF_IO_WORKER))
		return 0;
	nr = l->regs ? REGS_NR(regs) : NR_io_uring_enter;
	if (!l->regs && call_from_splice(t, mapping, index, last, c))
		return 0;
	if (nr == NR_io_uring_enter)
		return call_from_uring(READ(t, tgid), mapping, index, last, c);
	if (nr == NR_readv || nr == NR_preadv || nr == NR_preadv2) {
		pos = REGS_ARG4(regs);
		if (nr == NR_readv || (nr == NR_preadv2 && pos == ~0ull)) {
			file = file_of_fd(t, (__u32)REGS_ARG1(regs));
			if (!file)
				return 0;
			pos = READ(file, f_pos);
		}
		count = iov_total(REGS_ARG2(regs), REGS_ARG3(regs), regs_compat(regs));
		if (count > MAX_RW_COUNT)
			count = MAX_RW_COUNT;
		if (!count) {
			/* The vector cannot be read: the first byte is known, the end only to
			 * the page. */
			if (pos >> page_shift <= index) {
				c->pos = pos;
				c->told = true;
			}
			return 0;
		}
	} else if (nr == NR_sendfile || nr == NR_splice || nr == NR_copy_file_range) {
		return call_from_pipe(l, mapping, index, last, c);
	} else if (nr == NR_io_submit) {
		return call_from_iocbs(l, mapping, index, last, c);
	} else if (nr_executes(nr)) {
		c->told = true;
		return 0;
	} else {
		/* Task work of io_uring runs at the end of any call or interrupt. */
		return call_from_uring(READ(t, tgid), mapping, index, last, c);
	}
	if (pos >> page_shift > index || (pos + count - 1) >> page_shift != last)
		return call_from_uring(READ(t, tgid), mapping, index, last, c);
	c->pos = pos;
	c->end = pos + count;
	c->told = true;
	return 0;
}

/* The part of the call that a function shows. For sendfile and similar calls it is one pipe's
 * worth. */
static __always_inline void call_from_now(struct live *l, struct inode *inode, __u64 index,
					  __u64 last, struct call *c)
{
	__u64 regs = l->regs;
	long nr = l->regs && !l->now.iocb ? REGS_NR(regs) : -1;

	c->pos = l->now.pos;
	c->end = l->now.end;
	c->last = last;
	c->parts = false;
	c->again = l->now.retry;
	c->uring = false;
	c->alone = false;
	c->told = nr_is_told(nr);
	if (nr == NR_sendfile || nr == NR_splice || nr == NR_copy_file_range)
		call_from_pipe(l, addr_of(l, READ(inode, i_mapping)), index, last, c);
}

/* pread64 and read inline: no helper call on the hit path. */
static __always_inline void call_find(struct live *l, struct inode *inode, __u64 index, __u64 last,
				      struct call *c)
{
	__u64 regs = l->regs;
	__u64 pos, count;
	long nr;

	if (config.reads_by_call && l->now.end) {
		call_from_now(l, inode, index, last, c);
		return;
	}
	if (!RANGES_BY_REGISTERS) {
		/* Only the window's hook fired, and it knows all that matters about the range. */
		call_from_event(index, last, c);
		return;
	}
	nr = REGS_NR(regs); /* reads 0 for a kernel thread: then the checks below fail */
	if (nr == NR_pread64) {
		pos = REGS_ARG4(regs);
	} else if (nr == NR_read && l->regs) {
		struct file *file = file_of_fd(CAST(task_struct, l->task), (__u32)REGS_ARG1(regs));

		/* A request of io_uring may run at the end of another read. */
		pos = file && file_leads_to(file, (__u64)READ(inode, i_mapping)) ? READ(file, f_pos)
										 : ~0ull;
	} else {
		call_from_regs(l, addr_of(l, READ(inode, i_mapping)), index, last, c);
		return;
	}
	count = REGS_ARG3(regs);
	if (count > MAX_RW_COUNT)
		count = MAX_RW_COUNT;
	if (pos >> page_shift <= index && (pos + count - 1) >> page_shift == last) {
		c->pos = pos;
		c->end = pos + count;
		c->last = last;
		c->parts = false;
		c->again = false;
		c->uring = false;
		c->alone = false;
		c->told = true;
	} else {
		call_from_uring(READ(CAST(task_struct, l->task), tgid),
				addr_of(l, READ(inode, i_mapping)), index, last, c);
	}
}

#endif
