/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mount tables as processes see them: one for each pair of mount namespace and root directory,
 * cached, bounded in number. Owns when a table is read again.
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

#endif
