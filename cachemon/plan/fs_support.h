/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The visibility of files on a filesystem: collects the facts for plan/fs_cover.h, and the
 * readahead setting of its device. Owns the reading of procfs and sysfs for this.
 */
#ifndef FS_SUPPORT_H
#define FS_SUPPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachemon/plan/fs_cover.h"
#include "cachemon/access/mountinfo.h"

struct fs_support {
	char type[48];	      /* as in mountinfo; FS_BLOCK_DEVICE for a device node; "" unknown */
	char mount[PATH_MAX]; /* mount point as seen here; "" unknown */
	bool dax;
	enum fs_trial trial;
	enum fs_cover cover;
	char why[400]; /* what the cover means here: one sentence */
	unsigned int major, minor;
	long long read_ahead_kb; /* -1: unknown or none */
};

/* The filesystem of path; a device node means its device. direct: the counted direct reads, of
 * enum fs_direct. -errno of reading path. */
int fs_support_read(const char *path, unsigned int direct, struct fs_support *ret_fs);

/*
 * The part that reads procfs and sysfs below root: the mount's type and options, and the readahead
 * setting of device major:minor. path is a file there, NULL for the mount only; dax: its own
 * attribute. Fills all of ret_fs; unreadable values are unknown.
 */
void fs_support_describe(const char *root, uint64_t mount_id, unsigned int major,
			 unsigned int minor, const char *path, bool dax, unsigned int direct,
			 struct fs_support *ret_fs);

/* The cover of a mount by its type and options. Fills only type, mount, dax, cover and why. */
void fs_support_of_mount(const struct mount *m, unsigned int direct, struct fs_support *ret_fs);

/* Calls visit for each directory of an overlay's layers, with the upper one, from its superblock
 * options, until visit returns nonzero. Returns its last value. A path may be relative; its base
 * is then unknown. */
int fs_support_each_layer(const char *options, int (*visit)(const char *path, void *ctx),
			  void *ctx);

#endif
