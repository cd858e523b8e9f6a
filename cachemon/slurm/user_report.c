/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/slurm/user_report.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/daemon/node_client.h"
#include "cachemon/daemon/node_totals.h"

enum {
	ASK_MS = 1000,
	TRY_S = 1,
	TRIES = 60,
	COPY_BYTES = 1 << 20,
	PROGRAM_S = 120,
	PATH_BYTES = 256,
};

struct work {
	const struct user_report *r;
	char job[32];
	char rows[PATH_BYTES], report[PATH_BYTES];
	char home[PATH_BYTES + 8];
};

static int become(const struct user_report *r, char *home, size_t size)
{
	const struct passwd *p = getpwuid(r->uid);

	if (!r->uid || r->uid == (uid_t)-1 || r->gid == (gid_t)-1)
		return -EPERM;
	if (!p)
		return -ENOENT;
	snprintf(home, size, "HOME=%s", p->pw_dir);
	if (initgroups(p->pw_name, r->gid) || setresgid(r->gid, r->gid, r->gid) ||
	    setresuid(r->uid, r->uid, r->uid))
		return -errno;
	/* It cannot go back. */
	return setresuid(-1, 0, -1) ? 0 : -EPERM;
}

static int ask_as_user(const struct work *w, enum node_verb verb, struct node_reply *ret,
		       struct errtext *err)
{
	struct node_request request = {.verb = verb, .uid = -1, .since = -1};
	char text[NODE_MESSAGE_MAX + 1];

	strcpy(request.job, w->job);
	if (node_request_print(&request, text))
		return errtext_set(err, -ENOMEM, "out of memory");
	return node_client_ask(w->r->socket, text, ASK_MS, ret, err);
}

static int check_ended(const struct work *w, bool *ended, struct errtext *err)
{
	char line[NODE_TOTALS_LINE];
	struct node_reply reply;
	int e = *ended ? 0 : ask_as_user(w, NODE_TOTALS, &reply, err);

	if (!*ended && !e)
		e = node_totals_line(reply.text, line, ended);
	return *ended || e ? e : errtext_set(err, -EBUSY, "its run has not ended");
}

/* The rows of the ended run, as a file in memory. The daemon limits the requests of a user and the
 * time for them, so it may refuse for a while. -1: a complaint was made. */
static int fetch_rows(const struct work *w)
{
	const struct timespec pause = {.tv_sec = TRY_S};
	struct errtext err = {"the daemon's answer has no rows"};
	struct node_reply reply;
	bool ended = false;

	for (int i = 0; i < TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		if (!check_ended(w, &ended, &err) && !ask_as_user(w, NODE_SNAPSHOT, &reply, &err) &&
		    reply.fd >= 0)
			return reply.fd;
	}
	w->r->complain("cachemon: no report of %s: %s", w->job, err.text);
	return -1;
}

/* Never follows or replaces what somebody else put there. */
static int make_file(const struct work *w, const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		w->r->complain("cachemon: no report of %s: cannot make %s/%s: %s", w->job,
			       w->r->directory, name, strerror(errno));
	return fd;
}

static int copy_rows(int from, int to)
{
	ssize_t n;
	off_t at = 0;

	do {
		n = sendfile(to, from, &at, COPY_BYTES);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

static bool write_rows(const struct work *w)
{
	int from = fetch_rows(w), to = from < 0 ? -1 : make_file(w, w->rows), e = -EIO;

	if (to >= 0) {
		e = copy_rows(from, to);
		if (close(to) && !e)
			e = -errno;
		if (e) {
			w->r->complain("cachemon: no report of %s: cannot write %s/%s: %s", w->job,
				       w->r->directory, w->rows, strerror(-e));
			unlink(w->rows);
		}
	}
	if (from >= 0)
		close(from);
	return !e;
}

/* Whether it succeeded. out: its standard output. */
static bool run_program(const struct work *w, const char *const argv[], int out)
{
	const char *const env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", w->home, NULL};
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		dup2(out, STDOUT_FILENO);
		close_range(STDERR_FILENO + 1, ~0U, 0);
		alarm(PROGRAM_S);
		execve(argv[0], (char *const *)argv, (char *const *)env);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (status)
		w->r->complain("cachemon: no report of %s: '%s %s' failed (%d)", w->job, argv[0],
			       argv[1], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return !status;
}

static void write_report(const struct work *w)
{
	const char *const argv[] = {w->r->program, "report", "--full", "--no-pager",
				    "--db",	   w->rows,  NULL};
	int fd = make_file(w, w->report);

	if (fd < 0)
		return;
	if (!run_program(w, argv, fd))
		unlink(w->report);
	close(fd);
}

static void work(const struct user_report *r)
{
	struct work w = {.r = r};
	int e = become(r, w.home, sizeof(w.home));

	snprintf(w.job, sizeof(w.job), "slurm:%u", r->job);
	snprintf(w.rows, sizeof(w.rows), "cachemon-%u-%s.db", r->job, r->node);
	snprintf(w.report, sizeof(w.report), "cachemon-%u-%s.txt", r->job, r->node);
	umask(0077);
	if (!e && chdir(r->directory))
		e = -errno;
	if (e)
		r->complain("cachemon: no report of %s in %s: %s", w.job, r->directory,
			    strerror(-e));
	else if (write_rows(&w))
		write_report(&w);
}

/* Slurm waits for this process; not for the one that works, which is in no group that it ends. */
int user_report_start(const struct user_report *r)
{
	int null, status = 0;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		waitpid(pid, &status, 0);
		return status ? -ECHILD : 0;
	}
	setsid();
	pid = fork();
	if (pid)
		_exit(pid < 0);
	null = open("/dev/null", O_RDWR);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	signal(SIGPIPE, SIG_IGN);
	work(r);
	_exit(0);
}
