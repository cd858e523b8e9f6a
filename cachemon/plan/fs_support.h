/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What cachemon can see of files on a filesystem: whether their data passes through the hooks of
 * the page cache, and the read-ahead setting of their device. Owns the list of filesystems.
 */
#ifndef FS_SUPPORT_H
#define FS_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

enum fs_cover {
	FS_EXACT,	/* every cached read and write passes through the hooks */
	FS_LAYER_BELOW, /* counted on the filesystem underneath, under its inodes */
	FS_PARTLY,
	FS_OUTSIDE, /* the data is not in the page cache, or not by its hooks */
	FS_UNKNOWN, /* nobody has checked */
};

struct fs_support {
	char type[48]; /* as in mountinfo; "block device" for a device node; "" unknown */
	bool dax;
	enum fs_cover cover;
	const char *why; /* what the cover means here, one sentence */
	unsigned int major, minor;
	long long read_ahead_kb; /* -1: unknown or none */
};

/* "exact", "layer below", "partly", "outside", "unknown". */
const char *fs_cover_name(enum fs_cover cover);
enum fs_cover fs_support_classify(const char *type, bool dax, const char **ret_why);

/* What path lives on; a device node stands for its device. -errno of looking at path. */
int fs_support_read(const char *path, struct fs_support *ret_fs);

/*
 * The part behind it that reads procfs and sysfs, below root: the mount's type and options and
 * the read-ahead of device major:minor. Fills all of ret_fs, unknown where unreadable.
 */
void fs_support_describe(const char *root, uint64_t mount_id, unsigned int major,
			 unsigned int minor, struct fs_support *ret_fs);

#endif
