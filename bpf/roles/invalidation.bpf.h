/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a page is invalidated: for a direct read or write, or because it is stale. Owns which calls
 * are direct.
 */
#ifndef INVALIDATION_BPF_H
#define INVALIDATION_BPF_H

#include "bpf/state/live.bpf.h"

/* Whether the file of this system call was opened with O_DIRECT. Calls without a file that
 * submit many requests count as direct: nothing else that they do evicts pages. */
static __always_inline bool call_is_direct(struct task_struct *t, __u64 regs)
{
	struct file *file;
	long nr = REGS_NR(regs);
	__u64 fd;

	if (nr == NR_io_submit || nr == NR_io_uring_enter)
		return true;
	if (nr == NR_splice || nr == NR_copy_file_range)
		fd = REGS_ARG3(regs);
	else if (nr == NR_write || nr == NR_pwrite64 || nr == NR_writev || nr == NR_pwritev ||
		 nr == NR_pwritev2 || nr == NR_read || nr == NR_pread64 || nr == NR_readv ||
		 nr == NR_preadv || nr == NR_preadv2 || nr == NR_sendfile)
		fd = REGS_ARG1(regs);
	else
		return false;
	file = file_of_fd(t, (__u32)fd);
	return file && READ(file, f_flags) & O_DIRECT;
}

/* For an io_uring worker, which may also open files. */
static __always_inline bool worker_is_direct(struct task_struct *t)
{
	return !worker_is_shown(t) || READ(worker_request(t), file, f_flags) & O_DIRECT;
}

/*
 * invalidate_inode_pages2_range() removes pages because a direct read or write bypasses the cache,
 * or because the filesystem considers them stale. A kernel thread ends the direct writes of others.
 */
static __noinline int cause_of_invalidation(struct live *l)
{
	struct task_struct *t = CAST(task_struct, l->task);
	bool direct = l->regs ? call_is_direct(t, l->regs)
			      : !(READ(t, flags) & PF_IO_WORKER) || worker_is_direct(t);

	return direct ? EVICT_DIRECT_IO : EVICT_INVALIDATE;
}

#endif
