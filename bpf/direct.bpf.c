// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Direct reads: bytes that went past the cache, cut at EOF. They never enter a hit ratio. */
#include "live.bpf.h"

SEC("?tp_btf/iomap_dio_rw_begin")
int BPF_PROG(direct_read_tp, struct kiocb *iocb, struct iov_iter *iter, unsigned int flags,
	     size_t done)
{
	struct live *l = live_get(EV_DIRECT);
	struct inode *inode;
	struct file_row *row;
	__u64 pos, count, size;

	if (!l || iter->data_source)
		return 0;
	iocb = PLAIN(kiocb, iocb);
	inode = iocb->ki_filp->f_mapping->host;
	if (!inode_counts(inode))
		return 0;
	pos = iocb->ki_pos;
	count = iter->count;
	size = inode->i_size;
	if (pos >= size)
		return 0;
	if (count > size - pos)
		count = size - pos;
	row = live_row(l, inode, addr_of(l, iocb->ki_filp), l->s.job);
	row_add(row, C_direct_read_calls, 1);
	row_add(row, C_direct_read_bytes, count);
	return 0;
}
