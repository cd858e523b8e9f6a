// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Direct reads: bytes that bypassed the cache. They never enter a hit ratio. A read is recorded at
 * its start and counted at its end, with its result: a filesystem may refuse it, restart it when
 * the reader's memory was not resident, or read the rest through the cache. If this kernel does not
 * show the end, the read is counted at its start, cut at EOF.
 */
#include "bpf/state/counts.bpf.h"
#include "bpf/roles/hooks.bpf.h"

#define END(e) (1u << (e))

static __always_inline bool iter_writes(struct iov_iter *iter)
{
	if (bpf_core_field_exists(iter->data_source))
		return READ(iter, data_source);
	return READ((struct iov_iter___type *)iter, type) & 1; /* WRITE */
}

static __always_inline void direct_count(struct live *l, struct kiocb *iocb, __u64 bytes,
					 bool first)
{
	struct inode *inode = READ(iocb, ki_filp, f_mapping, host);
	struct file_row *row = live_row(l, inode, addr_of(l, READ(iocb, ki_filp)), l->s.job);

	row_add(row, C_direct_read_calls, first);
	row_add(row, C_direct_read_bytes, bytes);
}

/* end: the place that must report its end. before: bytes that the same call has already read. */
GLOBAL int direct_begin(struct live *l, __u64 iocb_addr, __u64 iter_addr, __u64 before, __u32 end)
{
	struct kiocb *iocb = CAST(kiocb, iocb_addr);
	struct iov_iter *iter = CAST(iov_iter, iter_addr);
	__u64 pos = READ(iocb, ki_pos), count = READ(iter, count), size;
	__u32 ends = END(end);
	struct inode *inode;

	if (!l)
		return 0;
	l->s.direct_iocb = 0;
	l->s.flags |= TASK_DIRTY;
	if (!count || iter_writes(iter))
		return 0;
	inode = READ(iocb, ki_filp, f_mapping, host);
	if (!inode_counts(inode))
		return 0;
	size = READ(inode, i_size);
	size = pos < size ? size - pos : 0;
	if (count > size)
		count = size;
	/* Other kinds return to their caller once they are queued. */
	if (end == DIRECT_DONE && READ(iocb, ki_complete))
		ends |= END(DIRECT_QUEUED);
	if ((shared.direct_ends & ends) == ends) {
		l->s.direct_bytes = count;
		l->s.direct_before = before;
		l->s.direct_iocb = iocb_addr;
		live_keep(l);
	} else if (count) {
		direct_count(l, iocb, count, !before);
	}
	return 0;
}

/* The whole call of the recorded read returned this many bytes. iocb: of the request that ends;
 * others are ignored. A read may end in an interrupt while its submission is being recorded: only
 * one of the two takes it. (The build without atomic exchange is for kernels that do not show the
 * submission.) */
GLOBAL int direct_end(struct live *l, __u64 iocb_addr, __s64 bytes)
{
	__u64 before;

	if (!l || !iocb_addr || word_swap(&l->s.direct_iocb, iocb_addr, 0) != iocb_addr)
		return 0;
	l->s.flags |= TASK_DIRTY;
	before = l->s.direct_before;
	if (bytes == -EIOCBQUEUED)
		bytes = before + l->s.direct_bytes;
	if (bytes > 0 && (__u64)bytes > before)
		direct_count(l, CAST(kiocb, iocb_addr), bytes - before, !before);
	return 0;
}

SEC("?tp_btf/iomap_dio_rw_begin")
int BPF_PROG(direct_read_tp, struct kiocb *iocb, struct iov_iter *iter, unsigned int flags,
	     size_t done_before)
{
	return WITH_LIVE(
		l, EV_DIRECT,
		direct_begin(l, addr_of(l, iocb), addr_of(l, iter), done_before, DIRECT_DONE));
}

/* For functions whose first two arguments are those of any read. */
#define DIRECT_BEGIN(function, name, end)                                                          \
	ON_ENTRY(function, name, EV_DIRECT, direct_begin(l, ADDR(l, iocb), ADDR(l, iter), 0, end), \
		 struct kiocb *iocb, struct iov_iter *iter)

DIRECT_BEGIN(__iomap_dio_rw, direct_read, DIRECT_DONE)

/*
 * The state with the recorded read. An asynchronous read may end in an interrupt of any task, even
 * while one of our programs runs; then nothing is changed. The caller of a synchronous one is the
 * running task.
 */
static __always_inline struct live *direct_live(bool async)
{
	__u32 zero = 0;

	if (!async)
		return live_now();
	return shared.epoch ? bpf_map_lookup_elem(&lives, &zero) : NULL;
}

SEC("?tp_btf/iomap_dio_complete")
int BPF_PROG(direct_done_tp, struct kiocb *iocb, int error, long ret)
{
	struct live *l;

	alone_begin();
	l = direct_live(READ(iocb, ki_complete));
	if (l && l->s.direct_iocb == (__u64)iocb) {
		live_runs(l, EV_DIRECT);
		/* Equals the argument, but is read again as a plain number. */
		direct_end(l, *(volatile __u64 *)&l->s.direct_iocb, ret);
	}
	alone_end();
	return 0;
}

/* Called when the kernel is about to compute the read's result and to free its inputs. */
static __always_inline int direct_done(struct live *l, struct iomap_dio *dio)
{
	__u64 addr = (__u64)BPF_CORE_READ(dio, iocb), before = 0;
	__s64 pos, size, bytes;

	if (l->s.direct_iocb != addr)
		return 0;
	live_runs(l, EV_DIRECT);
	pos = BPF_CORE_READ(dio, iocb, ki_pos);
	size = BPF_CORE_READ(dio, i_size);
	bytes = BPF_CORE_READ(dio, error) ? 0 : BPF_CORE_READ(dio, size);
	if (pos + bytes > size)
		bytes = size - pos;
	/* A hook at the function's entry does not see what was read before. */
	if (bpf_core_field_exists(dio->done_before))
		before = BPF_CORE_READ(dio, done_before);
	l->s.direct_before = before;
	return direct_end(l, addr, bytes > 0 ? before + bytes : 0);
}

ON_ENTRY_OF(iomap_dio_complete, direct_done, direct_live(BPF_CORE_READ(dio, iocb, ki_complete)),
	    direct_done(l, dio), struct iomap_dio *dio)

/* A queued read continues without its caller; its completion runs in another task. */
SEC("?tp_btf/iomap_dio_rw_queued")
int BPF_PROG(direct_queue_tp)
{
	return WITH_LIVE(l, EV_DIRECT, direct_end(l, l->s.direct_iocb, -EIOCBQUEUED));
}

/* Functions that bypass the cache in their own way: for block devices, NFS and FUSE. */
DIRECT_BEGIN(blkdev_direct_IO, dio_block, DIRECT_BLOCK)
DIRECT_BEGIN(nfs_file_direct_read, dio_nfs, DIRECT_NFS)

SEC("?fexit/blkdev_direct_IO")
int BPF_PROG(dio_block_x, struct kiocb *iocb, struct iov_iter *iter, long ret)
{
	return WITH_LIVE(l, EV_DIRECT, direct_end(l, addr_of(l, iocb), ret));
}

/*
 * If no function can be hooked, direct reads of block devices are recognised by their bios: bytes
 * read, but no refused reads. A task that waits for one bio may be a filesystem reading for itself;
 * a read of the device itself waits this way only for its own bio.
 */
static __always_inline bool bio_may_be_direct(struct bio *bio)
{
	__u64 end = (__u64)TYPED(bio, bi_end_io);

	return (TYPED(bio, bi_opf) & REQ_OP_MASK) == REQ_OP_READ &&
	       (end == config.bio_ends[BIO_END_WAIT] || end == config.bio_ends[BIO_END_DEVICE] ||
		end == config.bio_ends[BIO_END_DEVICE_ASYNC]);
}

static __always_inline struct inode *device_inode(struct block_device *dev)
{
	if (bpf_core_field_exists(dev->bd_mapping))
		return READ(dev, bd_mapping, host);
	return READ((struct block_device___inode *)dev, bd_inode);
}

GLOBAL int direct_bio(struct live *l, __u64 bio_addr)
{
	struct bio *bio = CAST(bio, bio_addr);
	__u64 end = (__u64)READ(bio, bi_end_io), hint = HINT_OWN;
	/* A call with several bios has one of them in its own memory. */
	__u64 own = bio_addr - bpf_core_field_offset(struct blkdev_dio, bio), dio = own;
	struct inode *inode = device_inode(READ(bio, bi_bdev));
	struct file_row *row;

	if (!l)
		return 0;
	if (end == config.bio_ends[BIO_END_WAIT] && !file_of_call(l, inode, false))
		return 0;
	if (end == config.bio_ends[BIO_END_DEVICE])
		dio = (__u64)READ(bio, bi_private);
	if (end == config.bio_ends[BIO_END_DEVICE_ASYNC] ||
	    (end == config.bio_ends[BIO_END_DEVICE] &&
	     !(READ(CAST(blkdev_dio, dio), flags) & DIO_IS_SYNC)))
		hint = addr_of(l, READ(CAST(blkdev_dio, dio), iocb, ki_filp));
	row = live_row(l, inode, hint, l->s.job);
	row_add(row, C_direct_read_calls, dio == own);
	row_add(row, C_direct_read_bytes, READ(bio, bi_iter.bi_size));
	return 0;
}

SEC("?tp_btf/block_bio_queue")
int BPF_PROG(dio_block_tp, struct bio *bio)
{
	if (!bio_may_be_direct(bio))
		return 0;
	return WITH_LIVE(l, EV_DIRECT, direct_bio(l, addr_of(l, bio)));
}

SEC("?fexit/nfs_file_direct_read")
int BPF_PROG(dio_nfs_x, struct kiocb *iocb, struct iov_iter *iter, bool swap, long ret)
{
	return WITH_LIVE(l, EV_DIRECT, direct_end(l, addr_of(l, iocb), ret));
}

/* The type of io may belong to a module. */
static __always_inline __u64 fuse_iocb(struct fuse_io_priv *io)
{
	return (__u64)BPF_CORE_READ(io, iocb);
}

ON_ENTRY(fuse_direct_io, dio_fuse, EV_DIRECT,
	 direct_begin(l, fuse_iocb(io), ADDR(l, iter), 0, DIRECT_FUSE), struct fuse_io_priv *io,
	 struct iov_iter *iter)

SEC("?fexit/fuse_direct_io")
int BPF_PROG(dio_fuse_x, struct fuse_io_priv *io, struct iov_iter *iter, long long *pos, int flags,
	     long ret)
{
	return WITH_LIVE(l, EV_DIRECT, direct_end(l, fuse_iocb(io), ret));
}
