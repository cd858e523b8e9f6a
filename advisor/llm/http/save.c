/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"

enum { RUNS_MAX = 100000 };

static int open_dir(int at, const char *name)
{
	return access_open(at, name, O_RDONLY | O_DIRECTORY, 0, ACCESS_DIRECTORY);
}

/* The first number that is free. */
static int make_run(int dir)
{
	char name[32];

	for (unsigned int n = 1; n < RUNS_MAX; n++) {
		snprintf(name, sizeof(name), "run-%u", n);
		if (!mkdirat(dir, name, 0700)) {
			return open_dir(dir, name);
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int save_open(const char *dir, struct save *ret, struct errtext *err)
{
	_cleanup_close_ int fd = -1;
	int run;

	ret->dir = -1;
	if (!dir)
		return 0;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return errtext_set(err, -errno, "nothing is kept: cannot make %.150s: %m", dir);
	fd = open_dir(AT_FDCWD, dir);
	run = fd < 0 ? fd : make_run(fd);
	if (run < 0) {
		errno = -run;
		return errtext_set(err, run, "nothing is kept: cannot write to %.150s: %m", dir);
	}
	ret->dir = run;
	return 0;
}

int save_part(const struct save *s, unsigned int attempt, const char *part, const char *bytes,
	      size_t len, struct errtext *err)
{
	_cleanup_close_ int fd = -1;
	char name[64];

	if (s->dir < 0 || !bytes)
		return 0;
	snprintf(name, sizeof(name), "attempt-%u-%s", attempt, part);
	fd = access_open(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
			 ACCESS_REGULAR);
	if (fd < 0)
		return errtext_set(err, fd, "cannot keep %s: %s", name, strerror(-fd));
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return errtext_set(err, n ? -errno : -EIO, "%s is not kept whole: %m",
					   name);
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

void save_close(struct save *s)
{
	cleanup_close(&s->dir);
	s->dir = -1;
}
