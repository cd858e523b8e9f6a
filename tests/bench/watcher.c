/* SPDX-License-Identifier: BSD-2-Clause */
#include "watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define READY_TIMEOUT_MS 60000
#define STOP_TIMEOUT_MS	 60000

static void run(const struct watcher_config *config, int tty)
{
	const char *argv[8 + WATCHER_ARGS_MAX] = {config->cachemon, "watch"};
	int nr = 2, null = open("/dev/null", O_RDWR);
	char pid[16];

	/* So that a benchmark that dies leaves no probes behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(pid, sizeof(pid), "%d", config->pid);
	argv[nr++] = "--pid";
	argv[nr++] = pid;
	argv[nr++] = "--db";
	argv[nr++] = config->db;
	for (int i = 0; i < WATCHER_ARGS_MAX && config->args[i]; i++)
		argv[nr++] = config->args[i];
	setsid();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(tty, STDERR_FILENO);
	close(tty);
	setenv("TERM", "xterm", 1);
	execv(config->cachemon, (char *const *)argv);
	fprintf(stderr, "cannot run %s: %s", config->cachemon, strerror(errno));
	_exit(127);
}

/* Appends the pending output of the terminal; false if the other side has closed it. */
static bool take(struct watcher *w, int timeout_ms, char *text, size_t size)
{
	struct pollfd p = {.fd = w->tty, .events = POLLIN};
	size_t len = text ? strlen(text) : 0;
	char buf[512];
	ssize_t n;

	if (poll(&p, 1, timeout_ms) <= 0)
		return true;
	n = read(w->tty, buf, sizeof(buf));
	if (n <= 0)
		return n < 0 && errno == EINTR;
	if (text && len + (size_t)n < size) {
		memcpy(text + len, buf, (size_t)n);
		text[len + (size_t)n] = 0;
	}
	return true;
}

void watcher_start(const struct watcher_config *config, struct watcher *ret)
{
	uint64_t start = bench_now_ns(), end = start + READY_TIMEOUT_MS * 1000000ULL;
	char text[4096] = "";
	int slave;

	if (openpty(&ret->tty, &slave, NULL, NULL, NULL))
		bench_fail("no terminal for cachemon: %s", strerror(errno));
	fcntl(ret->tty, F_SETFD, FD_CLOEXEC);
	ret->pid = fork();
	if (ret->pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (!ret->pid)
		run(config, slave);
	close(slave);
	/* The live line: "\r ESC [K hit ...", with the time before it if there is room. */
	while (!strstr(text, "\033[K") || !strstr(text, "hit ")) {
		if (!take(ret, 100, text, sizeof(text)))
			bench_fail("cachemon ended at its start: %s", text);
		if (bench_now_ns() > end)
			bench_fail("cachemon shows no live line within %d s: %s",
				   READY_TIMEOUT_MS / 1000, text);
	}
	ret->ready_ns = bench_now_ns() - start;
}

void watcher_drain(struct watcher *w)
{
	struct pollfd p = {.fd = w->tty, .events = POLLIN};

	while (poll(&p, 1, 0) > 0 && take(w, 0, NULL, 0))
		;
}

void watcher_stop(struct watcher *w)
{
	uint64_t end = bench_now_ns() + STOP_TIMEOUT_MS * 1000000ULL;
	int status;

	kill(w->pid, SIGINT);
	/* The terminal hangs up when the last writer is gone. */
	while (take(w, 100, NULL, 0))
		if (bench_now_ns() > end)
			bench_fail("cachemon does not end on SIGINT within %d s",
				   STOP_TIMEOUT_MS / 1000);
	if (waitpid(w->pid, &status, 0) != w->pid || !WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail("cachemon ended with status 0x%x", status);
	close(w->tty);
}
