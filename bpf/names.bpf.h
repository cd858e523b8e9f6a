/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the name of a file when it is first seen. Owns the walk from a dentry to the root, mounts
 * included, and which file of the task a cache event is about. User space assembles the path.
 */
#ifndef NAMES_BPF_H
#define NAMES_BPF_H

#include "maps.bpf.h"

#define NAME_DEPTH_MAX 160

/* The file behind a descriptor of the running task; NULL for a bad number. */
static __always_inline struct file *file_of_fd(struct task_struct *t, __u64 fd)
{
	struct fdtable *fdt = t->files->fdt;

	if (fd >= fdt->max_fds)
		return NULL;
	return CAST(file, load_ptr((__u64)fdt->fd + fd * sizeof(void *)));
}

/*
 * The path the task used for this inode, from the descriptor of its system call. On overlayfs the
 * descriptor's inode is the overlay's and the cache belongs to the layer below: the user's name is
 * the overlay's.
 */
static __always_inline struct file *file_of_call(struct live *l, struct inode *inode)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct pt_regs *regs = CAST(pt_regs, l->regs);
	struct file *file;
	long nr;

	if (!l->regs)
		return NULL;
	nr = REGS_NR(regs);
	if (nr == NR_read || nr == NR_pread64 || nr == NR_readv || nr == NR_preadv ||
	    nr == NR_preadv2 || nr == NR_splice || nr == NR_readahead || nr == NR_fadvise64 ||
	    nr == NR_write || nr == NR_pwrite64 || nr == NR_writev || nr == NR_pwritev)
		file = file_of_fd(t, (__u32)REGS_ARG1(regs));
	else if (nr == NR_sendfile)
		file = file_of_fd(t, (__u32)REGS_ARG2(regs));
	else
		return NULL;
	if (!file)
		return NULL;
	if (file->f_mapping == inode->i_mapping ||
	    file->f_inode->i_sb->s_magic == OVERLAYFS_SUPER_MAGIC)
		return file;
	return NULL;
}

struct name_walk {
	__u64 dentry;
	__u64 mount; /* struct mount; 0: stay inside the filesystem */
	struct name_record *rec;
	__u32 off;
	bool done;
};

static long name_step(__u32 i, struct name_walk *w)
{
	struct dentry *d = CAST(dentry, w->dentry);
	struct name_record *rec = w->rec;
	__u32 off = w->off;
	long n;

	if (w->mount) {
		struct mount *m = CAST(mount, w->mount);

		if (w->dentry == (__u64)m->mnt.mnt_root) {
			if ((__u64)m->mnt_parent == w->mount) {
				w->done = true;
				return 1;
			}
			w->dentry = (__u64)m->mnt_mountpoint;
			w->mount = (__u64)m->mnt_parent;
			return 0;
		}
	}
	if ((__u64)d->d_parent == w->dentry) {
		w->done = true;
		return 1;
	}
	if (off > NAME_DATA_MAX - 256)
		return 1;
	off &= NAME_DATA_MAX - 1;
	n = bpf_probe_read_kernel_str(rec->data + off, 256, d->d_name.name);
	if (n <= 0)
		return 1;
	w->off = off + n;
	w->dentry = (__u64)d->d_parent;
	return 0;
}

/* What changes when the file is renamed, or one of its three nearest directories. */
static __always_inline __u64 name_signature(struct dentry *d)
{
	struct dentry *p = d->d_parent, *g = p->d_parent;

	/* hash_len is salted with the parent's address: moving to another directory changes it. */
	return (d->d_name.hash_len * 3 ^ p->d_name.hash_len * 7 ^ g->d_name.hash_len * 11 ^
		(d->d_hash.pprev ? 0 : 2)) |
	       1;
}

static __always_inline void fstype_read(struct name_record *rec, struct inode *inode)
{
	bpf_probe_read_kernel_str(rec->fstype, sizeof(rec->fstype), inode->i_sb->s_type->name);
}

/* hint: the opened file when an event carries one, else 0. Sends nothing that was sent before. */
GLOBAL int name_send(struct live *l, __u64 inode_addr, __u64 hint, __u32 job)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct name_walk w = {};
	struct name_record *rec;
	struct file *file;
	struct file_key key;
	__u64 sig, *old;
	__u32 zero = 0, flags = 0, len;

	if (!l)
		return 0;
	file = file_of_call(l, inode);
	file_key_of(inode, &key);
	if (!file && hint)
		file = CAST(file, hint);
	if (file && (__u64)file->f_path.dentry) {
		w.dentry = (__u64)file->f_path.dentry;
		w.mount = addr_of(l, file->f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	} else {
		__u64 alias = addr_of(l, inode->i_dentry.first);

		flags |= alias ? NAME_NO_MOUNT : NAME_NONE;
		w.dentry = alias ? alias - bpf_core_field_offset(struct dentry, d_u) : 0;
	}
	if ((inode->i_mode & S_IFMT) == S_IFBLK)
		flags = NAME_BLOCK_DEVICE;
	sig = w.dentry ? name_signature(CAST(dentry, w.dentry)) : 1;
	old = bpf_map_lookup_elem(&named, &key);
	if (old && *old == sig)
		return 0;
	rec = bpf_map_lookup_elem(&name_scratch, &zero);
	if (!rec)
		return 0;
	w.rec = rec;
	if (w.dentry && !(flags & NAME_BLOCK_DEVICE)) {
		if (!CAST(dentry, w.dentry)->d_hash.pprev)
			flags |= NAME_UNLINKED;
		bpf_loop(NAME_DEPTH_MAX, name_step, &w, 0);
		if (!w.done)
			flags |= NAME_TRUNCATED;
	}
	rec->file = key;
	rec->job = job;
	rec->tgid = CAST(task_struct, l->task)->tgid;
	rec->flags = flags;
	rec->rdev = inode->i_rdev;
	fstype_read(rec, inode);
	len = w.off;
	if (len > NAME_DATA_MAX)
		len = NAME_DATA_MAX;
	rec->data_len = len;
	len += __builtin_offsetof(struct name_record, data);
	if (len > sizeof(*rec))
		len = sizeof(*rec);
	if (bpf_ringbuf_output(&names, rec, len, 0)) {
		__sync_fetch_and_add(&losses.ring_drops, 1);
		return 0;
	}
	bpf_map_update_elem(&named, &key, &sig, BPF_ANY);
	return 0;
}

#endif
