/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/watch_said.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FROM = 3, TO, VIEW, FREE };

/* The first bytes, and the last ones of those that came after them, in a ring. */
struct said {
	char first[SAID_PART_BYTES], last[SAID_PART_BYTES];
	size_t nr_first;
	uint64_t nr_later;
};

static void keep(struct said *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->nr_first < sizeof(s->first))
			s->first[s->nr_first++] = text[i];
		else
			s->last[s->nr_later++ % sizeof(s->last)] = text[i];
	}
}

static void show(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t written = write(fd, text, n);

		if (written < 0 && errno != EINTR)
			return;
		if (written > 0) {
			text += written;
			n -= (size_t)written;
		}
	}
}

static void show_all(int fd, const struct said *s)
{
	size_t at = s->nr_later % sizeof(s->last);
	char text[96];

	show(fd, s->first, s->nr_first);
	if (s->nr_later > sizeof(s->last)) {
		int n = snprintf(text, sizeof(text), "\ncachemon: [%ju bytes are left out here]\n",
				 (uintmax_t)(s->nr_later - sizeof(s->last)));

		show(fd, text, (size_t)n);
		show(fd, s->last + at, sizeof(s->last) - at);
	}
	show(fd, s->last, s->nr_later > sizeof(s->last) ? at : (size_t)s->nr_later);
}

/*
 * The view gives the terminal back before anything is shown on it. A watch that ends in order has
 * ended it already; PR_SET_PDEATHSIG would not do for one that crashed, as an exec of root's clears
 * it.
 */
static void end_view(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	if (!syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0))
		while (poll(&ended, 1, -1) < 0 && errno == EINTR)
			;
}

/* Signals that end a watch are blocked here as they are there: this ends after it. */
static void __attribute__((noreturn)) become_keeper(int from, int to, int view)
{
	static struct said s;
	char text[4096];
	ssize_t n;

	/* Nothing else is held open: probes end with the watch. */
	from = fcntl(from, F_DUPFD, FREE);
	to = fcntl(to, F_DUPFD, FREE);
	view = fcntl(view, F_DUPFD, FREE);
	if (from < 0 || to < 0 || view < 0 || dup2(from, FROM) < 0 || dup2(to, TO) < 0 ||
	    dup2(view, VIEW) < 0)
		_exit(1);
	syscall(SYS_close_range, FREE, ~0U, 0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while ((n = read(FROM, text, sizeof(text))) > 0 || (n < 0 && errno == EINTR))
		keep(&s, text, n > 0 ? (size_t)n : 0);
	end_view(VIEW);
	show_all(TO, &s);
	_exit(0);
}

int watch_said_begin(int view_pidfd, pid_t *ret_keeper, int *ret_stderr_fd)
{
	int ends[2], was, r = 0;
	pid_t pid;

	fflush(stderr);
	was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FROM);
	if (was < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC)) {
		r = -errno;
		close(was);
		return r;
	}
	pid = fork();
	if (!pid)
		become_keeper(ends[0], was, view_pidfd);
	if (pid < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		r = -errno;
	close(ends[0]);
	close(ends[1]);
	if (r) {
		watch_said_end(pid, was);
		return r;
	}
	*ret_keeper = pid;
	*ret_stderr_fd = was;
	return 0;
}

void watch_said_end(pid_t keeper, int stderr_fd)
{
	fflush(stderr);
	if (stderr_fd >= 0) {
		dup2(stderr_fd, STDERR_FILENO);
		close(stderr_fd);
	}
	while (keeper > 0 && waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		;
}
