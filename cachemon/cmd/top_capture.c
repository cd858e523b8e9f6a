/* SPDX-License-Identifier: BSD-2-Clause */
/* A watch of the same program, into a database of its own, for as long as it is looked at. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/top.h"
#include "report/db.h"
#include "top/restore.h"
#include "util/privileges.h"

enum { LOOK_MS = 50, SAID_MAX = 400 };

struct top_capture {
	char dir[PATH_MAX], db[PATH_MAX + 16], said[PATH_MAX + 16];
	pid_t pid; /* 0: there is none any more */
	int status;
};

static void __attribute__((noreturn))
become_watch(const struct top_options *o, const struct top_capture *c, pid_t parent)
{
	char *argv[TOP_WATCH_WORDS + 5] = {"cachemon", "watch", "--db", (char *)c->db};
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open(c->said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memcpy(argv + 4, o->watch, (size_t)o->nr_watch * sizeof(*argv));
	/* What it writes is for the viewer, whoever that is, not for the user behind sudo. */
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	/* The terminal's signals are for the viewer, which then ends it. */
	setpgid(0, 0);
	top_signals_default();
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent || in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0)
		_exit(EXIT_FAILURE);
	execv("/proc/self/exe", argv);
	_exit(127);
}

bool top_capture_ended(struct top_capture *c)
{
	int status = 0;

	if (!c->pid)
		return true;
	if (waitpid(c->pid, &status, WNOHANG) != c->pid)
		return false;
	c->pid = 0;
	c->status = status;
	top_restore_with(0);
	return true;
}

/* Its first line is what is wrong. */
static void what_it_said(const struct top_capture *c, struct errtext *err)
{
	char text[SAID_MAX] = "";
	FILE *in = fopen(c->said, "re");
	const char *said = text;

	if (in) {
		if (!fgets(text, sizeof(text), in))
			*text = '\0';
		fclose(in);
	}
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, "cachemon: ", strlen("cachemon: ")))
		said += strlen("cachemon: ");
	errtext_set(err, -EIO, "%s", *said ? said : "watch ended without a word");
}

static bool has_run(const struct top_capture *c)
{
	struct errtext ignored;
	sqlite3 *db = NULL;
	int64_t id = 0;
	bool open = false;
	bool has;

	if (report_db_open(c->db, &db, ignored.text, sizeof(ignored.text)))
		return false;
	has = !top_session_find_run(db, &id, &open, ignored.text, sizeof(ignored.text));
	sqlite3_close(db);
	return has;
}

static int make_place(struct top_capture *c, struct errtext *err)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(c->dir, sizeof(c->dir), "%s/cachemon-top.XXXXXX", tmp && *tmp ? tmp : "/var/tmp");
	if (!mkdtemp(c->dir)) {
		int r = -errno;

		*c->dir = '\0';
		return errtext_set(err, r, "cannot make a directory for the capture: %s",
				   strerror(-r));
	}
	snprintf(c->db, sizeof(c->db), "%s/run.db", c->dir);
	snprintf(c->said, sizeof(c->said), "%s/said", c->dir);
	return 0;
}

int top_capture_begin(const struct top_options *o, struct top_capture **ret, int *ret_signal,
		      struct errtext *err)
{
	struct top_capture *c = calloc(1, sizeof(*c));
	pid_t parent = getpid();
	int r;

	if (!c)
		return errtext_set(err, -ENOMEM, "not enough memory");
	*ret = c;
	r = make_place(c, err);
	if (r)
		return r;
	c->pid = fork();
	if (c->pid < 0) {
		c->pid = 0;
		return errtext_set(err, -errno, "cannot start watch: %s", strerror(errno));
	}
	if (!c->pid)
		become_watch(o, c, parent);
	top_restore_with(c->pid);
	/* Watch has what it needs; the view reads what it writes, which is the same user's. */
	if (privileges_keep(0))
		return errtext_set(err, -EPERM, "cannot give up capabilities");
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "cachemon: starting to watch...\n");
	while (!has_run(c)) {
		if (top_capture_ended(c)) {
			what_it_said(c, err);
			return -EIO;
		}
		*ret_signal = top_signals_wait(LOOK_MS);
		if (*ret_signal)
			return -EINTR;
	}
	return 0;
}

const char *top_capture_db(const struct top_capture *c)
{
	return c->db;
}

static void remove_place(const struct top_capture *c)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
	char name[sizeof(c->db) + 16];

	if (!*c->dir)
		return;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", c->db, endings[i]);
		unlink(name);
	}
	unlink(c->said);
	rmdir(c->dir);
}

int top_capture_end(struct top_capture *c, struct errtext *err)
{
	bool failed;

	if (!c)
		return 0;
	if (c->pid && !top_capture_ended(c)) {
		kill(c->pid, SIGINT);
		while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
			;
		c->pid = 0;
		top_restore_with(0);
	}
	failed = !WIFEXITED(c->status) || WEXITSTATUS(c->status);
	if (failed)
		what_it_said(c, err);
	remove_place(c);
	free(c);
	return failed ? -EIO : 0;
}
