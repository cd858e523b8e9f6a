/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where cachemon's own root directory lies, as the kernel names it when it walks up to the root of
 * the mount namespace: below a chroot both differ, and users know paths from their own root on.
 */
#ifndef OWN_ROOT_H
#define OWN_ROOT_H

/* "" where the root is that of the namespace, also when it cannot be told; the caller's. NULL: out
 * of memory. */
char *own_root(const char *proc_root);

/* What of path lies below root, as an absolute path; NULL: it lies outside. */
const char *own_root_strip(const char *root, const char *path);

#endif
