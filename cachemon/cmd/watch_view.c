/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/watch_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/process.h"
#include "cachemon/top/screen.h"
#include "cachemon/top/top.h"

/*
 * Keeps messages while a full screen has the terminal. A separate process stores them and shows
 * them after the watch, even if it crashed or was killed; before that it ends the view. It keeps
 * the first and the last part.
 */
enum { SAID_PART_BYTES = 32768 };
enum { SAID_FROM, SAID_TO, SAID_VIEW, SAID_KEPT };

/* The first bytes, and a ring of the last ones. */
struct said {
	char first[SAID_PART_BYTES], last[SAID_PART_BYTES];
	size_t nr_first;
	uint64_t nr_later;
};

static void keep_said(struct said *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->nr_first < sizeof(s->first))
			s->first[s->nr_first++] = text[i];
		else
			s->last[s->nr_later++ % sizeof(s->last)] = text[i];
	}
}

static void write_all(int fd, const char *text, size_t n)
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

static void write_said(int fd, const struct said *s)
{
	size_t at = s->nr_later % sizeof(s->last);
	char text[96];

	write_all(fd, s->first, s->nr_first);
	if (s->nr_later > sizeof(s->last)) {
		int n = snprintf(text, sizeof(text), "\ncachemon: [%ju bytes omitted]\n",
				 (uintmax_t)(s->nr_later - sizeof(s->last)));

		write_all(fd, text, (size_t)n);
		write_all(fd, s->last + at, sizeof(s->last) - at);
	}
	write_all(fd, s->last, s->nr_later > sizeof(s->last) ? at : (size_t)s->nr_later);
}

/*
 * The view must return the terminal before messages are shown. A watch that ends in order has ended
 * the view already. PR_SET_PDEATHSIG does not help after a crash, because root's exec clears it.
 */
static void end_view_process(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	if (!syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0))
		while (poll(&ended, 1, -1) < 0 && errno == EINTR)
			;
}

/* Blocks the signals that end a watch, because this process must end after it. */
static void __attribute__((noreturn)) become_keeper(int from, int to, int view)
{
	const int fds[SAID_KEPT] = {[SAID_FROM] = from, [SAID_TO] = to, [SAID_VIEW] = view};
	static struct said s;
	char text[4096];
	ssize_t n;

	/* Closes the rest, so that probes end with the watch. */
	if (process_keep_only(fds, SAID_KEPT))
		_exit(1);
	while ((n = read(SAID_FROM, text, sizeof(text))) > 0 || (n < 0 && errno == EINTR))
		keep_said(&s, text, n > 0 ? (size_t)n : 0);
	end_view_process(SAID_VIEW);
	write_said(SAID_TO, &s);
	_exit(0);
}

/* Restores stderr, after the stored messages were written to it. */
static void end_said(pid_t keeper, int stderr_fd)
{
	fflush(stderr);
	if (stderr_fd >= 0) {
		dup2(stderr_fd, STDERR_FILENO);
		close(stderr_fd);
	}
	while (keeper > 0 && waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Redirects this process's stderr there. *ret_stderr_fd is the old one. 0 or -errno. */
static int begin_said(int view_pidfd, pid_t *ret_keeper, int *ret_stderr_fd)
{
	int ends[2], was, r = 0;
	pid_t pid;

	fflush(stderr);
	was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
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
		end_said(pid, was);
		return r;
	}
	*ret_keeper = pid;
	*ret_stderr_fd = was;
	return 0;
}

struct watch_view {
	pid_t pid;
	int pidfd;
	pid_t keeper;  /* the process that keeps the stored messages */
	int stderr_fd; /* the original stderr */
	int tty;       /* -1: unknown */
	struct termios modes;
};

/* The environment may name the terminal's description file (TERMINFO, HOME). */
static int is_possible(int tty, bool *ret, struct errtext *err)
{
	struct access saved;
	struct invoker inv;
	int r = invoker_current(&inv, err);

	if (r)
		return r;
	r = access_enter(&inv, &saved);
	if (r) {
		errtext_set(err, r, "--live: cannot act as user %u: %s", inv.uid, strerror(-r));
	} else {
		*ret = top_screen_possible(tty);
		access_leave(&saved);
	}
	invoker_free(&inv);
	return r;
}

int watch_view_check(const struct watch_options *o, struct errtext *err)
{
	bool possible = false;
	int tty, r = 0;

	if (o->command && (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO)))
		return errtext_set(err, -EBUSY,
				   "--live: the command uses this terminal too; give it "
				   "'< /dev/null > out.log 2>&1', or run 'cachemon top' in another "
				   "terminal");
	tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (tty >= 0) {
		r = is_possible(tty, &possible, err);
		close(tty);
	}
	if (!r && !possible)
		r = errtext_set(
			err, -ENOTTY,
			"--live: this terminal cannot show a full screen; run watch without "
			"--live");
	return r;
}

static void __attribute__((noreturn)) become_top(const struct watch_run *run)
{
	char id[24], db[PATH_MAX];
	char *argv[] = {"cachemon", "top", "--db", db, "--run", id, NULL};
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	snprintf(db, sizeof(db), "%s", watch_run_db(run));
	snprintf(id, sizeof(id), "%" PRId64, watch_run_id(run));
	top_signals_default();
	/* The view has only its user's rights. */
	if (tty < 0 || dup2(tty, STDIN_FILENO) < 0 || dup2(tty, STDOUT_FILENO) < 0 ||
	    invoker_drop_permanently(watch_run_invoker(run)) || process_untraceable())
		_exit(EXIT_FAILURE);
	execv("/proc/self/exe", argv);
	_exit(EXIT_FAILURE);
}

/* Saves the settings from before the view. */
static void look_at_terminal(struct watch_view *v)
{
	v->tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (v->tty >= 0 && tcgetattr(v->tty, &v->modes)) {
		close(v->tty);
		v->tty = -1;
	}
}

int watch_view_begin(const struct watch_run *run, struct watch_view **ret, struct errtext *err)
{
	struct watch_view *v = malloc(sizeof(*v));
	int r;

	if (!v)
		return errtext_set(err, -ENOMEM, "out of memory");
	*v = (struct watch_view){.pidfd = -1, .stderr_fd = -1};
	look_at_terminal(v);
	fflush(stderr);
	v->pid = fork();
	if (!v->pid)
		become_top(run);
	r = v->pid < 0 ? -errno : 0;
	if (!r) {
		v->pidfd = (int)syscall(SYS_pidfd_open, v->pid, 0);
		r = v->pidfd < 0 ? -errno : 0;
	}
	if (!r)
		r = begin_said(v->pidfd, &v->keeper, &v->stderr_fd);
	if (r) {
		watch_view_end(v);
		return errtext_set(err, r, "--live: cannot start the view: %s", strerror(-r));
	}
	*ret = v;
	return 0;
}

int watch_view_fd(const struct watch_view *v)
{
	return v ? v->pidfd : -1;
}

void watch_view_end(struct watch_view *v)
{
	int status = 0;

	if (!v)
		return;
	if (v->pid > 0) {
		kill(v->pid, SIGTERM);
		while (waitpid(v->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	/* A killed view (by the OOM killer, for example) could not restore the terminal. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && v->tty >= 0)
		top_screen_repair(v->tty, &v->modes);
	if (v->tty >= 0)
		close(v->tty);
	if (v->pidfd >= 0)
		close(v->pidfd);
	end_said(v->keeper, v->stderr_fd);
	free(v);
}
