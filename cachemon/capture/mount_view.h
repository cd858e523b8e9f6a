/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where files lie as processes see them. Mount tables: one for each pair of mount namespace and
 * root directory, cached, bounded in number; owns when a table is read again. And cachemon's own
 * root directory as the kernel names it when it walks up to the root of the mount namespace: below
 * a chroot both differ, and users know paths from their own root on.
 */
#ifndef MOUNT_VIEW_H
#define MOUNT_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mount_views;

int mount_views_new(const char *proc_root, struct mount_views **ret);
void mount_views_free(struct mount_views *views);

/* Tables of other namespaces are read again when next needed. */
void mount_views_refresh(struct mount_views *views);

/* Is pid in one's own mount namespace? Also when it is gone and cannot be asked. */
bool mount_views_shared(const struct mount_views *views, pid_t pid);

/*
 * The path of a file that lies at inside (from the root of the filesystem on dev) in the view of
 * pid, else in one's own: below the shortest mount point that shows it and that no other mount
 * covers. -ENOENT: no such mount.
 */
int mount_views_place(struct mount_views *views, pid_t pid, uint32_t dev, const char *inside,
		      char **ret_path);

/* "" where the root is that of the namespace, also when it is not known; the caller's. NULL: out
 * of memory. */
char *own_root(const char *proc_root);
/* The part of path below root, as an absolute path; NULL: it lies outside. */
const char *own_root_strip(const char *root, const char *path);

#endif
