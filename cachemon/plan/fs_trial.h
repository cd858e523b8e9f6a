/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether reads of a file go through the page cache, found out by one: FUSE servers decide it anew
 * with each open, and no flag of the mount tells.
 */
#ifndef FS_TRIAL_H
#define FS_TRIAL_H

#include "cachemon/plan/fs_cover.h"

/* Reads the first byte. FS_TRIAL_NONE: no regular file, empty, or the kernel does not tell. */
enum fs_trial fs_trial_read(const char *path);

#endif
