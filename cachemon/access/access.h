/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only way to open files named by a user: the database, reports, rules, notes, keys,
 * directories. A privileged process opens these with its invoker's rights, never its own, and
 * checks the type of what it opened. Owns the change of identity and the opening; base/file reads
 * the kernel's files (/proc, /sys).
 */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachemon/access/invoker.h"

/* The identity that the process had before access_enter(). */
struct access {
	bool switched;	 /* users and groups must be restored */
	bool unarmed;	 /* capabilities are */
	uint64_t rights; /* effective capabilities; a mask as in access/privileges */
	uid_t euid;
	gid_t egid;
	gid_t *groups;
	size_t nr_groups;
};

/*
 * Acts as the invoker until access_leave(): with the invoker's supplementary groups, effective gid
 * and uid, and without effective capabilities. Changes nothing for root without sudo. 0, or -errno
 * after which nothing has changed. Must not be nested. If the user does not change, other threads
 * keep their capabilities, so they must not open anything meanwhile; the thread of the progress
 * line does not.
 */
int access_enter(const struct invoker *inv, struct access *ret_saved);
void access_leave(struct access *saved);

enum access_kind {
	ACCESS_REGULAR,	  /* else -EINVAL, or -EISDIR for a directory */
	ACCESS_DIRECTORY, /* else -ENOTDIR */
	ACCESS_STREAM, /* a pipe, a socket or a device; else -EAGAIN, or -EISDIR for a directory */
};

/*
 * Opens path relative to dirfd (or AT_FDCWD) and checks the type with fstat(). flags and mode as
 * for open(2); adds close-on-exec and no controlling terminal. Does not wait for a peer unless a
 * stream is requested. Returns the descriptor, or -errno.
 */
int access_open(int dirfd, const char *path, int flags, mode_t mode, enum access_kind kind);

/* Reads a whole regular file into the caller's buffer, NUL-terminated. -EFBIG above max bytes. */
int access_read(int dirfd, const char *path, size_t max, char **ret_text, size_t *ret_len);

enum { ACCESS_DENIED_MAX = 256 };

/*
 * Why access to path was denied, as a suffix for strerror(): the user that was tried or, for a FUSE
 * filesystem that only serves its own user, what to do; "" for errors other than -EACCES and
 * -EPERM. Call it before access_leave().
 */
void access_denied(const char *path, int error, char ret_text[ACCESS_DENIED_MAX]);

/* "not a regular file" for a wrong type from access_open(), else strerror(). */
const char *access_strerror(int error);

#endif
