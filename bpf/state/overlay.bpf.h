/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file below an overlay's file, which has the cache and the readahead state. Owns the way to
 * it.
 */
#ifndef OVERLAY_BPF_H
#define OVERLAY_BPF_H

#include "bpf/state/names.bpf.h"

/* The file that holds the pages of an overlay's file: its private data; from 6.14 the first of a
 * pair, whose second is the upper layer's file, opened when the file has been copied up since. */
static __always_inline bool file_is_one(__u64 file)
{
	struct address_space *mapping = READ(CAST(file, file), f_mapping);

	return mapping && READ(mapping, host, i_mapping) == mapping;
}

static __always_inline __u64 file_below(struct file *file)
{
	__u64 at = (__u64)READ(file, private_data), upper;

	if (file_is_one(at))
		return at;
	upper = load_ptr(at + sizeof(at));
	if (file_is_one(upper))
		return upper;
	at = load_ptr(at);
	return file_is_one(at) ? at : 0;
}

static __always_inline bool file_is_overlay(struct file *file)
{
	return READ(file, f_inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC;
}

/* The file that has the pages, for any file: overlays are at most two deep. */
static __always_inline struct file *file_of_pages(struct file *file)
{
	if (file_is_overlay(file))
		file = CAST(file, file_below(file));
	if (file_is_overlay(file))
		file = CAST(file, file_below(file));
	return file;
}

/* A file that an overlay opened below itself: its path is that of the overlay's file. In nested
 * overlays it is on a mount of its own that no path leads to. */
GLOBAL int file_is_below(struct live *l, __u64 file_addr, __u64 inode_addr)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct file *file = CAST(file, file_addr);
	struct path *path;
	__u64 mnt;

	if (!l || READ(file, f_mapping) != READ(inode, i_mapping))
		return 0;
	path = CAST(path, path_of(l, file));
	if (READ(path, dentry, d_inode) == inode)
		return 0;
	mnt = addr_of(l, READ(path, mnt)) - bpf_core_field_offset(struct mount, mnt);
	return !mount_is_detached(CAST(mount, mnt));
}

#ifdef CACHEMON_TRACES
static __always_inline bool trace_file_is(__u64 file, __u64 mapping)
{
	return file && (__u64)READ(CAST(file, file), f_mapping) == mapping;
}

/*
 * The private data of an overlay's file is the address of the file below. Since 6.14 it is the
 * address of a pair: the file of the layer on which it was opened, and the upper layer's file if it
 * was copied up since. The upper file, if there is one, leads to the cache.
 */
GLOBAL int trace_file_below(struct live *l, __u64 mapping)
{
	__u64 at, file;

	if (!l)
		return 0;
	at = addr_of(l, READ(CAST(file, l->note.file), private_data));
	if (trace_file_is(at, mapping)) {
		l->note.file = at;
		return 0;
	}
	file = load_ptr(at);
	if (!trace_file_is(file, mapping))
		file = load_ptr(at + sizeof(file));
	if (trace_file_is(file, mapping))
		l->note.file = file;
	return 0;
}

#endif

#endif
