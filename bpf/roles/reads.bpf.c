// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The per-read hook without a tracepoint: functions below each buffered read. read_tp.bpf.c of the
 * build has the tracepoint. They are the only programs on the hit path.
 */
#include "bpf/roles/hooks.bpf.h"
#include "bpf/roles/reads.bpf.h"
#include OF_BUILD(plain.bpf.h)

/*
 * io_uring returns to a read that had to wait: with IOCB_WAITQ where it was submitted, from task
 * work with its saved state, or in a worker, which sees a read first only if it was forced there.
 */
static __always_inline bool uring_comes_back(struct live *l, struct kiocb *iocb)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct io_kiocb *req = CAST(io_kiocb, addr_of(l, iocb));

	if (l->regs && REGS_NR(l->regs) == NR_io_submit)
		return false;
	if (READ(iocb, ki_flags) & IOCB_WAITQ)
		return true;
	if (READ(req, flags) & REQ_F_FORCE_ASYNC)
		return false;
	return READ(t, flags) & PF_IO_WORKER || READ(req, async_data);
}

/*
 * Without a tracepoint: the function below each buffered read, at the beginning of each batch of
 * folios (of the whole call before 5.12), with what the call still has to read. iter 0: not shown.
 */
GLOBAL int read_call(struct live *l, __u64 iocb_addr, __u64 count, __u64 iter)
{
	struct kiocb *iocb = CAST(kiocb, iocb_addr);
	struct address_space *mapping = READ(iocb, ki_filp, f_mapping);
	__u64 pos = READ(iocb, ki_pos), end = pos + count, mapping_addr;

	if (!l || !count || !mapping)
		return 0;
	l->now.iocb = READ(iocb, ki_complete) ? iocb_addr : 0;
	l->now.pos = pos;
	l->now.end = end;
	l->now.retry = l->now.iocb && uring_comes_back(l, iocb);
	if (iter)
		place_show(l, iter);
	mapping_addr = addr_of(l, mapping);
	read_any_call(l, mapping_addr, pos >> page_shift, (end - 1) >> page_shift);
	if (l->now.iocb)
		row_name_below(l, READ(mapping, host), READ(iocb, ki_filp));
	l->now.end = 0;
	read_expect(l, mapping_addr);
	settle_asked(l);
	return 0;
}

/* 6.12 on. */
SEC("?fentry/filemap_get_pages")
int BPF_PROG(read_count_fn, struct kiocb *iocb, size_t count)
{
	struct live *l;

	if (read_plain_call(iocb, NULL, count))
		return 0;
	l = live_reads();
	return l ? read_call(l, addr_of(l, iocb), count, 0) : 0;
}

/* 5.12 on. */
SEC("?fentry/filemap_get_pages")
int BPF_PROG(read_iter_fn, struct kiocb *iocb, struct iov_iter *iter)
{
	struct live *l;

	if (read_plain_call(iocb, iter, TYPED(iter, count)))
		return 0;
	l = live_reads();
	return l ? read_call(l, addr_of(l, iocb), TYPED(iter, count), addr_of(l, iter)) : 0;
}

/* This kernel looks a page up before it checks the size, so an event at the end of the file is
 * not a read. Later kernels check the size first. */
static __always_inline int read_whole(struct live *l, __u64 iocb, __u64 iter)
{
	struct kiocb *k = CAST(kiocb, iocb);

	if (READ(k, ki_pos) >= READ(k, ki_filp, f_mapping, host, i_size))
		return 0;
	return read_call(l, iocb, READ(CAST(iov_iter, iter), count), iter);
}

ON_ENTRY_OF(generic_file_buffered_read, read_whole, live_reads(),
	    read_whole(l, ADDR(l, iocb), ADDR(l, iter)), struct kiocb *iocb, struct iov_iter *iter)

SEC("?kprobe/filemap_get_pages")
int BPF_KPROBE(read_count_kp, struct kiocb *iocb, size_t count)
{
	return WITH_LIVE_OF(l, live_reads(), read_call(l, (__u64)iocb, count, 0));
}

SEC("?kprobe/filemap_get_pages")
int BPF_KPROBE(read_iter_kp, struct kiocb *iocb, struct iov_iter *iter)
{
	return WITH_LIVE_OF(
		l, live_reads(),
		read_call(l, (__u64)iocb, READ(CAST(iov_iter, iter), count), (__u64)iter));
}
