/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/watch/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/access/privileges.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"

enum { PLACE_MAX = 256, CHUNK = 4096 };

struct marks {
	int fd;	   /* the FIFO; -1: none */
	int guard; /* a socket to the process that removes it; -1: none */
	pid_t guard_pid;
	char path[PLACE_MAX];
	struct sample_mark *list; /* not stored yet; the last ones may have no moment yet */
	size_t nr, room, nr_set;
	size_t taken; /* marks taken since the start */
	uint64_t dropped;
	uint64_t looked_ns, empty_ns; /* when bytes were looked for last, and were not there */
	uint64_t line_ns;	      /* the line was begun after this */
	char line[MARK_TEXT_MAX];     /* an incomplete line */
	size_t len;
	bool asks; /* it began with MARK_ASKS */
};

/* ---- the guard: a process of the user's own, which outlives this one by a moment ---- */

/* True also if they wrote earlier and not all of it was read. Reads once, because some writers
 * never stop. */
static bool somebody_writes(int fd)
{
	char ignored[CHUNK];
	ssize_t n = read(fd, ignored, sizeof(ignored));

	return n > 0 || (n < 0 && errno == EAGAIN);
}

/* Stays open as a reader, so that no writer gets SIGPIPE or blocks. */
static void drain_until_nobody_writes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (somebody_writes(fd))
		poll(&p, 1, -1);
}

/* 0 and path, below dir; or -errno. */
static int make_fifo(const char *dir, char path[PLACE_MAX])
{
	int n = snprintf(path, PLACE_MAX, "%s/cachemon-XXXXXX", dir);

	if (n < 0 || n > PLACE_MAX - 8)
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	memcpy(path + n, "/marks", sizeof("/marks"));
	if (mkfifo(path, 0600) == 0)
		return 0;
	n = -errno;
	*strrchr(path, '/') = '\0';
	rmdir(path);
	return n;
}

static int make_somewhere(const struct invoker *inv, char path[PLACE_MAX])
{
	char runtime[32];
	const char *dirs[] = {runtime, getenv("TMPDIR"), "/tmp"};
	int r = -ENOENT;

	snprintf(runtime, sizeof(runtime), "/run/user/%u", inv->uid);
	for (size_t i = 0; r && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dirs[i] && *dirs[i] == '/')
			r = make_fifo(dirs[i], path);
	return r;
}

/* Closes everything inherited, because a reader may wait for the end. */
static void keep_only(int *socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	*socket = dup2(*socket, 3);
	syscall(SYS_close_range, 4, ~0U, 0);
}

static void __attribute__((noreturn)) guard_run(int socket, const struct invoker *inv)
{
	char path[PLACE_MAX] = "";
	sigset_t all;
	int fd = -1, r;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	keep_only(&socket);
	r = chdir("/") ? -errno : invoker_drop_permanently(inv);
	/* A user's capabilities are for measuring, and this process outlives that; root keeps
	 * its own. */
	if (!r && inv->uid)
		r = privileges_keep(0);
	if (!r)
		r = make_somewhere(inv, path);
	if (!r) {
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		r = fd < 0 ? -errno : 0;
	}
	if (send(socket, &r, sizeof(r), MSG_NOSIGNAL) == sizeof(r) && !r &&
	    send(socket, path, sizeof(path), MSG_NOSIGNAL) == sizeof(path))
		while (recv(socket, &r, sizeof(r), 0) < 0 && errno == EINTR)
			;
	if (*path) {
		unlink(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	/* Closes the socket before it drains, because the parent waits for its end. */
	if (fd >= 0 && somebody_writes(fd)) {
		send(socket, &r, sizeof(r), MSG_NOSIGNAL);
		close(socket);
		drain_until_nobody_writes(fd);
	}
	_exit(0);
}

/* ---- this process ---- */

static int hear_place(struct marks *m)
{
	int r = 0;

	if (recv(m->guard, &r, sizeof(r), 0) != sizeof(r))
		return -ECHILD;
	if (r)
		return r;
	return recv(m->guard, m->path, sizeof(m->path), 0) == sizeof(m->path) ? 0 : -ECHILD;
}

static int begin_guard(struct marks *m, const struct invoker *inv)
{
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (pid == 0)
		guard_run(sockets[1], inv);
	close(sockets[1]);
	m->guard = sockets[0];
	m->guard_pid = pid;
	return pid < 0 ? -EAGAIN : hear_place(m);
}

/* Opened for writing too: otherwise it is at its end while there is no writer. */
static int open_fifo(struct marks *m, const struct invoker *inv)
{
	struct access saved;
	int r = access_enter(inv, &saved);

	if (r)
		return r;
	m->fd = access_open(AT_FDCWD, m->path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0, ACCESS_STREAM);
	access_leave(&saved);
	return m->fd < 0 ? m->fd : 0;
}

int marks_new_list(struct marks **ret)
{
	struct marks *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->fd = m->guard = -1;
	m->looked_ns = m->empty_ns = clock_now_ns();
	*ret = m;
	return 0;
}

int marks_new(const struct invoker *inv, struct marks **ret, struct errtext *err)
{
	int r = marks_new_list(ret);

	if (!r)
		r = begin_guard(*ret, inv);
	if (!r)
		r = open_fifo(*ret, inv);
	if (!r)
		return 0;
	marks_free(*ret);
	*ret = NULL;
	return errtext_set(err, r,
			   "the command cannot mark moments of the run: no FIFO below "
			   "/run/user, TMPDIR or /tmp: %s",
			   strerror(-r));
}

const char *marks_path(const struct marks *m)
{
	return m->path;
}

int marks_fd(const struct marks *m)
{
	return m ? m->fd : -1;
}

size_t marks_waiting(struct marks *m)
{
	int n = 0;

	m->looked_ns = clock_now_ns();
	if (m->fd >= 0 && ioctl(m->fd, FIONREAD, &n) == 0 && n > 0)
		return (size_t)n;
	m->empty_ns = m->looked_ns;
	return 0;
}

bool marks_full(const struct marks *m)
{
	return m->taken >= MARKS_MAX;
}

static bool grow(struct marks *m)
{
	size_t room = m->room ? m->room * 2 : 8;
	struct sample_mark *list;

	if (m->nr < m->room)
		return true;
	list = realloc(m->list, room * sizeof(*list));
	if (!list)
		return false;
	m->list = list;
	m->room = room;
	return true;
}

static void end_line(struct marks *m)
{
	struct sample_mark *mark;

	/* A line end of another system. */
	if (m->len && m->len < MARK_TEXT_MAX && m->line[m->len - 1] == '\r')
		m->len--;
	if (!m->len)
		return;
	if (marks_full(m) || !grow(m)) {
		m->dropped++;
	} else {
		mark = &m->list[m->nr++];
		memset(mark, 0, sizeof(*mark));
		mark->number = ++m->taken;
		mark->since_ns = m->line_ns;
		mark->waits = m->asks;
		mark->len = m->len;
		memcpy(mark->text, m->line, m->len);
	}
	m->len = 0;
}

/* Truncates long lines. */
void marks_take(struct marks *m, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool first = !m->len && !m->asks;

		if (first)
			m->line_ns = m->empty_ns;
		if (data[i] == '\n') {
			end_line(m);
			m->asks = false;
		} else if (first && data[i] == MARK_ASKS) {
			m->asks = true;
		} else if (m->len < MARK_TEXT_MAX) {
			m->line[m->len++] = data[i];
		}
	}
}

void marks_read(struct marks *m, size_t bytes)
{
	char data[CHUNK];

	while (bytes) {
		ssize_t n = read(m->fd, data, bytes < sizeof(data) ? bytes : sizeof(data));

		if (n <= 0)
			return;
		marks_take(m, data, (size_t)n);
		bytes -= (size_t)n;
	}
}

void marks_finish(struct marks *m)
{
	end_line(m);
}

void marks_set(struct marks *m, const struct sample *s, uint64_t read_on_ns,
	       const struct counters *total, uint64_t cpu_ns)
{
	for (; m->nr_set < m->nr; m->nr_set++) {
		struct sample_mark *mark = &m->list[m->nr_set];
		/* A writer stops waiting some time after its line was read, never before. */
		uint64_t waited = clock_now_ns() - mark->since_ns;

		mark->at_ns = s->start_ns + s->duration_ns;
		if (!mark->waits || waited >= MARK_WAIT_NS)
			mark->late_ns = s->end_ns - mark->since_ns;
		mark->read_on_ns = read_on_ns;
		mark->total = *total;
		mark->cpu_ns = cpu_ns;
	}
	/* All lines of that time were read; the rest came later. */
	m->empty_ns = m->looked_ns;
}

const struct sample_mark *marks_fresh(const struct marks *m, size_t *ret_nr)
{
	*ret_nr = m->nr_set;
	return m->list;
}

uint64_t marks_dropped(const struct marks *m)
{
	return m->dropped;
}

void marks_stored(struct marks *m)
{
	m->nr -= m->nr_set;
	if (m->nr)
		memmove(m->list, &m->list[m->nr_set], m->nr * sizeof(*m->list));
	m->nr_set = 0;
}

/* Waits until the FIFO is removed. Reaps the guard if it has ended, which it does when no process
 * has the FIFO open. */
static void end_guard(struct marks *m)
{
	ssize_t n;
	int told;

	if (m->guard < 0)
		return;
	shutdown(m->guard, SHUT_WR);
	do {
		n = recv(m->guard, &told, sizeof(told), 0);
	} while (n < 0 && errno == EINTR);
	close(m->guard);
	if (n == 0 && m->guard_pid > 0)
		waitpid(m->guard_pid, NULL, 0);
}

void marks_free(struct marks *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	end_guard(m);
	free(m->list);
	free(m);
}
