/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plain reads: whole calls that read cached pages before the end of the task's current file. They
 * count only in its tally. Owns which reads are plain, and when the next one may be.
 */
#ifndef FULL_PLAIN_BPF_H
#define FULL_PLAIN_BPF_H

#include "bpf/full/references.bpf.h"
#include "bpf/roles/calls.bpf.h"

/* Opens the tally for the next read of this file by this task, if it qualifies; see tally.bpf.h. */
static __always_inline void read_expect(struct live *l, __u64 mapping)
{
	struct inode *inode = READ(CAST(address_space, mapping), host);
	struct task_state *s = &l->s;
	struct tally *t = tally_here();

	t->mapping = 0;
	/* Each CPU needs its own tally, or none is opened. */
	if (config.nr_cpus > NR_TALLY_CPUS)
		return;
	if (t->inode != (__u64)inode || t->generation != tally_generation(l->epoch) ||
	    s->read_inode != (__u64)inode || s->win_inode == (__u64)inode || s->read_end ||
	    (s->due_bytes && s->due_flags & DUE_SHORT) || s->job == JOB_OTHERS ||
	    t->slot != job_slot(s->job) || !(s->flags & TASK_STORED) ||
	    (s->stalls && s->stall_kind == STALL_READ) || trace_may(inode))
		return;
	t->regs = l->regs;
	t->call_id = s->read_id;
	t->whole = config.truncation_moves ? (__u64)READ(inode, i_size) >> page_shift : 0;
	tally_open(t, mapping, l->epoch);
}

/* pread64(2) of a part of one page. Its only event comes when the page is present, so the task's
 * state keeps nothing of it. The whole call lies in the page if its last page, which the kernel
 * computes from the call's end, is the page of its position. False: nothing was done. */
static __always_inline bool read_plain(const __u64 *mapping, const __u64 *last)
{
	struct tally *t = tally_for(mapping);
	struct pt_regs *regs;
	__u64 page, hash;

	if (!t)
		return false;
	regs = CAST(pt_regs, t->regs);
	if (REGS_NR_NATIVE(regs) != NR_pread64)
		return false;
	page = REGS_ARG4_NATIVE(regs) >> page_shift;
	if (page != *last || page >= t->whole)
		return false;
	t->read_calls++;
	t->read_bytes += REGS_ARG3_NATIVE(regs);
	if (reference_tallied(t, page, &hash))
		reference_take_tallied(t, *(const volatile __u64 *)last, hash);
	return true;
}

/* Pages first..last of a call that the tally takes: the lookups count together with the call. */
static __always_inline void pages_tallied(struct tally *t, __u64 first, __u64 last)
{
	__u64 hash;

	if (first == last) {
		/* Two copies are made, so that the hashed one need not be kept. */
		barrier_var(last);
		if (reference_tallied(t, last, &hash))
			reference_take_tallied(t, first, hash);
	} else {
		t->lookups += last - first;
		references_tallied(t, first, last);
	}
}

/* read(2) too, and reads of several pages: later events of the call check the task's state. */
static __always_inline bool read_plain_long(struct live *l, __u64 mapping_addr, __u64 index,
					    __u64 last)
{
	struct tally *t = tally_for(&mapping_addr);
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct task_state *s = &l->s;
	struct task_struct *task;
	struct pt_regs *regs;
	__u64 id, pos, end;
	long nr;

	if (!t)
		return false;
	task = CAST(task_struct, l->task);
	id = READ(task, ioac.syscr);
	if (id == s->read_id)
		return false;
	regs = CAST(pt_regs, l->regs);
	nr = REGS_NR_NATIVE(regs);
	if (nr == NR_pread64) {
		pos = REGS_ARG4_NATIVE(regs);
	} else if (nr == NR_read && l->regs) {
		struct file *file = file_of_fd(task, (__u32)REGS_ARG1(l->regs));

		/* Excludes an io_uring request that runs at the end of another read. */
		if (!file || !file_leads_to(file, mapping_addr))
			return false;
		pos = READ(file, f_pos);
	} else {
		return false;
	}
	end = REGS_ARG3_NATIVE(regs);
	if (end > MAX_RW_COUNT)
		return false;
	end += pos;
	if (pos >> page_shift > index || (end - 1) >> page_shift != last ||
	    end > (__u64)READ(mapping, host, i_size))
		return false;
	t->read_calls++;
	t->read_bytes += end - pos;
	pages_tallied(t, pos >> page_shift, last);
	call_was_plain(s, id, pos >> page_shift, index + 1, last);
	return true;
}

/* Whether a call may return less than is cached: one that may not wait, or one that does not
 * fill its caller's memory (sendfile). iter NULL: the hook does not show it; kernels before 5.14
 * do not either. */
static __always_inline bool may_stop_short(const struct tally *t, struct kiocb *iocb,
					   struct iov_iter *iter)
{
	long nr;
	__u8 to;

	if (!iter || !bpf_core_field_exists(iter->iter_type)) {
		nr = REGS_NR_NATIVE(CAST(pt_regs, t->regs));
		return nr != NR_pread64 && nr != NR_read;
	}
	to = TYPED(iter, iter_type);
	return TYPED(iocb, ki_flags) & IOCB_NOWAIT ||
	       (to != bpf_core_enum_value(enum iter_type, ITER_IOVEC) &&
		(!bpf_core_enum_value_exists(enum iter_type, ITER_UBUF) ||
		 to != bpf_core_enum_value(enum iter_type, ITER_UBUF)));
}

/* As read_plain(), for a hook that sees the call before its lookup: the tally keeps the values for
 * the task's state. No caller requests 0 bytes. */
static __always_inline bool read_plain_call(struct kiocb *iocb, struct iov_iter *iter, __u64 count)
{
	__u64 mapping = (__u64)TYPED(iocb, ki_filp, f_mapping);
	struct tally *t = tally_for(&mapping);
	__u64 id, pos, end, last;

	if (!t || TYPED(iocb, ki_complete) || may_stop_short(t, iocb, iter))
		return false;
	id = TYPED(current_task(), ioac.syscr);
	pos = TYPED(iocb, ki_pos);
	end = pos + count;
	last = (end - 1) >> page_shift;
	if (id == t->call_id || last >= t->whole)
		return false;
	t->call_id = id;
	t->call_pos = pos;
	t->call_end = end;
	t->read_calls++;
	t->read_bytes += count;
	pages_tallied(t, pos >> page_shift, last);
	return true;
}

#endif
