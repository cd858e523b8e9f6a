/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of files as programs send them, and what programs keep of a name. Owns layouts only. */
#ifndef CACHEMON_NAMES_H
#define CACHEMON_NAMES_H

#include "bpf/cachemon.h"

/*
 * A name record in the ring buffer: the components of a path from the leaf to the root, each
 * NUL-terminated, data_len bytes in total. An incomplete walk keeps what it has read.
 */
enum {
	NAME_UNLINKED = 1 << 0,	 /* the file has no link left */
	NAME_NO_MOUNT = 1 << 1,	 /* no visible mount: the path starts at the filesystem's root */
	NAME_TRUNCATED = 1 << 2, /* deeper or longer than the record */
	NAME_BLOCK_DEVICE = 1 << 3,
	NAME_NONE = 1 << 4,	 /* no dentry at all */
	NAME_LEAF_LAST = 1 << 5, /* the leaf comes last, after its directory's components */
	NAME_AS_ONE = 1 << 6,	 /* its subvolume is unknown: the device is the filesystem's */
};

#define NAME_DATA_MAX 8192 /* more than any path that a call takes */
struct name_record {
	struct file_key file;
	__u32 tgid;
	__u32 flags;
	__u32 data_len;
	__u32 rdev;	 /* block devices: the device itself */
	__u32 super_dev; /* device of the whole filesystem, as in mounts; 0: unknown */
	char fstype[16];
	char data[NAME_DATA_MAX];
};

/* Where a file's name was read, and its value, to detect a change. The addresses are identities:
 * the dentry still names the file if it has the same inode. */
struct name_seen {
	__u64 signature;
	__u64 dentry;
	__u64 mount; /* struct mount; 0: unknown */
	__u64 inode; /* the dentry's inode; on overlayfs it differs from the file's */
	__u64 inode_id;
	__u32 tgid;
	__u32 used; /* the job that used it last; 0: none */
};

/* A walk from a dentry to the root, and the record that it fills. In a map instead of on the
 * stack, where the verifier would track each value of off through the loop. */
struct name_work {
	__u64 dentry;
	__u64 mount;	 /* struct mount; 0: stay inside the filesystem */
	__u64 signature; /* hash of all components */
	__u32 off;
	__u32 flags; /* NAME_* */
	__u8 copy;   /* write components to the record, not only the signature */
	__u8 crossed;
	__u8 done;
	struct file_key key; /* file whose name is looked for */
	struct name_seen seen;

	/* The directory whose components begin the record, for the next file in it. Valid for an
	 * epoch, while neither its name nor its place changes. */
	__u64 dir; /* dentry; 0: none */
	__u64 dir_parent, dir_name, dir_mount;
	__u64 dir_signature, dir_factor;
	__u32 dir_epoch;
	__u32 dir_flags;
	__u32 dir_off;
	__u32 pad;

	__u64 factor; /* 31 to the power of the number of components in the signature */
	struct name_record rec;
};

#endif
