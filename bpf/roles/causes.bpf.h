/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a page is evicted, from the context of the delete event. Owns only the decision. Cheap facts
 * come first. A stack walk (about 3 us) is used only if nothing else shows the cause, and its
 * result is kept for the rest of that system call.
 */
#ifndef CAUSES_BPF_H
#define CAUSES_BPF_H

#include "bpf/state/live.bpf.h"
#include OF_BUILD(cause_stack.bpf.h)

enum { RECLAIM_NONE, RECLAIM_DIRECT, RECLAIM_MEMCG };

/* Whether the file is /proc/sys/vm/drop_caches: a proc file whose name begins with these
 * letters. */
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
	/* Truncation reduces i_size before it drops pages; pages of an unlinked file are evicted
	 * with the inode, when its last open file is closed. */
	if ((!READ(inode, i_nlink) && inode_goes(inode)) ||
	    (__u64)READ(inode, i_size) <= index << page_shift)
		return EVICT_TRUNCATE;
	/* Nothing shows where a kernel thread ends one piece of its work. */
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
