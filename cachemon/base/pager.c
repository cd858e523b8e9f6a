/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"

/* As in a shell: the command does not exist, or cannot be run. */
enum { CANNOT_RUN = 126, NOT_FOUND };

static const char *pager_command(void)
{
	return getenv("PAGER") ?: "less";
}

static bool pager_wanted(void)
{
	const char *command = pager_command();

	return *command && strcmp(command, "cat") != 0 &&
	       strcmp(getenv("TERM") ?: "dumb", "dumb") != 0;
}

static void __attribute__((noreturn)) run_pager(int in)
{
	dup2(in, STDIN_FILENO);
	close(in);
	/* Does not override the user's setting. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", pager_command(), (char *)NULL);
	_exit(NOT_FOUND);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int feed(const char *text, size_t len, int *ret_status)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, broken;
	int fds[2], r;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds))
		return -errno;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		run_pager(fds[0]);
	}
	r = pid < 0 ? -errno : 0;
	close(fds[0]);
	/* Ctrl-C belongs to the pager. */
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGPIPE, &ignore, &broken);
	if (pid > 0)
		r = write_all(fds[1], text, len);
	close(fds[1]);
	while (pid > 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGPIPE, &broken, NULL);
	return r == -EPIPE ? 0 : r;
}

static int show(const char *text, size_t len, struct errtext *err)
{
	int status = 0;
	int r = feed(text, len, &status);

	if (r || (WIFEXITED(status) && WEXITSTATUS(status) >= CANNOT_RUN))
		r = write_all(STDOUT_FILENO, text, len);
	return r ? errtext_set(err, r, "cannot write to standard output: %s", strerror(-r)) : 0;
}

int pager_put(int (*put)(void *arg, FILE *out, FILE *looks_like, struct errtext *err), void *arg,
	      struct errtext *err)
{
	_cleanup_free_ char *text = NULL;
	struct text_builder b;
	FILE *out;
	int ret = 0, shown;

	if (!isatty(STDOUT_FILENO) || !pager_wanted())
		return put(arg, stdout, NULL, err);
	out = text_begin(&b);
	if (out)
		ret = put(arg, out, stdout, err);
	text = text_end(&b);
	if (ret < 0)
		return ret;
	if (!text)
		return errtext_set(err, -ENOMEM, "not enough memory for the pager");
	shown = show(text, b.len, err);
	return shown ? shown : ret;
}
