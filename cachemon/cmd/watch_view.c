/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/watch_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cachemon/top/top.h"
#include "cachemon/cmd/watch_said.h"
#include "cachemon/top/screen.h"
#include "cachemon/access/access.h"
#include "cachemon/base/process.h"

struct watch_view {
	pid_t pid;
	int pidfd;
	pid_t keeper;  /* of what is said meanwhile */
	int stderr_fd; /* the one that was */
	int tty;       /* -1: not known how it was */
	struct termios modes;
};

/* The environment may name the file that describes the terminal (TERMINFO, HOME). */
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
		r = errtext_set(err, -ENOTTY,
				"--live: there is no terminal that can show a full screen; "
				"without --live watch needs none");
	return r;
}

static void __attribute__((noreturn)) become_top(const struct watch_run *run)
{
	char id[24];
	char *argv[] = {"cachemon", "top", "--db", (char *)watch_run_db(run), "--run", id, NULL};
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	snprintf(id, sizeof(id), "%" PRId64, watch_run_id(run));
	top_signals_default();
	/* The view may do what its user may. */
	if (tty < 0 || dup2(tty, STDIN_FILENO) < 0 || dup2(tty, STDOUT_FILENO) < 0 ||
	    invoker_drop_permanently(watch_run_invoker(run)) || process_untraceable())
		_exit(EXIT_FAILURE);
	execv("/proc/self/exe", argv);
	_exit(EXIT_FAILURE);
}

/* As it is before there is a view. */
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
		r = watch_said_begin(v->pidfd, &v->keeper, &v->stderr_fd);
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
	/* By the kernel's killer, say, when memory is short: it could leave nothing as it was. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && v->tty >= 0)
		top_screen_repair(v->tty, &v->modes);
	if (v->tty >= 0)
		close(v->tty);
	if (v->pidfd >= 0)
		close(v->pidfd);
	watch_said_end(v->keeper, v->stderr_fd);
	free(v);
}
