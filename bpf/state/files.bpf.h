/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which open file of the running task an event is about, from the descriptor of its system call. */
#ifndef FILES_BPF_H
#define FILES_BPF_H

#include "bpf/kernel/build.bpf.h"
#include OF_BUILD(regs.bpf.h)

/* The file of a descriptor of the running task; NULL for a bad number. */
static __always_inline struct file *file_of_fd(struct task_struct *t, __u64 fd)
{
	struct fdtable *fdt = READ(t, files, fdt);

	if (fd >= READ(fdt, max_fds))
		return NULL;
	return CAST(file, load_ptr((__u64)READ(fdt, fd) + fd * sizeof(void *)));
}

/* Whether this descriptor leads to the cache of the event. On overlayfs the descriptor has the
 * overlay's inode, and the cache belongs to a layer below. The event must then be the call's own
 * work, not a reclaim or a fault inside the call. */
static __always_inline bool file_leads_to(struct file *file, __u64 mapping)
{
	return (__u64)READ(file, f_mapping) == mapping ||
	       READ(file, f_inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC;
}

/* The path the task used for this inode, from the descriptor of its system call. own: the event is
 * the call's own work. */
static __always_inline struct file *file_of_call(struct live *l, struct inode *inode, bool own)
{
	struct task_struct *t = CAST(task_struct, l->task);
	__u64 regs = l->regs;
	struct file *file;
	long nr;

	if (!l->regs)
		return NULL;
	nr = REGS_NR(regs);
	if (nr == NR_read || nr == NR_pread64 || nr == NR_readv || nr == NR_preadv ||
	    nr == NR_preadv2 || nr == NR_splice || nr == NR_copy_file_range || nr == NR_readahead ||
	    nr == NR_fadvise64 || nr == NR_write || nr == NR_pwrite64 || nr == NR_writev ||
	    nr == NR_pwritev)
		file = file_of_fd(t, (__u32)REGS_ARG1(regs));
	else if (nr == NR_sendfile)
		file = file_of_fd(t, (__u32)REGS_ARG2(regs));
	else
		return NULL;
	if (!file)
		return NULL;
	if (own ? file_leads_to(file, (__u64)READ(inode, i_mapping))
		: READ(file, f_mapping) == READ(inode, i_mapping))
		return file;
	return NULL;
}

/* FMODE_BACKING of include/linux/fs.h. 6.14 moved it; the only type that shows this is another
 * change of the same release. */
static __always_inline __u32 fmode_backing_bit(void)
{
	return bpf_core_field_exists(struct dentry___short, d_shortname) ? 24 : 25;
}

/* Where the path is by which a file was opened. */
static __always_inline __u64 path_of(struct live *l, struct file *file)
{
	__u64 at = addr_of(l, file);

	if (READ(file, f_mode) & (1u << fmode_backing_bit()) &&
	    bpf_core_field_exists(struct backing_file, user_path))
		return at + bpf_core_field_offset(struct backing_file, user_path);
	return at + bpf_core_field_offset(struct file, f_path);
}

#endif
