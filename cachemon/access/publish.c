/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/access.h"

static int complain_of(const char *path, int error, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];
	char name[400];

	escape_inert_to(name, sizeof(name), path);
	access_denied(path, error, denied);
	return errtext_set(err, error, "cannot write %s: %s%s.", name, strerror(-error), denied);
}

/* Permissions of a new file: those of the replaced file, else by the umask. */
static mode_t mode_for(const struct stat *old)
{
	mode_t mask = 0;

	if (old)
		return old->st_mode & 0777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static int open_temporary(struct output *o, const struct stat *old)
{
	const char *slash = strrchr(o->path, '/');
	int dir_len = slash ? (int)(slash - o->path) + 1 : 0;
	char *name = NULL;
	int ret = 0;
	int fd = -1;

	if (text_print(&name, "%.*s.cachemon-XXXXXX", dir_len, o->path))
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(name);
		return ret;
	}
	o->temporary = name;
	if (fchmod(fd, mode_for(old)) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

/* Writes directly to pipes and devices. */
static int open_directly(struct output *o, const char *path)
{
	int fd = access_open(AT_FDCWD, path, O_WRONLY, 0, ACCESS_STREAM);

	if (fd < 0)
		return fd;
	o->path = strdup(path);
	if (!o->path) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

static int open_output(struct output *o, const char *path)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;

	if (!exists && errno != ENOENT)
		return -errno;
	if (exists && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(st.st_mode))
		return open_directly(o, path);
	/* A symbolic link stays: the file that it points to is replaced. */
	o->path = exists ? realpath(path, NULL) : strdup(path);
	if (!o->path)
		return -errno;
	return open_temporary(o, exists ? &st : NULL);
}

int publish_open(const char *path, struct output *ret_output, struct errtext *err)
{
	struct output o = {0};
	int fd = open_output(&o, path);

	if (fd >= 0)
		o.out = fdopen(fd, "w");
	if (!o.out) {
		int ret = fd < 0 ? fd : -errno;

		if (fd >= 0)
			close(fd);
		publish_abort(&o);
		return complain_of(path, ret, err);
	}
	*ret_output = o;
	return 0;
}

enum { WITHOUT_DISK = 1, NEW_FILE = 2 };

static int move_into_place(struct output *o, bool fresh)
{
	if (fresh ? link(o->temporary, o->path) || unlink(o->temporary)
		  : rename(o->temporary, o->path))
		return -errno;
	free(o->temporary);
	o->temporary = NULL;
	return 0;
}

static int commit(struct output *o, unsigned int how, struct errtext *err)
{
	int ret = ferror(o->out) ? -EIO : 0;

	if (fflush(o->out) != 0)
		ret = -errno;
	/* A full disk may only show when the data is really written; a pipe cannot be synced. */
	if (!ret && !(how & WITHOUT_DISK) && o->temporary && fsync(fileno(o->out)) < 0)
		ret = -errno;
	if (fclose(o->out) != 0 && !ret)
		ret = -errno;
	o->out = NULL;
	if (!ret && o->temporary)
		ret = move_into_place(o, how & NEW_FILE);
	if (ret < 0)
		complain_of(o->path, ret, err);
	publish_abort(o);
	return ret;
}

int publish_commit(struct output *o, struct errtext *err)
{
	return commit(o, 0, err);
}

int publish_replace(struct output *o, struct errtext *err)
{
	return commit(o, WITHOUT_DISK, err);
}

int publish_commit_new(struct output *o, struct errtext *err)
{
	return commit(o, NEW_FILE, err);
}

void publish_abort(struct output *o)
{
	if (o->out)
		fclose(o->out);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	*o = (struct output){0};
}

/* The error was already reported; the rest of the stream would fail at exit and report it again. */
static void forget_rest(FILE *out)
{
	if (!ferror(out) && fflush(out) == 0)
		return;
	__fpurge(out);
	clearerr(out);
}

int publish_print(const struct publication *p, FILE *out, struct errtext *err)
{
	int ret = p->write(p->content, out);

	if (!ret && fflush(out) != 0)
		ret = -errno;
	/* A stream knows that it failed, but not why: writing one more byte fails for the same
	 * reason. */
	if (ret == -EIO) {
		clearerr(out);
		if (fputc('\n', out) == EOF || fflush(out) != 0)
			ret = -errno;
	}
	if (ret < 0) {
		errtext_set(err, ret, "cannot write %s: %s.", p->name, strerror(-ret));
		forget_rest(out);
	}
	return ret;
}

int publish_write(const struct publication *p, const char *out_path, struct errtext *err)
{
	struct output o;
	int ret = publish_open(out_path, &o, err);

	if (ret < 0)
		return ret;
	ret = publish_print(p, o.out, err);
	if (!ret)
		return publish_commit(&o, err);
	publish_abort(&o);
	return ret;
}

int publish(const struct publication *p, const char *out_path, FILE *out, struct errtext *err)
{
	return out_path ? publish_write(p, out_path, err) : publish_print(p, out, err);
}

int publish_place(const char *out_path, struct errtext *err)
{
	struct output o;
	struct stat st;
	int ret = 0;

	/* A pipe may not have a reader yet. */
	if (stat(out_path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		ret = publish_open(out_path, &o, err);
		if (!ret)
			publish_abort(&o);
	}
	return ret;
}

int publish_not_over(const char *name, const char *db, const char *out_path, struct errtext *err)
{
	struct stat a;
	struct stat b;

	if (!out_path || stat(db, &a) < 0 || stat(out_path, &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		return 0;
	return errtext_set(err, -EINVAL,
			   "%s would replace its own database; name another file to write.", name);
}
