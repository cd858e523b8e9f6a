/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the name of a file when it is first seen and when it has changed. Owns the walk from a
 * dentry to the root, mounts included. User space assembles the path.
 */
#ifndef NAMES_BPF_H
#define NAMES_BPF_H

#include "bpf/state/files.bpf.h"
#include "bpf/state/pid_ns.bpf.h"
#include "bpf/state/rows.bpf.h"

#define NAME_DEPTH_MAX	 2100 /* components of the longest path that a call accepts, and mounts */
#define NAME_DEPTH_BASIC 128  /* without a helper's loop; a longer path is marked as cut */
#define NAME_LINKS_MAX	 32
#define HINT_OWN	 1

enum { SCRATCH_EVENT, SCRATCH_SWEEP };

/* For a file without a path: everything known was sent. */
#define SIGNATURE_NAMELESS 1

/* Mounts without a visible path: unmounted while in use (NULL), or internal to a filesystem (an
 * error pointer). The name is then the path from the filesystem's root, or the end of a path. */
static __always_inline bool mount_is_detached(struct mount *m)
{
	__u64 ns = (__u64)READ(m, mnt_ns);

	return !ns || ns >= -4095ull;
}

static __always_inline int name_leave_mount(struct name_work *w)
{
	w->flags |= w->crossed ? NAME_TRUNCATED : NAME_NO_MOUNT;
	w->mount = 0;
	return w->crossed;
}

STEP_CALLED name_step(__u32 i, struct name_work **work)
{
	struct name_work *w = *work;
	struct dentry *d = CAST(dentry, w->dentry);
	__u32 off = w->off;
	long n;

	if (w->mount) {
		struct mount *m = CAST(mount, w->mount);

		if (w->dentry == (__u64)READ(m, mnt.mnt_root)) {
			if (mount_is_detached(m)) {
				if (name_leave_mount(w))
					return 1;
			} else if ((__u64)READ(m, mnt_parent) == w->mount) {
				w->done = true;
				return 1;
			} else {
				w->dentry = (__u64)READ(m, mnt_mountpoint);
				w->mount = (__u64)READ(m, mnt_parent);
				w->crossed = true;
				return 0;
			}
		}
	}
	if ((__u64)READ(d, d_parent) == w->dentry) {
		/* A directory that was moved out of the part that its mount shows. */
		w->done = !w->mount || !name_leave_mount(w);
		return 1;
	}
	w->signature = w->signature * 31 + READ(d, d_name.hash_len);
	w->factor *= 31;
	w->dentry = (__u64)READ(d, d_parent);
	if (!w->copy)
		return 0;
	if (off > NAME_DATA_MAX - 256)
		return 1;
	barrier_var(off); /* the compiler knows it already, verifiers need to see it */
	off &= NAME_DATA_MAX - 1;
	n = bpf_probe_read_kernel_str(w->rec.data + off, 256, READ(d, d_name.name));
	if (n <= 0)
		return 1;
	w->off = off + n;
	return 0;
}

static __always_inline __u64 inode_id(struct inode *inode)
{
	return READ(inode, i_ino) * 0x9e3779b97f4a7c15ull + READ(inode, i_generation);
}

/* Freed memory of a dentry may hold another one, or anything else. */
static __always_inline bool name_is_alive(const struct name_seen *seen)
{
	struct dentry *d = CAST(dentry, seen->dentry);

	return seen->dentry && (__u64)READ(d, d_inode) == seen->inode &&
	       inode_id(CAST(inode, seen->inode)) == seen->inode_id;
}

/* Facts of a file at the end of its interval: it may have got its first link since it was read,
 * and a write extends a file after its pages were added. Below an overlay the name leads to
 * another inode. */
static __always_inline void row_at_end(struct file_row *row, const struct file_key *key,
				       const struct name_seen *seen)
{
	struct inode *inode = CAST(inode, seen->inode);

	if (!name_is_alive(seen))
		return;
	row->flags = (row->flags & ~ROW_DELETED) | (READ(inode, i_nlink) ? 0 : ROW_DELETED);
	if (READ(inode, i_ino) != key->ino || file_dev(inode) != key->dev)
		return;
	row->size_bytes = READ(inode, i_size);
	row->flags |= ROW_SIZED;
}

static __always_inline bool name_is_unlinked(const struct name_seen *seen)
{
	return !READ(CAST(inode, seen->inode), i_nlink);
}

/* The beginning of a signature, before the leaf. */
static __always_inline __u64 signature_begin(const struct name_seen *seen)
{
	return (READ(CAST(dentry, seen->dentry), d_hash.pprev) ? 1 : 3) +
	       (name_is_unlinked(seen) ? 4 : 0);
}

static __always_inline void name_climb(struct name_work *w, __u64 dentry, __u64 mount,
				       __u64 signature, bool copy)
{
	w->dentry = dentry;
	w->mount = mount;
	w->signature = signature;
	w->factor = 1;
	w->off = 0;
	w->flags = mount ? 0 : NAME_NO_MOUNT;
	w->copy = copy;
	w->crossed = false;
	w->done = false;
	LOOP(NAME_DEPTH_MAX, NAME_DEPTH_BASIC, name_step, &w);
	if (!w->done)
		w->flags |= NAME_TRUNCATED;
}

static __always_inline void name_walk(const struct name_seen *seen, struct name_work *w, bool copy)
{
	w->dir = 0;
	name_climb(w, seen->dentry, seen->mount, signature_begin(seen), copy);
	if (name_is_unlinked(seen))
		w->flags |= NAME_UNLINKED;
}

#define NAME_LEAF_ROOM 512 /* bytes of the record for the leaf; a power of two */

/* Begins the record with this directory. */
static __always_inline bool name_of_dir(struct name_work *w, __u64 dir, __u64 mount)
{
	struct dentry *d = CAST(dentry, dir);

	if (w->dir == dir && w->dir_mount == mount && w->dir_epoch == shared.epoch &&
	    w->dir_parent == (__u64)READ(d, d_parent) && w->dir_name == READ(d, d_name.hash_len))
		return true;
	w->dir = 0;
	w->dir_epoch = shared.epoch;
	w->dir_mount = mount;
	w->dir_parent = (__u64)READ(d, d_parent);
	w->dir_name = READ(d, d_name.hash_len);
	name_climb(w, dir, mount, 0, true);
	if (!w->done || w->off > NAME_DATA_MAX - NAME_LEAF_ROOM)
		return false;
	w->dir_signature = w->signature;
	w->dir_factor = w->factor;
	w->dir_flags = w->flags;
	w->dir_off = w->off;
	w->dir = dir;
	return true;
}

/*
 * The name of a file at an event. Files of one directory come in sequence, so the directory's part
 * is read once. False: the file is the root of a mount, or the path is too long: a full walk is
 * needed.
 */
static __always_inline bool name_beside(struct name_work *w, struct name_seen *seen)
{
	struct dentry *d = CAST(dentry, seen->dentry);
	__u64 signature;
	__u32 off;
	long n;

	if ((__u64)READ(d, d_parent) == seen->dentry ||
	    (seen->mount && seen->dentry == (__u64)READ(CAST(mount, seen->mount), mnt.mnt_root)) ||
	    !name_of_dir(w, (__u64)READ(d, d_parent), seen->mount))
		return false;
	signature = signature_begin(seen) * 31 + READ(d, d_name.hash_len);
	w->signature = signature * w->dir_factor + w->dir_signature;
	w->flags = w->dir_flags | NAME_LEAF_LAST | (name_is_unlinked(seen) ? NAME_UNLINKED : 0);
	w->off = w->dir_off;
	if (w->signature == seen->signature)
		return true;
	off = w->off;
	if (off > NAME_DATA_MAX - NAME_LEAF_ROOM)
		return false;
	barrier_var(off);
	off &= NAME_DATA_MAX - 1;
	n = bpf_probe_read_kernel_str(w->rec.data + off, 256, READ(d, d_name.name));
	if (n <= 0)
		return false;
	w->off = off + n;
	return true;
}

/* Sends the filled part of the record; 0, or an error that is counted. */
static __always_inline long name_output(struct name_record *rec, __u32 data_len)
{
	__u32 len = data_len > NAME_DATA_MAX ? NAME_DATA_MAX : data_len;

	rec->data_len = len;
	len += __builtin_offsetof(struct name_record, data);
	if (len > sizeof(*rec))
		len = sizeof(*rec);
	if (!bpf_ringbuf_output(&names, rec, len, 0))
		return 0;
	__sync_fetch_and_add(&shared.losses.ring_drops, 1);
	return -1;
}

/* A file without a path: a block device, which user space names, or one without a dentry. */
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
	rec->rdev = READ(inode, i_rdev);
	rec->super_dev = READ(inode, i_sb, s_dev);
	bpf_probe_read_kernel_str(rec->fstype, sizeof(rec->fstype),
				  READ(inode, i_sb, s_type, name));
	return name_output(rec, 0);
}

/* Sends the name at seen unless it was the last one sent. sb: the file's; 0: the file is below
 * an overlay, whose filesystem was sent before. An unmounted filesystem leaves the name in
 * place. */
static __noinline void name_publish(const struct file_key *key, struct name_seen *seen, __u64 sb,
				    __u32 scratch)
{
	struct name_work *w = bpf_map_lookup_elem(&name_scratch, &scratch);
	struct name_record *rec;
	bool copied;

	if (!w)
		return;
	/* If a walk is expensive to verify there is only one, and its copy may be unnecessary. */
	copied = NAMES_AT_EVENTS && scratch == SCRATCH_EVENT && name_beside(w, seen);
	if (!copied)
		name_walk(seen, w, !NAMES_AT_EVENTS);
	if (w->signature == seen->signature)
		return;
	if (scratch == SCRATCH_SWEEP && seen->mount && w->flags & (NAME_NO_MOUNT | NAME_TRUNCATED))
		return;
	if (NAMES_AT_EVENTS && !copied)
		name_walk(seen, w, true);
	rec = &w->rec;
	rec->file = *key;
	rec->tgid = seen->tgid;
	rec->flags = w->flags;
	rec->rdev = 0;
	rec->super_dev = 0;
	rec->fstype[0] = 0;
	if (sb) {
		rec->super_dev = READ(CAST(super_block, sb), s_dev);
		rec->flags |= subvolumes_are_one(CAST(super_block, sb)) ? NAME_AS_ONE : 0;
		bpf_probe_read_kernel_str(rec->fstype, sizeof(rec->fstype),
					  READ(CAST(super_block, sb), s_type, name));
	}
	if (!name_output(rec, w->off))
		seen->signature = w->signature;
}

/* Where in a dentry the list of its inode's names continues. */
static __always_inline __u64 alias_offset(void)
{
	if (bpf_core_field_exists(struct dentry___anon, d_alias))
		return bpf_core_field_offset(struct dentry___anon, d_alias);
	return bpf_core_field_offset(struct dentry, d_u);
}

struct links_walk {
	__u64 next; /* alias of the dentry to check */
	__u64 found;
};

STEP link_step(__u32 i, struct links_walk *w)
{
	__u64 other = w->next - alias_offset();

	if (!w->next)
		return 1;
	if (READ(CAST(dentry, other), d_hash.pprev)) {
		w->found = other;
		return 1;
	}
	w->next = (__u64)READ(CAST(hlist_node, w->next), next);
	return 0;
}

/* Another name of a file, one of whose names was removed. */
static __always_inline __u64 name_that_leads(__u64 dentry)
{
	struct dentry *d = CAST(dentry, dentry);
	struct links_walk w = {.found = dentry};

	if (READ(d, d_hash.pprev) || !READ(d, d_inode, i_nlink))
		return dentry;
	w.next = (__u64)READ(d, d_inode, i_dentry.first);
	LOOP(NAME_LINKS_MAX, NAME_LINKS_MAX, link_step, &w);
	return w.found;
}

/* Each of many jobs has an account of its own, which has not seen the names of another job. */
static __always_inline bool name_is_due(const struct live *l, const struct name_seen *old)
{
	return MANY_JOBS && config.job_hierarchies && l->s.job != JOB_OTHERS &&
	       old->used != l->s.job;
}

/* Finds where to read the name of an inode at this event, into scratch; see name_send().
 * Separate from the reading, because both together would exceed the stack. */
enum { NAME_NOT_ASKED, NAME_OF_CALL, NAME_OF_OTHER };

GLOBAL int name_find(struct live *l, __u64 inode_addr, __u64 hint, int by_call)
{
	struct inode *inode = CAST(inode, inode_addr);
	__u32 scratch = SCRATCH_EVENT;
	struct name_work *w = bpf_map_lookup_elem(&name_scratch, &scratch);
	struct name_seen *seen, *old;
	struct file *file, *called;
	struct path *path;

	if (!l || !w)
		return NAME_NOT_ASKED;
	called = file_of_call(l, inode, hint == HINT_OWN);
	if (by_call && !called)
		return NAME_NOT_ASKED;
	file = called ? called : CAST(file, hint == HINT_OWN ? 0 : hint);
	path = CAST(path, (__u64)file ? path_of(l, file) : 0);
	seen = &w->seen;
	__builtin_memset(seen, 0, sizeof(*seen));
	file_key_of(inode, &w->key);
	old = bpf_map_lookup_elem(&named, &w->key);
	if ((READ(inode, i_mode) & S_IFMT) == S_IFBLK) {
		seen->signature = SIGNATURE_NAMELESS;
	} else if ((__u64)file && (__u64)READ(path, dentry)) {
		seen->dentry = addr_of(l, READ(path, dentry));
		seen->mount =
			addr_of(l, READ(path, mnt)) - bpf_core_field_offset(struct mount, mnt);
	} else if (old && name_is_alive(old)) {
		*seen = *old;
	} else if ((__u64)READ(inode, i_dentry.first)) {
		seen->dentry = addr_of(l, READ(inode, i_dentry.first)) - alias_offset();
	} else {
		seen->signature = SIGNATURE_NAMELESS;
	}
	seen->tgid = tgid_in(&shared.proc_pids, CAST(task_struct, l->task));
	if (seen->dentry) {
		if (NAMES_AT_EVENTS)
			seen->dentry = name_that_leads(seen->dentry);
		seen->inode = addr_of(l, READ(CAST(dentry, seen->dentry), d_inode));
		seen->inode_id = inode_id(CAST(inode, seen->inode));
		seen->signature = old && !name_is_due(l, old) ? old->signature : 0;
	}
	return called ? NAME_OF_CALL : NAME_OF_OTHER;
}

/* Sends the name of an inode at an event of the running task. In order of preference: the path of
 * the call's descriptor, that of the opened file in the event (hint; 0: none; HINT_OWN: the call
 * requested the event), the file's previous name, or any name in its filesystem. by_call: only the
 * first is acceptable. Returns 1 if it was the first. A name that was already sent is not sent
 * again. */
GLOBAL int name_send(struct live *l, __u64 inode_addr, __u64 hint, int by_call)
{
	struct inode *inode = CAST(inode, inode_addr);
	int found = name_find(l, inode_addr, hint, by_call);
	__u32 scratch = SCRATCH_EVENT;
	struct name_work *w = bpf_map_lookup_elem(&name_scratch, &scratch);
	struct name_seen *old;
	bool known;

	if (!l || found == NAME_NOT_ASKED || !w)
		return 0;
	old = bpf_map_lookup_elem(&named, &w->key);
	known = old && (l->s.job == JOB_OTHERS || old->used == l->s.job);
	w->seen.used = l->s.job ?: old ? old->used : JOB_OTHERS;
	if (!w->seen.dentry) {
		if (old && old->signature == SIGNATURE_NAMELESS) {
			if (known)
				return found == NAME_OF_CALL;
		} else if (name_output_bare(&w->key, inode, w->seen.tgid,
					    (READ(inode, i_mode) & S_IFMT) == S_IFBLK
						    ? NAME_BLOCK_DEVICE
						    : NAME_NONE)) {
			return found == NAME_OF_CALL;
		}
	} else {
		if (NAMES_AT_EVENTS)
			name_publish(&w->key, &w->seen, addr_of(l, READ(inode, i_sb)),
				     SCRATCH_EVENT);
		if (known && old->signature == w->seen.signature && old->dentry == w->seen.dentry &&
		    old->mount == w->seen.mount && old->inode_id == w->seen.inode_id)
			return found == NAME_OF_CALL;
	}
	bpf_map_update_elem(&named, &w->key, &w->seen, BPF_ANY);
	*used_files_slot(w->key.ino) = 1;
	return found == NAME_OF_CALL;
}

/* A file that a process has open when it joins the job: no hook may see its reads of cached
 * pages. The name is sent when the file is first counted. */
struct open_files {
	struct task_struct *task;
	__u32 job;
};

STEP name_open_step(__u32 fd, struct open_files *x)
{
	struct file *file = file_of_fd(x->task, fd);
	struct name_seen seen = {.used = x->job};
	struct file_key key;
	struct inode *inode;

	if (!file)
		return 0;
	inode = READ(file, f_mapping, host);
	if ((READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	file_key_of(inode, &key);
	seen.dentry = (__u64)READ(file, f_path.dentry);
	seen.mount = (__u64)READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	seen.inode = (__u64)READ(CAST(dentry, seen.dentry), d_inode);
	seen.inode_id = inode_id(CAST(inode, seen.inode));
	bpf_map_update_elem(&named, &key, &seen, BPF_NOEXIST);
	*used_files_slot(key.ino) = 1;
	return 0;
}

#define OPEN_FILES_MAX	 (1 << 16)
#define OPEN_FILES_BASIC 64

static __always_inline void names_open(__u64 task, __u32 job)
{
	struct open_files x = {CAST(task_struct, task), job};
	__u32 nr = READ(x.task, files, fdt, max_fds);

	LOOP(nr < OPEN_FILES_MAX ? nr : OPEN_FILES_MAX, OPEN_FILES_BASIC, name_open_step, &x);
}

/* The job that used the file last: its evicted pages count for the job, whichever task brought them
 * in; with many jobs, only those that none of them brought in. Pages of a block device are mostly
 * metadata of other files. */
static __always_inline __u32 file_used_by(struct inode *inode, const struct file_key *file)
{
	struct name_seen *seen;

	if ((READ(inode, i_mode) & S_IFMT) != S_IFREG || inode_in_memory(inode))
		return JOB_OTHERS;
	seen = bpf_map_lookup_elem(&named, file);
	return seen && (!many_jobs() || job_is_live(seen->used)) ? seen->used : JOB_OTHERS;
}

/* Outside events: whether a file's name has changed. seen: a copy, because the map may give the
 * element to another file meanwhile. */
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
	sb = (__u64)READ(inode, i_sb);
	if (READ(inode, i_ino) != key->ino || file_dev(inode) != key->dev)
		sb = 0;
	seen->dentry = name_that_leads(seen->dentry);
	name_publish(key, seen, sb, SCRATCH_SWEEP);
	if (seen->signature != before)
		bpf_map_update_elem(&named, key, seen, BPF_ANY);
}

#endif
