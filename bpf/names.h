/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of files as programs send them, and what is remembered of a name. Owns layouts only.
 */
#ifndef CACHEMON_NAMES_H
#define CACHEMON_NAMES_H

#include "bpf/cachemon.h"

/*
 * A name record in the ring buffer: the components of a path from the leaf to the root, each
 * NUL-terminated; data_len bytes of them. Incomplete walks keep what was read.
 */
enum {
	NAME_UNLINKED = 1 << 0,	 /* the file has no link left */
	NAME_NO_MOUNT = 1 << 1,	 /* no mount leads there: the path starts at the fs root */
	NAME_TRUNCATED = 1 << 2, /* deeper or longer than the record */
	NAME_BLOCK_DEVICE = 1 << 3,
	NAME_NONE = 1 << 4,	 /* no dentry at all */
	NAME_LEAF_LAST = 1 << 5, /* the leaf comes last, after its directory's components */
	NAME_AS_ONE = 1 << 6,	 /* its subvolume is not known: the device is the filesystem's */
};

#define NAME_DATA_MAX 8192 /* more than any path that a call takes */
struct name_record {
	struct file_key file;
	__u32 tgid;
	__u32 flags;
	__u32 data_len;
	__u32 rdev;	 /* block devices: the device itself */
	__u32 super_dev; /* of the whole filesystem, as in mounts; 0: unknown */
	char fstype[16];
	char data[NAME_DATA_MAX];
};

/* Where a file's name was read and its value, to notice a change. The addresses are identities:
 * the dentry still names the file if it has the same inode. */
struct name_seen {
	__u64 signature;
	__u64 dentry;
	__u64 mount; /* struct mount; 0: none is known */
	__u64 inode; /* the dentry's; on overlayfs not the file's own */
	__u64 inode_id;
	__u32 tgid;
	__u32 used; /* by the job: 1 */
};

/* A walk from a dentry to the root, and the record it fills. In a map and not on the stack: there
 * the verifier would follow each value of off through the loop. */
struct name_work {
	__u64 dentry;
	__u64 mount;	 /* struct mount; 0: stay inside the filesystem */
	__u64 signature; /* of all that makes the path */
	__u32 off;
	__u32 flags; /* NAME_* */
	__u8 copy;   /* components into the record, not the signature alone */
	__u8 crossed;
	__u8 done;
	struct file_key key; /* what is looked for */
	struct name_seen seen;

	/* The directory whose components the record begins with, for the next file in it. Good for
	 * an epoch, and while neither its name nor its place is another. */
	__u64 dir; /* dentry; 0: none */
	__u64 dir_parent, dir_name, dir_mount;
	__u64 dir_signature, dir_factor;
	__u32 dir_epoch;
	__u32 dir_flags;
	__u32 dir_off;
	__u32 pad;

	__u64 factor; /* 31 to the power of the components that the signature is of */
	struct name_record rec;
};

#endif
