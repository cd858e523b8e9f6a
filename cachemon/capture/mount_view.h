/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The paths of files as processes see them. Mount tables: one per pair of mount namespace and root
 * directory, cached, limited in number; owns when a table is read again. Also finds cachemon's own
 * root directory as the kernel names it from the root of the mount namespace: below a chroot both
 * differ, and users know paths from their own root.
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

/* Whether pid is in cachemon's mount namespace; also true if it has exited and cannot be
 * checked. */
bool mount_views_shared(const struct mount_views *views, pid_t pid);

/*
 * The path of a file that is at inside (from the root of the filesystem on dev) as seen by pid,
 * else by cachemon: below the shortest mount point that shows it and that no other mount covers.
 * -ENOENT: no such mount.
 */
int mount_views_place(struct mount_views *views, pid_t pid, uint32_t dev, const char *inside,
		      char **ret_path);

/* "" if the root is that of the namespace, or unknown; the caller frees it. NULL: out of memory. */
char *own_root(const char *proc_root);
/* The part of path below root, as an absolute path; NULL: outside. */
const char *own_root_strip(const char *root, const char *path);

#endif
