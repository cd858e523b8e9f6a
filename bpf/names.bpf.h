/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the name of a file when it is first seen and when it has become another. Owns the walk from
 * a dentry to the root, mounts included, and which file of the task a cache event is about. User
 * space assembles the path.
 */
#ifndef NAMES_BPF_H
#define NAMES_BPF_H

#include "maps.bpf.h"

#define NAME_DEPTH_MAX 2100 /* components of the longest path that a call takes, and mounts */
#define NAME_LINKS_MAX 32
#define HINT_OWN       1

enum { SCRATCH_EVENT, SCRATCH_SWEEP };

/* Of a file without a path: all that is to be known of it was sent. */
#define SIGNATURE_NAMELESS 1

/* The file behind a descriptor of the running task; NULL for a bad number. */
static __always_inline struct file *file_of_fd(struct task_struct *t, __u64 fd)
{
	struct fdtable *fdt = t->files->fdt;

	if (fd >= fdt->max_fds)
		return NULL;
	return CAST(file, load_ptr((__u64)fdt->fd + fd * sizeof(void *)));
}

/*
 * Does this descriptor lead to that cache? On overlayfs the descriptor's inode is the overlay's and
 * the cache belongs to a layer below, so the call must be known to be about it: what it reclaims or
 * faults in on the way is not.
 */
static __always_inline bool file_leads_to(struct file *file, __u64 mapping)
{
	return (__u64)file->f_mapping == mapping ||
	       file->f_inode->i_sb->s_magic == OVERLAYFS_SUPER_MAGIC;
}

/* The path the task used for this inode, from the descriptor of its system call. own: the event is
 * the call's own work. */
static __always_inline struct file *file_of_call(struct live *l, struct inode *inode, bool own)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct pt_regs *regs = CAST(pt_regs, l->regs);
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
	if (own ? file_leads_to(file, (__u64)inode->i_mapping)
		: file->f_mapping == inode->i_mapping)
		return file;
	return NULL;
}

/* Mounts that no path leads to: unmounted while in use (NULL), or a filesystem's own (an error
 * pointer). What was read is then the path from the filesystem's root, or the end of one. */
static __always_inline bool mount_is_detached(struct mount *m)
{
	__u64 ns = (__u64)m->mnt_ns;

	return !ns || ns >= -4095ull;
}

static __always_inline int name_leave_mount(struct name_work *w)
{
	w->flags |= w->crossed ? NAME_TRUNCATED : NAME_NO_MOUNT;
	w->mount = 0;
	return w->crossed;
}

static long name_step(__u32 i, struct name_work **work)
{
	struct name_work *w = *work;
	struct dentry *d = CAST(dentry, w->dentry);
	__u32 off = w->off;
	long n;

	if (w->mount) {
		struct mount *m = CAST(mount, w->mount);

		if (w->dentry == (__u64)m->mnt.mnt_root) {
			if (mount_is_detached(m)) {
				if (name_leave_mount(w))
					return 1;
			} else if ((__u64)m->mnt_parent == w->mount) {
				w->done = true;
				return 1;
			} else {
				w->dentry = (__u64)m->mnt_mountpoint;
				w->mount = (__u64)m->mnt_parent;
				w->crossed = true;
				return 0;
			}
		}
	}
	if ((__u64)d->d_parent == w->dentry) {
		/* A place that was moved out of what its mount shows. */
		w->done = !w->mount || !name_leave_mount(w);
		return 1;
	}
	w->signature = w->signature * 31 + d->d_name.hash_len;
	w->dentry = (__u64)d->d_parent;
	if (!w->copy)
		return 0;
	if (off > NAME_DATA_MAX - 256)
		return 1;
	off &= NAME_DATA_MAX - 1;
	n = bpf_probe_read_kernel_str(w->rec.data + off, 256, d->d_name.name);
	if (n <= 0)
		return 1;
	w->off = off + n;
	return 0;
}

static __always_inline __u64 inode_id(struct inode *inode)
{
	return inode->i_ino * 0x9e3779b97f4a7c15ull + inode->i_generation;
}

/* Memory of a dentry that was freed may hold another's, or anything. */
static __always_inline bool name_is_alive(const struct name_seen *seen)
{
	struct dentry *d = CAST(dentry, seen->dentry);

	return seen->dentry && (__u64)d->d_inode == seen->inode &&
	       inode_id(CAST(inode, seen->inode)) == seen->inode_id;
}

static __always_inline void name_walk(const struct name_seen *seen, struct name_work *w, bool copy)
{
	struct dentry *d = CAST(dentry, seen->dentry);

	w->dentry = seen->dentry;
	w->mount = seen->mount;
	w->signature = d->d_hash.pprev ? 1 : 3;
	w->off = 0;
	w->flags = w->mount ? 0 : NAME_NO_MOUNT;
	w->copy = copy;
	w->crossed = false;
	w->done = false;
	if (!CAST(inode, seen->inode)->i_nlink) {
		w->flags |= NAME_UNLINKED;
		w->signature += 4;
	}
	bpf_loop(NAME_DEPTH_MAX, name_step, &w, 0);
	if (!w->done)
		w->flags |= NAME_TRUNCATED;
}

/* Sends the record as far as it is filled; 0 or an error that is counted. */
static __always_inline long name_output(struct name_record *rec, __u32 data_len)
{
	__u32 len = data_len > NAME_DATA_MAX ? NAME_DATA_MAX : data_len;

	rec->data_len = len;
	len += __builtin_offsetof(struct name_record, data);
	if (len > sizeof(*rec))
		len = sizeof(*rec);
	if (!bpf_ringbuf_output(&names, rec, len, 0))
		return 0;
	__sync_fetch_and_add(&losses.ring_drops, 1);
	return -1;
}

/* A file that has no path: a block device, which user space names, or one without a dentry. */
static __always_inline long name_output_bare(const struct file_key *key, struct inode *inode,
					     __u32 tgid, __u32 flags)
{
	__u32 scratch = SCRATCH_EVENT;
	struct name_work *w = bpf_map_lookup_elem(&name_scratch, &scratch);
	struct name_record *rec;

	if (!w)
		return -1;
	rec = &w->rec;
	rec->file = *key;
	rec->tgid = tgid;
	rec->flags = flags;
	rec->rdev = inode->i_rdev;
	bpf_probe_read_kernel_str(rec->fstype, sizeof(rec->fstype), inode->i_sb->s_type->name);
	return name_output(rec, 0);
}

/* Sends the name at seen unless it is the one that was sent. sb: the file's; 0: the file is behind
 * an overlay, its filesystem was told before. A mount that went away takes no name with it. */
static __noinline void name_publish(const struct file_key *key, struct name_seen *seen, __u64 sb,
				    __u32 scratch)
{
	struct name_work *w = bpf_map_lookup_elem(&name_scratch, &scratch);
	struct name_record *rec;

	if (!w)
		return;
	name_walk(seen, w, false);
	if (w->signature == seen->signature)
		return;
	if (scratch == SCRATCH_SWEEP && seen->mount && w->flags & (NAME_NO_MOUNT | NAME_TRUNCATED))
		return;
	name_walk(seen, w, true);
	rec = &w->rec;
	rec->file = *key;
	rec->tgid = seen->tgid;
	rec->flags = w->flags;
	rec->rdev = 0;
	rec->fstype[0] = 0;
	if (sb)
		bpf_probe_read_kernel_str(rec->fstype, sizeof(rec->fstype),
					  CAST(super_block, sb)->s_type->name);
	if (!name_output(rec, w->off))
		seen->signature = w->signature;
}

struct links_walk {
	__u64 next; /* alias of the dentry to look at */
	__u64 found;
};

static long link_step(__u32 i, struct links_walk *w)
{
	__u64 other = w->next - bpf_core_field_offset(struct dentry, d_u);

	if (!w->next)
		return 1;
	if (CAST(dentry, other)->d_hash.pprev) {
		w->found = other;
		return 1;
	}
	w->next = (__u64)CAST(dentry, other)->d_u.d_alias.next;
	return 0;
}

/* A name that was taken away from a file that has others: one of them. */
static __always_inline __u64 name_that_leads(__u64 dentry)
{
	struct dentry *d = CAST(dentry, dentry);
	struct links_walk w = {.found = dentry};

	if (d->d_hash.pprev || !d->d_inode->i_nlink)
		return dentry;
	w.next = (__u64)d->d_inode->i_dentry.first;
	bpf_loop(NAME_LINKS_MAX, link_step, &w, 0);
	return w.found;
}

/*
 * The name of an inode at an event of the running task: the path of the call's descriptor, of the
 * opened file that the event carries (hint; 0: none; HINT_OWN: the event is what the call asked
 * for), the one it had, or any it has in its filesystem. by_call: only the first will do. Returns 1
 * if it was the first. What was sent before is not sent again.
 */
GLOBAL int name_send(struct live *l, __u64 inode_addr, __u64 hint, int by_call)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct name_seen seen = {}, *old;
	struct file *file, *called;
	struct file_key key;

	if (!l)
		return 0;
	called = file_of_call(l, inode, hint == HINT_OWN);
	if (by_call && !called)
		return 0;
	file = called ? called : CAST(file, hint == HINT_OWN ? 0 : hint);
	file_key_of(inode, &key);
	old = bpf_map_lookup_elem(&named, &key);
	if ((inode->i_mode & S_IFMT) == S_IFBLK) {
		seen.signature = SIGNATURE_NAMELESS;
	} else if ((__u64)file && (__u64)file->f_path.dentry) {
		seen.dentry = name_that_leads((__u64)file->f_path.dentry);
		seen.mount =
			addr_of(l, file->f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	} else if (old && name_is_alive(old)) {
		seen = *old;
	} else if ((__u64)inode->i_dentry.first) {
		seen.dentry = addr_of(l, inode->i_dentry.first) -
			      bpf_core_field_offset(struct dentry, d_u);
		seen.dentry = name_that_leads(seen.dentry);
	} else {
		seen.signature = SIGNATURE_NAMELESS;
	}
	seen.tgid = CAST(task_struct, l->task)->tgid;
	if (!seen.dentry) {
		if ((old && old->signature == SIGNATURE_NAMELESS) ||
		    name_output_bare(&key, inode, seen.tgid,
				     (inode->i_mode & S_IFMT) == S_IFBLK ? NAME_BLOCK_DEVICE
									 : NAME_NONE))
			return !!called;
	} else {
		seen.inode = (__u64)CAST(dentry, seen.dentry)->d_inode;
		seen.inode_id = inode_id(CAST(inode, seen.inode));
		seen.signature = old ? old->signature : 0;
		name_publish(&key, &seen, (__u64)inode->i_sb, SCRATCH_EVENT);
		if (old && old->signature == seen.signature && old->dentry == seen.dentry &&
		    old->mount == seen.mount && old->inode_id == seen.inode_id)
			return !!called;
	}
	bpf_map_update_elem(&named, &key, &seen, BPF_ANY);
	return !!called;
}

/* Out of any event: has the name of a file that was seen become another? seen: a copy, since the
 * map may give the element to another file meanwhile. */
static __always_inline void name_check(const struct file_key *key, struct name_seen *seen)
{
	struct inode *inode = CAST(inode, seen->inode);
	struct name_seen *now;
	__u64 sb, before = seen->signature;

	if (!name_is_alive(seen))
		return;
	now = bpf_map_lookup_elem(&named, key);
	if (!now || now->dentry != seen->dentry || now->inode_id != seen->inode_id)
		return;
	sb = (__u64)inode->i_sb;
	if (inode->i_ino != key->ino || CAST(super_block, sb)->s_dev != key->dev)
		sb = 0;
	seen->dentry = name_that_leads(seen->dentry);
	name_publish(key, seen, sb, SCRATCH_SWEEP);
	if (seen->signature != before)
		bpf_map_update_elem(&named, key, seen, BPF_ANY);
}

#endif
