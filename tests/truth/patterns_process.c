// SPDX-License-Identifier: BSD-2-Clause
/* The reader: killed, several, forked, orphaned, exec'ed, threads. */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wl.h"

#define STEP 20000

static void read_all(struct oracle *o, uint64_t step)
{
	struct opener s = opener_open(o, O_RDONLY);

	op_read_all(&s, op_seek_read, 0, o->size_bytes, step);
	opener_close(&s);
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

static void wait_for(pid_t pid, int expected)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	if (status != expected)
		errx(1, "a child ended with %#x, not %#x", status, expected);
}

static void read_in_child(struct oracle *o)
{
	pid_t pid = fork_or_die();

	if (!pid) {
		read_all(o, STEP);
		_exit(0);
	}
	wait_for(pid, 0);
}

/* The middle process is gone before the reading begins: by then its child belongs to init. */
static void read_in_orphan(struct oracle *o)
{
	int done[2], orphaned[2];
	pid_t pid;
	char c;

	if (pipe(done) || pipe(orphaned))
		err(1, "pipe");
	pid = fork_or_die();
	if (!pid && fork_or_die())
		_exit(0);
	if (!pid) {
		close(orphaned[1]);
		if (read(orphaned[0], &c, 1) != 0)
			_exit(1);
		read_all(o, STEP);
		c = 'd';
		_exit(write(done[1], &c, 1) == 1 ? 0 : 1);
	}
	wait_for(pid, 0);
	close(orphaned[1]);
	close(done[1]);
	if (read(done[0], &c, 1) != 1)
		oracle_disturb(o, "the orphan failed", 0);
	close(done[0]);
	close(orphaned[0]);
}

static void *read_in_thread(void *o)
{
	read_all(o, STEP);
	return NULL;
}

static pid_t spawn_plain(struct wl *w, const char *path)
{
	pid_t pid = fork_or_die();

	if (!pid) {
		execl(w->self, w->self, "plain", path, (char *)NULL);
		err(1, "%s", w->self);
	}
	return pid;
}

/* nr processes that read all of o at once, without looks in between. */
static void read_by_programs(struct wl *w, struct oracle *o, int nr)
{
	struct op op = {.kind = OP_OVERLAP};
	pid_t pids[4];

	o->known = KNOW_OVERLAPPED;
	oracle_before(o, &op);
	for (int i = 0; i < nr; i++)
		pids[i] = spawn_plain(w, o->path);
	for (int i = 0; i < nr; i++)
		wait_for(pids[i], 0);
	oracle_after(o, &op);
	for (int i = 0; i < nr; i++)
		for (uint64_t at = 0; at < o->size_bytes; at += STEP)
			op_count(o, at, STEP);
}

static void workers(struct wl *w)
{
	struct oracle *threaded = wl_oracle(w, 3, 0);
	pthread_t thread;
	void *ret;

	read_in_child(wl_oracle(w, 0, 0));
	read_in_orphan(wl_oracle(w, 1, 0));
	read_by_programs(w, wl_oracle(w, 2, 0), 1);
	if (pthread_create(&thread, NULL, read_in_thread, threaded) || pthread_join(thread, &ret))
		errx(1, "thread");
}

static void two_in_turn(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	read_in_child(s.o);
	read_in_child(s.o);
	wl_drop(&s);
	read_in_child(s.o);
	opener_close(&s);
}

static void two_at_once(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	read_by_programs(w, s.o, 2);
	wl_drop(&s);
	opener_close(&s);
}

/* Killed during a call, as far as can be seen from outside, after some complete calls. */
static void killed(struct wl *w)
{
	struct oracle *o = wl_oracle(w, 0, 0);
	pid_t pid = fork_or_die();

	/* Repeated, because on a busy machine the check may come late. */
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid)
		read_all(o, 4 * MIB);
	while (*(volatile uint64_t *)&o->f[F_read_calls] < 3 || o->phase != PHASE_IN_CALL)
		sched_yield();
	if (kill(pid, SIGKILL))
		err(1, "kill");
	wait_for(pid, SIGKILL);
	oracle_after_kill(o);
}

/* Killed between calls: everything is known. */
static void killed_between(struct wl *w)
{
	struct oracle *o = wl_oracle(w, 0, 0);
	pid_t pid = fork_or_die();
	int status;

	if (!pid) {
		struct opener s = opener_open(o, O_RDONLY);

		op_read_all(&s, op_seek_read, 0, 16 * MIB, STEP);
		raise(SIGSTOP);
		op_read_all(&s, op_seek_read, 16 * MIB, o->size_bytes, STEP);
		_exit(0);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		errx(1, "the child did not stop");
	kill(pid, SIGKILL);
	wait_for(pid, SIGKILL);
}

const struct pattern patterns_process[] = {
	{"workers", SETUP_many, workers},
	{"two_in_turn", SETUP_cold, two_in_turn},
	{"two_at_once", SETUP_cold, two_at_once},
	{"killed", SETUP_cold, killed},
	{"killed_between", SETUP_cold, killed_between},
	{0},
};
