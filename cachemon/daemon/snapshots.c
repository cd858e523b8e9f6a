/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"

#define SECOND_NS UINT64_C(1000000000)

enum { PAYERS = 64 };

/* Copying that takes a time T is paid for by a pause of a multiple of T. */
struct payer {
	uid_t uid;
	uint64_t until_ns;
};

struct snapshots {
	struct {
		int fd; /* < 0: free */
		uid_t uid;
		uint64_t bytes;
	} of[SNAPSHOTS_MAX];
	struct payer payers[PAYERS], all;
};

struct snapshots *snapshots_new(void)
{
	struct snapshots *s = calloc(1, sizeof(*s));

	for (size_t i = 0; s && i < SNAPSHOTS_MAX; i++)
		s->of[i].fd = -1;
	return s;
}

void snapshots_free(struct snapshots *s)
{
	for (size_t i = 0; s && i < SNAPSHOTS_MAX; i++)
		if (s->of[i].fd >= 0)
			close(s->of[i].fd);
	free(s);
}

/* The kernel grants a lease for writing only if nobody else has the file open, mapped, or on its
 * way through a socket. It ends with the descriptor. */
static bool is_alone(int fd)
{
	return !fcntl(fd, F_SETLEASE, F_WRLCK);
}

static void forget_closed(struct snapshots *s)
{
	for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
		if (s->of[i].fd >= 0 && is_alone(s->of[i].fd)) {
			close(s->of[i].fd);
			s->of[i].fd = -1;
		}
}

/* The user's entry, or one of somebody who has paid; NULL: there are too many. */
static struct payer *find_payer(struct snapshots *s, uid_t uid, uint64_t now_ns)
{
	struct payer *unused = NULL;

	for (size_t i = 0; i < PAYERS; i++) {
		struct payer *p = &s->payers[i];

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
static int refuse_time(const struct payer *p, uint64_t now_ns, uint64_t *ret_retry_s,
		       struct errtext *err)
{
	uint64_t allowed_ns = now_ns + SECOND_NS;

	if (p->until_ns <= allowed_ns)
		return 0;
	*ret_retry_s = (p->until_ns - allowed_ns + SECOND_NS - 1) / SECOND_NS;
	return errtext_set(err, -EBUSY, "too many rows were copied; try again in %" PRIu64 " s",
			   *ret_retry_s);
}

static int refuse_memory(const struct snapshots *s, uid_t uid, struct errtext *err)
{
	unsigned int nr = 0, nr_user = 0;
	uint64_t bytes = 0, bytes_user = 0;

	for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
		if (s->of[i].fd < 0)
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
	const struct payer *p = find_payer(s, uid, now_ns);
	int r;

	*ret_retry_s = 0;
	forget_closed(s);
	if (!p)
		return errtext_set(err, -EBUSY, "too many users copy rows; try again later");
	r = refuse_memory(s, uid, err);
	if (!r)
		r = refuse_time(p, now_ns, ret_retry_s, err);
	return r ? r : refuse_time(&s->all, now_ns, ret_retry_s, err);
}

/* An open file of its own, which can only be read. */
static int reopen(int fd)
{
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

void snapshots_pay(struct snapshots *s, uid_t uid, uint64_t cpu_ns, uint64_t now_ns)
{
	struct payer *p = find_payer(s, uid, now_ns);

	if (p)
		pay(p, cpu_ns * SNAPSHOTS_USER_SHARE, now_ns);
	pay(&s->all, cpu_ns * SNAPSHOTS_ALL_SHARE, now_ns);
}

int snapshots_add(struct snapshots *s, uid_t uid, int file, int *ret_fd)
{
	_cleanup_close_ int made = file, own = reopen(made), users = reopen(made);
	struct stat sb;
	size_t i = 0;

	while (i < SNAPSHOTS_MAX && s->of[i].fd >= 0)
		i++;
	if (own < 0 || users < 0)
		return own < 0 ? own : users;
	if (i == SNAPSHOTS_MAX)
		return -EBUSY;
	if (fstat(own, &sb))
		return -errno;
	s->of[i].bytes = (uint64_t)sb.st_size;
	s->of[i].uid = uid;
	s->of[i].fd = TAKE_FD(own);
	*ret_fd = TAKE_FD(users);
	return 0;
}
