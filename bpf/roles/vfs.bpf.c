// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls of files and directories by each job, as they return to their callers: many jobs only. Seen
 * either at the end of each system call of the machine, or at the end of the functions that do the
 * calls' work. A failed lookup ends in neither vfs_mkdir() nor vfs_unlink(), so it is the callers
 * of these that are hooked. Owns the kinds of calls and what counts.
 */
#include "bpf/roles/hooks.bpf.h"

/* 1 + enum vfs_call of each system call. */
static const __u8 vfs_calls[512] = {
	[NR_read] = 1 + VFS_READ,      [NR_pread64] = 1 + VFS_READ,    [NR_readv] = 1 + VFS_READ,
	[NR_preadv] = 1 + VFS_READ,    [NR_preadv2] = 1 + VFS_READ,    [NR_write] = 1 + VFS_WRITE,
	[NR_pwrite64] = 1 + VFS_WRITE, [NR_writev] = 1 + VFS_WRITE,    [NR_pwritev] = 1 + VFS_WRITE,
	[NR_pwritev2] = 1 + VFS_WRITE, [NR_openat] = 1 + VFS_OPEN,     [NR_openat2] = 1 + VFS_OPEN,
	[NR_mkdirat] = 1 + VFS_MKDIR,  [NR_unlinkat] = 1 + VFS_UNLINK, ARCH_VFS_CALLS};

/* VFS_NR: none of them. */
static __always_inline __u32 vfs_call_of(long nr)
{
	return (unsigned long)nr < sizeof(vfs_calls) && vfs_calls[nr] ? vfs_calls[nr] - 1 : VFS_NR;
}

/* A signal ended it before it did anything. The kernel begins it again, or it fails with EINTR,
 * which is decided later. */
static __always_inline bool vfs_is_interrupted(long ret)
{
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
	       ret == -ERESTART_RESTARTBLOCK;
}

/* The device of a file whose data comes from a disk or a server; 0: another kind of file. */
static __always_inline __u32 vfs_dev(struct file *file)
{
	struct inode *inode = READ(file_of_pages(file), f_mapping, host);
	struct super_block *sb = READ(inode, i_sb);

	if ((READ(inode, i_mode) & S_IFMT) != S_IFREG ||
	    (!(READ(sb, s_dev) >> 20) && !READ(sb, s_bdi, ra_pages)))
		return 0;
	return file_dev(inode);
}

/* NULL: there is no room for another one. */
static __always_inline struct vfs_device *vfs_device_of(struct job_row *job, __u32 dev)
{
	for (int i = 0; i < VFS_DEVICES; i++) {
		struct vfs_device *d = &job->vfs_of[i];

		if (!d->dev)
			d->dev = dev;
		if (d->dev == dev)
			return d;
	}
	return NULL;
}

/* file: of a read or write. */
static __always_inline int vfs_charge(struct live *l, __u32 call, long ret, struct file *file)
{
	__u32 slot = own_slot(l->s.job), dev;
	__u64 did = ret > 0 ? ret : 0;
	struct vfs_device *device;
	struct job_row *job;

	if (l->s.job == JOB_OTHERS || call >= VFS_NR || vfs_is_interrupted(ret))
		return 0;
	job = bpf_map_lookup_elem(&jobs, &slot);
	if (!job)
		return 0;
	if (call == VFS_OPEN) {
		file = ret < 0 ? NULL : file_of_fd(CAST(task_struct, l->task), (__u32)ret);
		did = file && READ(file, f_mode) & FMODE_CREATED;
	}
	job->vfs.calls[call]++;
	if (ret < 0)
		job->vfs.errors[call]++;
	if (call > VFS_OPEN)
		return 0;
	job->vfs.did[call] += did;
	dev = file ? vfs_dev(file) : 0;
	device = dev ? vfs_device_of(job, dev) : NULL;
	if (device) {
		device->calls[call]++;
		device->did[call] += did;
	}
	return 0;
}

/* A descriptor without a file ends a read or write before it reaches a file. */
static __always_inline int vfs_call(struct live *l, long ret)
{
	__u64 regs = l->regs;
	struct file *file = NULL;
	__u32 call;

	if (l->s.job == JOB_OTHERS || !regs || regs_are_mixed(CAST(task_struct, l->task), regs))
		return 0;
	call = vfs_call_of(REGS_NR(regs));
	if (call == VFS_UNLINK && REGS_NR(regs) == NR_unlinkat && REGS_ARG3(regs) & AT_REMOVEDIR)
		call = VFS_RMDIR;
	if (call <= VFS_WRITE) {
		file = file_of_fd(CAST(task_struct, l->task), (__u32)REGS_ARG1(regs));
		if (!file && ret == -EBADF)
			return 0;
	}
	return vfs_charge(l, call, ret, file);
}

/* Costs every system call of the machine, so that other calls end here at once. */
SEC("?tp_btf/sys_exit")
int BPF_PROG(vfs_call_tp, struct pt_regs *regs, long ret)
{
	if (!many_jobs() || (!REGS_COMPAT(regs) && vfs_call_of(REGS_NR_NATIVE(regs)) == VFS_NR))
		return 0;
	return WITH_LIVE(l, EV_VFS, vfs_call(l, ret));
}

#define VFS_END(function, name, call, file, ...)                                                   \
	SEC("?fexit/" #function)                                                                   \
	int BPF_PROG(name##_x, __VA_ARGS__)                                                        \
	{                                                                                          \
		if (!many_jobs())                                                                  \
			return 0;                                                                  \
		return WITH_LIVE(l, EV_VFS, vfs_charge(l, call, ret, file));                       \
	}

VFS_END(vfs_read, vfs_read, VFS_READ, PLAIN(file, at), struct file *at, char *to, size_t size,
	long long *pos, long ret)
VFS_END(vfs_readv, vfs_readv, VFS_READ, PLAIN(file, at), struct file *at, void *vec,
	unsigned long nr, long long *pos, int flags, long ret)
VFS_END(vfs_write, vfs_write, VFS_WRITE, PLAIN(file, at), struct file *at, char *from, size_t size,
	long long *pos, long ret)
VFS_END(vfs_writev, vfs_writev, VFS_WRITE, PLAIN(file, at), struct file *at, void *vec,
	unsigned long nr, long long *pos, int flags, long ret)
/* Kernels differ in the type of the results, all of which are as large as an int. */
VFS_END(do_sys_openat2, vfs_open, VFS_OPEN, NULL, int dir, char *path, void *how, int ret)
VFS_END(do_mkdirat, vfs_mkdir, VFS_MKDIR, NULL, int dir, void *path, int mode, int ret)
VFS_END(do_rmdir, vfs_rmdir, VFS_RMDIR, NULL, int dir, void *path, int ret)
VFS_END(do_unlinkat, vfs_unlink, VFS_UNLINK, NULL, int dir, void *path, int ret)
/* Their names in Linux 7.2. */
VFS_END(filename_mkdirat, name_mkdir, VFS_MKDIR, NULL, int dir, void *path, int mode, int ret)
VFS_END(filename_rmdir, name_rmdir, VFS_RMDIR, NULL, int dir, void *path, int ret)
VFS_END(filename_unlinkat, name_unlink, VFS_UNLINK, NULL, int dir, void *path, int ret)
