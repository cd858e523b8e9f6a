/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/daemon/node_config.h"

enum { FILE_MAX = 1 << 16 };

/* A user who can change the file can make root write anywhere. */
static int check_owner(const char *file, int fd, struct errtext *err)
{
	struct stat sb;

	if (fstat(fd, &sb))
		return errtext_set(err, -errno, "cannot read %s: %s", file, strerror(errno));
	if (sb.st_uid && sb.st_uid != geteuid())
		return errtext_set(err, -EPERM,
				   "cannot use %s: it belongs to user %u. Run: chown root %s", file,
				   sb.st_uid, file);
	if (sb.st_mode & (S_IWGRP | S_IWOTH))
		return errtext_set(err, -EPERM,
				   "cannot use %s: others can change it. Run: chmod go-w %s", file,
				   file);
	return 0;
}

int node_config_directory(const char *key, const char *path, struct errtext *err)
{
	struct stat sb;

	if (stat(path, &sb))
		return errtext_set(err, -errno, "%s: cannot use %s: %s", key, path,
				   strerror(errno));
	if (!S_ISDIR(sb.st_mode))
		return errtext_set(err, -ENOTDIR, "%s: %s is not a directory", key, path);
	if ((sb.st_uid && sb.st_uid != geteuid()) || sb.st_mode & (S_IWGRP | S_IWOTH))
		return errtext_set(err, -EPERM,
				   "%s: others can change %s. Run: chown root %s; chmod go-w %s",
				   key, path, path, path);
	return 0;
}

int node_config_text(const char *file, size_t max, char **ret_text, size_t *ret_len,
		     struct errtext *err)
{
	_cleanup_close_ int fd = access_open(AT_FDCWD, file, O_RDONLY, 0, ACCESS_REGULAR);
	int e;

	if (fd < 0)
		return errtext_set(err, fd, "cannot read %s: %s", file, access_strerror(fd));
	e = check_owner(file, fd, err);
	if (e)
		return e;
	e = file_read_fd(fd, max, ret_text, ret_len);
	return e ? errtext_set(err, e, "cannot read %s: %s", file, strerror(-e)) : 0;
}

int node_config_load(const char *file, struct node_config *ret, struct errtext *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int e;

	memset(ret, 0, sizeof(*ret));
	e = node_config_text(file, FILE_MAX, &text, &len, err);
	return e ? e : node_config_parse(file, text, len, ret, err);
}
