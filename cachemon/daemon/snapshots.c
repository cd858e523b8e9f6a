/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"

#define SECOND_NS UINT64_C(1000000000)

enum { PAYERS = 64 };

/* Work that takes a time T is paid for by a pause of a multiple of T. */
struct payer {
	uid_t uid;
	uint64_t until_ns;
};

struct payers {
	struct payer of[PAYERS], all;
};

struct snapshots {
	int ends; /* inotify: the files of which nobody has anything any more */
	struct {
		int watch; /* 0: free */
		uid_t uid;
		uint64_t bytes;
	} of[SNAPSHOTS_MAX];
	struct payers copies, reads;
};

int snapshots_new(struct snapshots **ret, struct errtext *err)
{
	struct snapshots *s = calloc(1, sizeof(*s));

	if (!s)
		return errtext_set(err, -ENOMEM, "out of memory");
	s->ends = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->ends < 0) {
		int r = -errno;

		free(s);
		return errtext_set(err, r,
				   "cannot watch the files that users receive: %s. Raise "
				   "fs.inotify.max_user_instances",
				   strerror(-r));
	}
	*ret = s;
	return 0;
}

void snapshots_free(struct snapshots *s)
{
	if (s)
		close(s->ends);
	free(s);
}

static void forget(struct snapshots *s, int watch)
{
	for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
		if (s->of[i].watch == watch)
			s->of[i].watch = 0;
}

/* These files have no name, so the kernel reports their end when the last reference to one has
 * gone: descriptors (O_PATH too), maps, and those on their way through a socket. */
static void forget_closed(struct snapshots *s)
{
	struct inotify_event events[SNAPSHOTS_MAX];
	ssize_t n;

	while ((n = read(s->ends, events, sizeof(events))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(events[0]); i++)
			if (events[i].mask & IN_IGNORED)
				forget(s, events[i].wd);
}

/* The user's entry, or one of somebody who has paid; NULL: there are too many. */
static struct payer *find_payer(struct payers *s, uid_t uid, uint64_t now_ns)
{
	struct payer *unused = NULL;

	for (size_t i = 0; i < PAYERS; i++) {
		struct payer *p = &s->of[i];

		if (p->uid == uid && p->until_ns > now_ns)
			return p;
		if (p->until_ns <= now_ns)
			unused = unused ?: p;
	}
	if (unused)
		*unused = (struct payer){uid, now_ns};
	return unused;
}

static void pay(struct payer *p, uint64_t cost_ns, uint64_t now_ns)
{
	p->until_ns = (p->until_ns > now_ns ? p->until_ns : now_ns) + cost_ns;
}

/* A second in advance is allowed, so that several small copies are possible at once. */
static int refuse_payer(const struct payer *p, const char *what, uint64_t now_ns,
			uint64_t *ret_retry_s, struct errtext *err)
{
	uint64_t allowed_ns = now_ns + SECOND_NS;

	if (p->until_ns <= allowed_ns)
		return 0;
	*ret_retry_s = (p->until_ns - allowed_ns + SECOND_NS - 1) / SECOND_NS;
	return errtext_set(err, -EBUSY, "too many rows were %s; try again in %" PRIu64 " s", what,
			   *ret_retry_s);
}

static int refuse_time(struct payers *s, uid_t uid, const char *what, uint64_t now_ns,
		       uint64_t *ret_retry_s, struct errtext *err)
{
	const struct payer *p = find_payer(s, uid, now_ns);
	int r;

	*ret_retry_s = 0;
	if (!p)
		return errtext_set(err, -EBUSY, "too many users ask for rows; try again later");
	r = refuse_payer(p, what, now_ns, ret_retry_s, err);
	return r ? r : refuse_payer(&s->all, what, now_ns, ret_retry_s, err);
}

static void pay_time(struct payers *s, uid_t uid, uint64_t cpu_ns, uint64_t now_ns)
{
	struct payer *p = find_payer(s, uid, now_ns);

	if (p)
		pay(p, cpu_ns * SNAPSHOTS_USER_SHARE, now_ns);
	pay(&s->all, cpu_ns * SNAPSHOTS_ALL_SHARE, now_ns);
}

static int refuse_memory(const struct snapshots *s, uid_t uid, struct errtext *err)
{
	unsigned int nr = 0, nr_user = 0;
	uint64_t bytes = 0, bytes_user = 0;

	for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
		if (!s->of[i].watch)
			continue;
		nr++;
		bytes += s->of[i].bytes;
		if (s->of[i].uid != uid)
			continue;
		nr_user++;
		bytes_user += s->of[i].bytes;
	}
	if (nr_user >= SNAPSHOTS_OF_USER || bytes_user >> 20 >= SNAPSHOTS_USER_MB)
		return errtext_set(err, -EBUSY,
				   "too many snapshots of this user are open; end the programs "
				   "that use them");
	if (nr == SNAPSHOTS_MAX || bytes >> 20 >= SNAPSHOTS_ALL_MB)
		return errtext_set(err, -EBUSY,
				   "too many snapshots of other users are open; try again later");
	return 0;
}

int snapshots_check(struct snapshots *s, uid_t uid, uint64_t now_ns, uint64_t *ret_retry_s,
		    struct errtext *err)
{
	int r;

	*ret_retry_s = 0;
	forget_closed(s);
	r = refuse_memory(s, uid, err);
	return r ? r : refuse_time(&s->copies, uid, "copied", now_ns, ret_retry_s, err);
}

int snapshots_check_read(struct snapshots *s, uid_t uid, uint64_t now_ns, uint64_t *ret_retry_s,
			 struct errtext *err)
{
	return refuse_time(&s->reads, uid, "read", now_ns, ret_retry_s, err);
}

void snapshots_pay_read(struct snapshots *s, uid_t uid, uint64_t cpu_ns, uint64_t now_ns)
{
	pay_time(&s->reads, uid, cpu_ns, now_ns);
}

void snapshots_pay(struct snapshots *s, uid_t uid, uint64_t cpu_ns, uint64_t now_ns)
{
	pay_time(&s->copies, uid, cpu_ns, now_ns);
}

int snapshots_add(struct snapshots *s, uid_t uid, int file, int *ret_fd)
{
	_cleanup_close_ int made = file, users = -1;
	char path[32];
	struct stat sb;
	int watch;
	size_t i = 0;

	while (i < SNAPSHOTS_MAX && s->of[i].watch)
		i++;
	if (i == SNAPSHOTS_MAX)
		return -EBUSY;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
	/* An open file of its own, which can only be read. */
	users = open(path, O_RDONLY | O_CLOEXEC);
	if (users < 0 || fstat(users, &sb))
		return -errno;
	watch = inotify_add_watch(s->ends, path, IN_DELETE_SELF);
	if (watch < 0)
		return -errno;
	s->of[i].bytes = (uint64_t)sb.st_size;
	s->of[i].uid = uid;
	s->of[i].watch = watch;
	*ret_fd = TAKE_FD(users);
	return 0;
}
