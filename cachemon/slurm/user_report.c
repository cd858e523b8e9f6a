/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/slurm/user_report.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
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

#include "cachemon/base/escape.h"
#include "cachemon/daemon/node_client.h"
#include "cachemon/daemon/node_totals.h"

enum {
	ASK_MS = 1000,
	TRY_S = 1,
	TRIES = 600, /* after a large copy the daemon refuses others for minutes */
	COPY_BYTES = 1 << 20,
	PROGRAM_S = 120,
	PATH_BYTES = 256,
	RUNS_MAX = 99, /* of a job on this node */
};

struct work {
	const struct user_report *r;
	char job[32];
	char directory[PATH_MAX];		   /* for messages: the user chose its name */
	char rows[PATH_BYTES], report[PATH_BYTES]; /* names of the files */
	int rows_fd, report_fd;
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
	struct node_totals totals = {.ended = *ended};
	struct node_reply reply;
	int e = *ended ? 0 : ask_as_user(w, NODE_TOTALS, &reply, err);

	if (!*ended && !e)
		e = node_totals_parse(reply.text, &totals);
	*ended = totals.ended;
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
static int make_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* Both files, or none: 0 or -errno. */
static int make_pair(struct work *w, const char *suffix)
{
	const struct user_report *r = w->r;

	snprintf(w->rows, sizeof(w->rows), "cachemon-%u-%s%s.db", r->job, r->node, suffix);
	snprintf(w->report, sizeof(w->report), "cachemon-%u-%s%s.txt", r->job, r->node, suffix);
	w->rows_fd = make_file(w->rows);
	if (w->rows_fd < 0)
		return w->rows_fd;
	w->report_fd = make_file(w->report);
	if (w->report_fd >= 0)
		return 0;
	close(w->rows_fd);
	unlink(w->rows);
	return w->report_fd;
}

/* A job that was requeued has the files of its earlier runs there. Slurm's count of restarts is of
 * no use: after a requeue it is already that of the next run. */
static bool make_files(struct work *w)
{
	int e = make_pair(w, "");
	char suffix[8];

	for (int run = 2; e == -EEXIST && run <= RUNS_MAX; run++) {
		snprintf(suffix, sizeof(suffix), "-%d", run);
		e = make_pair(w, suffix);
	}
	if (e)
		w->r->complain("cachemon: no report of %s: cannot make %s and .txt in %s: %s",
			       w->job, w->rows, w->directory, strerror(-e));
	return !e;
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

static bool write_rows(const struct work *w, int from)
{
	int e = copy_rows(from, w->rows_fd);

	if (close(w->rows_fd) && !e)
		e = -errno;
	if (e)
		w->r->complain("cachemon: no report of %s: cannot write %s/%s: %s", w->job,
			       w->directory, w->rows, strerror(-e));
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

static bool write_report(const struct work *w)
{
	const char *const argv[] = {w->r->program, "report", "--full", "--no-pager",
				    "--db",	   w->rows,  NULL};

	return run_program(w, argv, w->report_fd);
}

static void write_files(struct work *w)
{
	int from = fetch_rows(w);

	if (from < 0 || !make_files(w))
		return;
	if (!write_rows(w, from)) {
		unlink(w->rows);
		unlink(w->report);
	} else if (!write_report(w)) {
		unlink(w->report);
	}
}

static void work(const struct user_report *r)
{
	struct work w = {.r = r};
	int e = become(r, w.home, sizeof(w.home));

	snprintf(w.job, sizeof(w.job), "slurm:%u", r->job);
	escape_inert_to(w.directory, sizeof(w.directory), r->directory);
	umask(0077);
	if (!e && chdir(r->directory))
		e = -errno;
	if (e)
		r->complain("cachemon: no report of %s in %s: %s", w.job, w.directory,
			    strerror(-e));
	else
		write_files(&w);
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
