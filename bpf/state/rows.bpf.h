/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of counters. Owns the keys of files, and the rows of a generation that all CPUs share, one
 * per file: created on demand; when the map is full, counts go to the rest row, so that totals stay
 * exact. cells.bpf.h of the build counts events in a row.
 */
#ifndef ROWS_BPF_H
#define ROWS_BPF_H

#include "bpf/state/maps.bpf.h"

static const struct file_row zero_row;

/*
 * For a file of btrfs: the device of its subvolume, because a snapshot has the same inode numbers
 * and generations as its origin. If the types of its module are unknown it is dev, as for the
 * internal trees. Uses offsets, because programs can get the kernel's own types, but not those of
 * modules.
 */
static __noinline __u32 subvolume_dev(struct inode *inode, __u32 dev)
{
	__u64 at = (__u64)inode, root;
	__u32 anon;

	if (!bpf_core_field_exists(struct btrfs_root, anon_dev))
		return dev;
	at -= bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	root = load_ptr(at + bpf_core_field_offset(struct btrfs_inode, root));
	anon = load_ptr(root + bpf_core_field_offset(struct btrfs_root, anon_dev));
	return anon ? anon : dev;
}

static __always_inline bool subvolumes_are_one(struct super_block *sb)
{
	return !bpf_core_field_exists(struct btrfs_root, anon_dev) &&
	       READ(sb, s_magic) == BTRFS_SUPER_MAGIC;
}

/* The device of a file, as in stat(2). Devices of disks have a major number. */
static __always_inline __u32 file_dev(struct inode *inode)
{
	struct super_block *sb = READ(inode, i_sb);
	__u32 dev = READ(sb, s_dev);

	if (dev >> 20 || READ(sb, s_magic) != BTRFS_SUPER_MAGIC)
		return dev;
	return subvolume_dev(inode, dev);
}

static __always_inline void file_key_of(struct inode *inode, struct file_key *key)
{
	key->ino = READ(inode, i_ino);
	key->dev = file_dev(inode);
	key->gen = READ(inode, i_generation);
}

/* Whether its pages count: it is a regular file or a block device. */
static __always_inline bool inode_counts(struct inode *inode)
{
	__u16 type = READ(inode, i_mode) & S_IFMT;

	return type == S_IFREG || type == S_IFBLK;
}

/* Shared memory and files of tmpfs: some of their faults and the removal of their pages pass hooks
 * of the page cache, their reads and the arrival of their pages do not. So nothing is counted. */
static __always_inline bool inode_in_memory(struct inode *inode)
{
	return READ(inode, i_sb, s_magic) == TMPFS_MAGIC;
}

/* *ret_new is set if it was created now: the caller may send the file's name. NULL only if even
 * the rest row is missing, which user space creates before each switch. */
static __noinline struct file_row *shared_row(const struct file_key *file, __u32 job,
					      __u32 at_epoch, bool *ret_new)
{
	struct file_row_key key = {.file = *file, .job = job};
	struct file_row *row;
	bool b = at_epoch & 1;
	long refused;

	row = b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
	if (row)
		return row;
	refused = b ? bpf_map_update_elem(&rows_b, &key, &zero_row, BPF_NOEXIST)
		    : bpf_map_update_elem(&rows_a, &key, &zero_row, BPF_NOEXIST);
	row = b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
	if (row && refused) /* another CPU was faster */
		return row;
	if (row) {
		__sync_fetch_and_add(&shared.rows_used, 1);
		*ret_new = true;
		return row;
	}
	__sync_fetch_and_add(&shared.losses.map_full, 1);
	key.file = (struct file_key){};
	return b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
}

#endif
