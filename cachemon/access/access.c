/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/access.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/privileges.h"

/* Set after the groups, which need the capability that the change of the user removes. */
static int become_invoker(const struct invoker *inv)
{
	if (setegid(inv->gid) || seteuid(inv->uid))
		return -errno;
	/* With unusual securebits, the change of the user leaves the capabilities effective. */
	return inv->uid ? privileges_use(0) : 0;
}

/* A process with only a part of the invoker's identity must not continue. */
static void become_again(const struct access *saved)
{
	if (seteuid(saved->euid) || privileges_use(saved->rights) || setegid(saved->egid) ||
	    setgroups(saved->nr_groups, saved->groups))
		abort();
}

int access_enter(const struct invoker *inv, struct access *ret_saved)
{
	struct access saved = {.rights = privileges_effective()};
	int r = 0;

	if (inv->switched) {
		saved.euid = geteuid();
		saved.egid = getegid();
		r = invoker_own_groups(&saved.groups, &saved.nr_groups);
		if (r)
			return r;
		saved.switched = !setgroups(inv->nr_groups, inv->groups);
		r = saved.switched ? become_invoker(inv) : -errno;
	} else if (inv->uid && saved.rights) {
		saved.unarmed = true;
		r = privileges_use(0);
	}
	if (r) {
		access_leave(&saved);
		return r;
	}
	*ret_saved = saved;
	return 0;
}

void access_leave(struct access *saved)
{
	if (saved->switched)
		become_again(saved);
	else if (saved->unarmed && privileges_use(saved->rights))
		abort();
	free(saved->groups);
	memset(saved, 0, sizeof(*saved));
}

static int check_kind(mode_t mode, enum access_kind kind)
{
	switch (kind) {
	case ACCESS_REGULAR:
		return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? -EISDIR : -EINVAL;
	case ACCESS_DIRECTORY:
		return S_ISDIR(mode) ? 0 : -ENOTDIR;
	case ACCESS_STREAM:
		if (S_ISDIR(mode))
			return -EISDIR;
		/* The file changed after the caller's check. */
		return S_ISREG(mode) ? -EAGAIN : 0;
	}
	return -EINVAL;
}

int access_open(int dirfd, const char *path, int flags, mode_t mode, enum access_kind kind)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	flags |= O_CLOEXEC | O_NOCTTY;
	if (kind != ACCESS_STREAM)
		flags |= O_NONBLOCK;
	fd = openat(dirfd, path, flags, mode);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	r = check_kind(st.st_mode, kind);
	return r ? r : TAKE_FD(fd);
}

int access_read(int dirfd, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	_cleanup_close_ int fd = access_open(dirfd, path, O_RDONLY, 0, ACCESS_REGULAR);

	return fd < 0 ? fd : file_read_fd(fd, max, ret_text, ret_len);
}

/*
 * Without allow_other, FUSE serves only processes whose real and saved ids are its user's too. For
 * others the kernel itself answers statfs(), with only the type of the filesystem.
 */
static bool fuse_refuses(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == FUSE_SUPER_MAGIC && !fs.f_bsize && !fs.f_namelen;
}

/* Such a process gets no farther than the filesystem's root, which is on the way to path. */
static bool fuse_on_the_way(const char *path)
{
	_cleanup_free_ char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	_cleanup_free_ char *part = NULL;
	char *slash;
	bool found = false;

	if (text_print(&part, "%s/%s", cwd ?: "", path))
		return false;
	while (!found && (slash = strrchr(part, '/'))) {
		found = fuse_refuses(part);
		*slash = '\0';
	}
	return found;
}

void access_denied(const char *path, int error, char ret_text[ACCESS_DENIED_MAX])
{
	if (error == -EACCES && fuse_on_the_way(path))
		snprintf(ret_text, ACCESS_DENIED_MAX,
			 " (FUSE without allow_other refuses processes of root and sudo: name a "
			 "place on a local disk, or mount it with allow_other)");
	else
		invoker_as_whom(error, ret_text, ACCESS_DENIED_MAX);
}

const char *access_strerror(int error)
{
	return error == -EINVAL || error == EINVAL ? "not a regular file" : strerror(abs(error));
}
