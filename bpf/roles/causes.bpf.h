/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a page leaves the cache, from the context of the delete event. Owns the decision only. Cheap
 * facts first; a stack walk (about 3 us) only where nothing else can tell, and its answer is kept
 * for the rest of that system call.
 */
#ifndef CAUSES_BPF_H
#define CAUSES_BPF_H

#include "bpf/state/live.bpf.h"

enum { RECLAIM_NONE, RECLAIM_DIRECT, RECLAIM_MEMCG };

static __always_inline bool in_symbol(__u64 addr, const volatile __u64 sym[2])
{
	return addr >= sym[0] && addr < sym[1];
}

/* Is the file that this system call reads or writes one of O_DIRECT? Of calls that name none, those
 * that submit many are taken for direct ones: what they do to the cache else leaves no page. */
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

/* Of a worker of io_uring, which may open a file as well. */
static __always_inline bool worker_is_direct(struct task_struct *t)
{
	return !worker_is_shown(t) || READ(worker_request(t), file, f_flags) & O_DIRECT;
}

/*
 * What invalidate_inode_pages2_range() takes out goes because a direct read or write passes by the
 * cache, or because the filesystem holds it for stale. A thread of the kernel ends direct writes
 * of others.
 */
static __noinline int cause_of_invalidation(struct live *l)
{
	struct task_struct *t = CAST(task_struct, l->task);
	bool direct = l->regs ? call_is_direct(t, l->regs)
			      : !(READ(t, flags) & PF_IO_WORKER) || worker_is_direct(t);

	return direct ? EVICT_DIRECT_IO : EVICT_INVALIDATE;
}

enum { STACK_DEPTH = 24 };

#ifdef CACHEMON_BASIC
/* ~0: it is inside. */
static __always_inline __u64 symbol_mask(__u64 addr, const volatile __u64 sym[2])
{
	__u64 off = addr - sym[0], in = ~off & (off - (sym[1] - sym[0]));

	barrier_var(in);
	return -(in >> 63);
}

/* In memory that was written to, and without a branch: what verifiers of that time want. From the
 * outermost frame on, so that the innermost decides. */
static __noinline int cause_from_stack(struct live *l, void *ctx)
{
	__u64 *stack = work_of(WORK_STACK), cause = EVICT_OTHER;
	__u64 invalidated = cause_of_invalidation(l);
	long n;

	if (!stack)
		return EVICT_OTHER;
	n = bpf_get_stack(ctx, stack, STACK_DEPTH * sizeof(*stack), 0);
	for (int i = STACK_DEPTH - 1; i >= 0; i--) {
		__u64 filled = (__u64)(i * 8 - n), dontneed, invalidate, drop, punch;

		barrier_var(filled);
		filled = -(filled >> 63);
		dontneed = symbol_mask(stack[i], config.sym_fadvise) & filled;
		invalidate = symbol_mask(stack[i], config.sym_invalidate2) & filled;
		drop = symbol_mask(stack[i], config.sym_drop_caches) & filled;
		punch = symbol_mask(stack[i], config.sym_fallocate) & filled;
		cause &= ~(dontneed | invalidate | drop | punch);
		cause |= (dontneed & EVICT_DONTNEED) | (invalidate & invalidated) |
			 (drop & EVICT_DROP_CACHES) | (punch & EVICT_TRUNCATE);
	}
	return cause & 15;
}
#else
static __noinline int cause_from_stack(struct live *l, void *ctx)
{
	__u64 stack[STACK_DEPTH];
	long n = bpf_get_stack(ctx, stack, sizeof(stack), 0);
	int cause = EVICT_OTHER;

	for (int i = 0; i < STACK_DEPTH; i++) {
		if (i * 8 >= n)
			break;
		if (in_symbol(stack[i], config.sym_fadvise))
			return EVICT_DONTNEED;
		if (in_symbol(stack[i], config.sym_invalidate2))
			return cause_of_invalidation(l);
		if (in_symbol(stack[i], config.sym_drop_caches))
			return EVICT_DROP_CACHES;
		/* MADV_REMOVE and io_uring come here as well. */
		if (in_symbol(stack[i], config.sym_fallocate))
			return EVICT_TRUNCATE;
		/* Invalidation goes through it too; without that it is the end of a call, or of
		 * its writeback. */
		if (in_symbol(stack[i], config.sym_unmap))
			cause = EVICT_DONTCACHE;
	}
	return cause;
}
#endif

/* write(2) to /proc/sys/vm/drop_caches: a proc file whose name begins so. */
static __always_inline bool is_drop_caches(struct file *file)
{
	__u64 name, wanted;

	__builtin_memcpy(&wanted, "drop_cac", sizeof(wanted));
	return file && READ(file, f_inode, i_sb, s_magic) == PROC_SUPER_MAGIC &&
	       !bpf_probe_read_kernel(&name, sizeof(name),
				      READ(file, f_path.dentry, d_name.name)) &&
	       name == wanted;
}

static __noinline int cause_from_call(struct live *l, void *ctx)
{
	struct task_struct *t = CAST(task_struct, l->task);
	__u64 regs = l->regs;
	struct file *file;
	long nr;

	if (!l->regs)
		return cause_from_stack(l, ctx);
	nr = REGS_NR(regs);
	if (nr == NR_fadvise64)
		return EVICT_DONTNEED;
	if (nr == NR_ftruncate || nr == NR_fallocate)
		return EVICT_TRUNCATE;
	if (nr == NR_write || nr == NR_pwrite64 || nr == NR_writev || nr == NR_read ||
	    nr == NR_pread64 || nr == NR_readv || nr == NR_preadv || nr == NR_pwritev ||
	    nr == NR_preadv2 || nr == NR_pwritev2) {
		file = file_of_fd(t, (__u32)REGS_ARG1(regs));
		if (is_drop_caches(file))
			return EVICT_DROP_CACHES;
		if (file && READ(file, f_flags) & O_DIRECT)
			return EVICT_DIRECT_IO;
	}
	return cause_from_stack(l, ctx);
}

static __always_inline bool inode_goes(struct inode *inode)
{
	return READ(inode, i_mapping, flags) >>
		       bpf_core_enum_value(enum mapping_flags, AS_EXITING) &
	       1;
}

static __always_inline enum evict_cause cause_of(struct live *l, void *ctx, struct inode *inode,
						 __u64 index, __u32 reclaim)
{
	struct task_struct *t = CAST(task_struct, l->task);
	__u64 regs = l->regs;
	__u64 id;

	if (READ(t, flags) & PF_KSWAPD)
		return EVICT_RECLAIM_KSWAPD;
	if (reclaim == RECLAIM_DIRECT)
		return EVICT_RECLAIM_DIRECT;
	if (reclaim == RECLAIM_MEMCG)
		return EVICT_RECLAIM_MEMCG;
	if (l->s.scope)
		return l->s.scope - 1;
	/* Truncation shrinks i_size before it drops pages; those of a file without a name go with
	 * the inode, when nobody has it open any more. */
	if ((!READ(inode, i_nlink) && inode_goes(inode)) ||
	    (__u64)READ(inode, i_size) <= index << page_shift)
		return EVICT_TRUNCATE;
	/* Of a thread of the kernel nothing shows where one piece of its work ends. */
	if (!l->regs && !(READ(t, flags) & PF_IO_WORKER))
		return cause_from_stack(l, ctx);
	id = READ(t, ioac.syscr) + (READ(t, ioac.syscw) << 24) +
	     ((l->regs ? (__u64)REGS_NR(regs) : 511) << 52) + ((__u64)REGS_ARG1(regs) << 44);
	if (l->s.cause_id != id + 1) {
		l->s.cause = cause_from_call(l, ctx);
		l->s.cause_id = id + 1;
		l->s.flags |= TASK_DIRTY;
	}
	return l->s.cause;
}

#endif
