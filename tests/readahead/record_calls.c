/* SPDX-License-Identifier: BSD-2-Clause */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "recorder.h"

static void do_read(struct recorder *r, const struct call *c)
{
	static char *memory;

	if (!memory) {
		memory = malloc(128 << 20);
		if (!memory)
			err(1, "memory");
	}
	if (pread(r->fd[c->stream], memory, c->count, (off_t)c->pos) < 0)
		err(1, "pread");
}

static void do_send(struct recorder *r, const struct call *c)
{
	off_t at = (off_t)c->pos;

	while (at < (off_t)(c->pos + c->count)) {
		ssize_t n = sendfile(r->null, r->fd[c->stream], &at,
				     c->count - (size_t)(at - (off_t)c->pos));

		if (n < 0)
			err(1, "sendfile");
		if (n == 0)
			return;
	}
}

static void do_madvise(struct recorder *r, const struct call *c)
{
	static const int advice[] = {MADV_NORMAL, MADV_SEQUENTIAL, MADV_RANDOM, MADV_WILLNEED};
	size_t count = c->count ? c->count : (size_t)PATTERN_PAGES * PATTERN_PAGE;

	if (madvise(r->mapping + c->pos, count, advice[c->advice]))
		err(1, "madvise");
}

void call_make(struct recorder *r, const struct call *c)
{
	static const int advice[] = {POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
				     POSIX_FADV_WILLNEED};

	switch (c->kind) {
	case DO_READ:
		do_read(r, c);
		break;
	case DO_SEND:
		do_send(r, c);
		break;
	case DO_TOUCH:
		(void)*(volatile unsigned char *)(r->mapping + c->pos);
		break;
	case DO_ADVISE:
		errno = posix_fadvise(r->fd[c->stream], (off_t)c->pos, (off_t)c->count,
				      advice[c->advice]);
		if (errno)
			err(1, "posix_fadvise");
		break;
	case DO_MADVISE:
		do_madvise(r, c);
		break;
	}
}
