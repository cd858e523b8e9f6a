/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only way to files that somebody named: the database, reports, rules, notes, keys,
 * directories. A privileged process reaches them with the rights of its invoker, never with its
 * own, and looks at what it has opened. Owns the change of identity and the opening; files of the
 * kernel (/proc, /sys) are base/file's.
 *
 * A verb that measures surrounds each access with access_enter() and access_leave(). The other
 * verbs, and the child of invoker_run(), have become the invoker for good before they open
 * anything.
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
	bool switched;	 /* users and groups are to be set again */
	bool unarmed;	 /* capabilities are */
	uint64_t rights; /* effective capabilities; a mask as access/privileges has */
	uid_t euid;
	gid_t egid;
	gid_t *groups;
	size_t nr_groups;
};

/*
 * Act as the invoker until access_leave(): supplementary groups, effective gid and uid are the
 * invoker's, and no capability is effective. Changes nothing for root without sudo. 0 or -errno,
 * and then nothing has changed. Not to be nested. Other threads keep their capabilities where the
 * user does not change, so they must open nothing meanwhile: the progress line's does not.
 */
int access_enter(const struct invoker *inv, struct access *ret_saved);
void access_leave(struct access *saved);

enum access_kind {
	ACCESS_REGULAR,	  /* else -EINVAL or, of a directory, -EISDIR */
	ACCESS_DIRECTORY, /* else -ENOTDIR */
	ACCESS_STREAM, /* a pipe, a socket or a device; else -EAGAIN or, of a directory, -EISDIR */
};

/*
 * Opens path relative to dirfd (or AT_FDCWD) and asks the descriptor for its kind. flags and mode
 * as of open(2); close-on-exec and no controlling terminal are added. Waits for no peer unless a
 * stream is asked for. The descriptor, or -errno.
 */
int access_open(int dirfd, const char *path, int flags, mode_t mode, enum access_kind kind);

/* A whole regular file, NUL-terminated, in a buffer of the caller's. -EFBIG above max bytes. */
int access_read(int dirfd, const char *path, size_t max, char **ret_text, size_t *ret_len);

enum { ACCESS_DENIED_MAX = 256 };

/*
 * Why path was refused, to be put after strerror(): as whom it was tried or, where a FUSE
 * filesystem serves its own user alone, what to do; "" for other errors than -EACCES and -EPERM.
 * To be called before access_leave().
 */
void access_denied(const char *path, int error, char ret_text[ACCESS_DENIED_MAX]);

/* "not a regular file" for what access_open() says of a kind, else strerror(). */
const char *access_strerror(int error);

#endif
