/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/child.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"

static void client(struct attempts_job *job, const struct invoker *as, pid_t starter)
{
	struct frame_end end = {.outcome = LLM_NOT_ALLOWED, .tokens_in = -1, .tokens_out = -1};
	char *text = NULL;
	size_t len = 0;
	int fd = child_confine(as, starter, job->fd);

	if (fd < 0) {
		snprintf(end.reason, sizeof(end.reason),
			 "no model is asked: the process for it cannot give up its privileges: %s",
			 strerror(-fd));
	} else {
		job->fd = fd;
		if (curl_global_init(CURL_GLOBAL_DEFAULT))
			_exit(1);
		attempts_run(job, &end, &text, &len);
	}
	frame_end(job->fd, &end, text, len);
	/* Nothing of the starter's is written out, and no resolver is waited for. */
	_exit(0);
}

int child_start(const struct attempts_job *job, const struct invoker *as, struct child *ret,
		struct errtext *err)
{
	struct attempts_job own = *job;
	pid_t starter = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return errtext_set(err, -errno, "no pipe to the client of the model: %m");
	pid = fork();
	if (pid == 0) {
		own.fd = fds[1];
		client(&own, as, starter);
	}
	if (pid < 0) {
		int e = -errno;

		close(fds[0]);
		close(fds[1]);
		return errtext_set(err, e, "no process for the client of the model: %s",
				   strerror(-e));
	}
	close(fds[1]);
	ret->pid = pid;
	ret->fd = fds[0];
	return 0;
}

int child_end(struct child *c)
{
	int status = -1;
	pid_t got = waitpid(c->pid, &status, WNOHANG);

	cleanup_close(&c->fd);
	c->fd = -1;
	/* It is there yet: its number is nobody else's. */
	if (got == 0) {
		kill(c->pid, SIGKILL);
		do
			got = waitpid(c->pid, &status, 0);
		while (got < 0 && errno == EINTR);
	}
	return got == c->pid ? status : -1;
}
