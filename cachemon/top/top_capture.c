/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A watch of the same program, into a separate database, while the viewer runs. The watch has the
 * capabilities, the viewer has none: it becomes the invoker before it creates the database's
 * directory. The watch ends at the end of its standard input, however the viewer ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/top/top.h"
#include "cachemon/db/db_read.h"
#include "cachemon/base/cleanup.h"

enum { LOOK_MS = 50, SAID_MAX = 400, PLACE_TRIES = 10 };

#define PLACE_PREFIX "cachemon-top."

struct top_capture {
	char dir[PATH_MAX], db[PATH_MAX + 16];
	int dir_fd; /* locked for as long as this process lives */
	int said;   /* output of watch, a file in memory */
	int input;  /* standard input of watch; closing it ends watch */
	pid_t pid;  /* 0: it has ended */
	int status;
};

static void __attribute__((noreturn)) become_watch(const struct top_options *o, int input, int said)
{
	char db[PATH_MAX + 16] = "";
	char *argv[TOP_WATCH_WORDS + 6] = {"cachemon", "watch", "--until-eof", "--db", db};
	ssize_t n;

	memcpy(argv + 5, o->watch, (size_t)o->nr_watch * sizeof(*argv));
	/* The terminal's signals are for the viewer, which then ends the watch. */
	setpgid(0, 0);
	top_signals_default();
	if (dup2(input, 0) < 0 || dup2(said, 1) < 0 || dup2(said, 2) < 0)
		_exit(EXIT_FAILURE);
	/* End of file: the viewer has ended or given up. */
	n = read(0, db, sizeof(db));
	if (n <= 0 || db[n - 1])
		_exit(EXIT_FAILURE);
	execv("/proc/self/exe", argv);
	_exit(127);
}

int top_capture_fork(const struct top_options *o, struct top_capture **ret, struct errtext *err)
{
	struct top_capture *c = calloc(1, sizeof(*c));
	int ends[2] = {-1, -1};

	if (!c)
		return errtext_set(err, -ENOMEM, "not enough memory");
	*c = (struct top_capture){.dir_fd = -1, .input = -1};
	*ret = c;
	c->said = memfd_create("said", MFD_CLOEXEC);
	if (c->said < 0 || pipe2(ends, O_CLOEXEC))
		return errtext_set(err, -errno, "cannot start watch: %s", strerror(errno));
	c->input = ends[1];
	c->pid = fork();
	if (!c->pid) {
		close(ends[1]);
		become_watch(o, ends[0], c->said);
	}
	close(ends[0]);
	if (c->pid < 0) {
		c->pid = 0;
		return errtext_set(err, -errno, "cannot start watch: %s", strerror(errno));
	}
	return 0;
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
	return true;
}

/* The error of a failed watch: the first line of its output. */
static void what_it_said(const struct top_capture *c, struct errtext *err)
{
	char text[SAID_MAX] = "";
	const char *said = text;

	if (pread(c->said, text, sizeof(text) - 1, 0) < 0)
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, "cachemon: ", strlen("cachemon: ")))
		said += strlen("cachemon: ");
	errtext_set(err, -EIO, "%s", *said ? said : "watch ended unexpectedly");
}

static bool has_run(const struct top_capture *c)
{
	struct errtext ignored;
	sqlite3 *db = NULL;
	int64_t id = 0;
	bool open = false;
	bool has;

	if (db_read_open(c->db, &db, &ignored))
		return false;
	has = !top_session_find_run(db, &id, &open, &ignored);
	sqlite3_close(db);
	return has;
}

static const char *place_of_captures(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp ? tmp : "/var/tmp";
}

static void remove_files(int dir)
{
	static const char *const names[] = {"run.db", "run.db-wal", "run.db-shm", "run.db-journal",
					    "said"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(dir, names[i], 0);
}

/* The directory of a killed viewer: owned by this user, and not locked. */
static void remove_left(int parent, const char *name)
{
	_cleanup_close_ int dir =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat sb;

	if (dir < 0 || fstat(dir, &sb) || sb.st_uid != geteuid() || flock(dir, LOCK_EX | LOCK_NB))
		return;
	remove_files(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_all_left(void)
{
	_cleanup_closedir_ DIR *parent = opendir(place_of_captures());
	const struct dirent *e;

	while (parent && (e = readdir(parent)))
		if (!strncmp(e->d_name, PLACE_PREFIX, strlen(PLACE_PREFIX)))
			remove_left(dirfd(parent), e->d_name);
}

/* The lock keeps another starting viewer from removing the directory. On a filesystem without locks
 * it is safe too, because no process can get a lock. */
static int lock_place(struct top_capture *c)
{
	struct stat sb;

	c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->dir_fd >= 0) {
		(void)!flock(c->dir_fd, LOCK_EX);
		if (!fstat(c->dir_fd, &sb) && sb.st_nlink)
			return 0;
	}
	cleanup_close(&c->dir_fd);
	c->dir_fd = -1;
	return -EAGAIN;
}

static int make_place(struct top_capture *c, struct errtext *err)
{
	int r = -EAGAIN;

	for (int i = 0; i < PLACE_TRIES && r == -EAGAIN; i++) {
		snprintf(c->dir, sizeof(c->dir), "%s/" PLACE_PREFIX "XXXXXX", place_of_captures());
		r = mkdtemp(c->dir) ? lock_place(c) : -errno;
	}
	if (r) {
		*c->dir = '\0';
		return errtext_set(err, r, "cannot make a directory for the capture in %s: %s",
				   place_of_captures(), strerror(-r));
	}
	snprintf(c->db, sizeof(c->db), "%s/run.db", c->dir);
	return 0;
}

int top_capture_begin(struct top_capture *c, int *ret_signal, struct errtext *err)
{
	ssize_t size;
	int r;

	remove_all_left();
	r = make_place(c, err);
	if (r)
		return r;
	size = (ssize_t)strlen(c->db) + 1;
	if (write(c->input, c->db, (size_t)size) != size)
		return errtext_set(err, -EPIPE, "cannot start watch");
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

int top_capture_end(struct top_capture *c, struct errtext *err)
{
	bool failed;

	if (!c)
		return 0;
	cleanup_close(&c->input);
	while (c->pid && waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	failed = !WIFEXITED(c->status) || WEXITSTATUS(c->status);
	if (failed)
		what_it_said(c, err);
	if (c->dir_fd >= 0) {
		remove_files(c->dir_fd);
		rmdir(c->dir);
	}
	cleanup_close(&c->dir_fd);
	cleanup_close(&c->said);
	free(c);
	return failed ? -EIO : 0;
}
