// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Direct reads: bytes that went past the cache, cut at EOF. They never enter a hit ratio. */
#include "live.bpf.h"

static __always_inline bool iter_writes(struct iov_iter *iter)
{
	if (bpf_core_field_exists(iter->data_source))
		return READ(iter, data_source);
	return READ((struct iov_iter___type *)iter, type) & 1; /* WRITE */
}

GLOBAL int direct_read(struct live *l, __u64 iocb_addr, __u64 iter_addr)
{
	struct kiocb *iocb = CAST(kiocb, iocb_addr);
	struct iov_iter *iter = CAST(iov_iter, iter_addr);
	__u64 pos = READ(iocb, ki_pos), count = READ(iter, count), size;
	struct inode *inode;
	struct file_row *row;

	if (!l || !count || iter_writes(iter))
		return 0;
	inode = READ(iocb, ki_filp, f_mapping, host);
	if (!inode_counts(inode))
		return 0;
	size = READ(inode, i_size);
	if (pos >= size)
		return 0;
	if (count > size - pos)
		count = size - pos;
	row = live_row(l, inode, addr_of(l, READ(iocb, ki_filp)), l->s.job);
	row_add(row, C_direct_read_calls, 1);
	row_add(row, C_direct_read_bytes, count);
	return 0;
}

SEC("?tp_btf/iomap_dio_rw_begin")
int BPF_PROG(direct_read_tp, struct kiocb *iocb, struct iov_iter *iter)
{
	return WITH_LIVE(l, EV_DIRECT, direct_read(l, addr_of(l, iocb), addr_of(l, iter)));
}

SEC("?fentry/__iomap_dio_rw")
int BPF_PROG(direct_read_fn, struct kiocb *iocb, struct iov_iter *iter)
{
	return WITH_LIVE(l, EV_DIRECT, direct_read(l, addr_of(l, iocb), addr_of(l, iter)));
}

SEC("?kprobe/__iomap_dio_rw")
int BPF_KPROBE(direct_read_kp, struct kiocb *iocb, struct iov_iter *iter)
{
	return WITH_LIVE(l, EV_DIRECT, direct_read(l, (__u64)iocb, (__u64)iter));
}
