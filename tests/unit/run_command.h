/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a command as watch does and captures its stdout. Failures fail the test. Include after
 * cmocka.h.
 */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "cachemon/job/command.h"

/* Much longer than anything here takes; only a failure waits that long. */
enum { PATIENCE_MS = 20000 };

static const struct invoker self = {.switched = false};

static inline void await(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static inline int ended_status(struct command *c)
{
	int status = -1;

	await(command_pidfd(c));
	assert_int_equal(command_reap(c, &status), 0);
	return status;
}

/* Starts a command with its stdout in a pipe; *ret_out is the read end. */
static inline struct command *prepare(const char *const argv[], const struct invoker *inv,
				      int *ret_out)
{
	struct command *c = NULL;
	struct errtext err = {""};
	int out[2], saved = dup(STDOUT_FILENO), e;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_true(saved >= 0 && fcntl(saved, F_SETFD, FD_CLOEXEC) == 0);
	assert_true(dup2(out[1], STDOUT_FILENO) >= 0);
	e = command_prepare((char *const *)argv, inv, NULL, NULL, &c, &err);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(out[1]);
	if (e)
		fail_msg("command_prepare: %d %s", e, err.text);
	*ret_out = out[0];
	return c;
}

static inline void read_all(int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd);
}

/* Runs it to the end; returns its status and its output. */
static inline int run(const char *const argv[], const struct invoker *inv, char *text, size_t size)
{
	struct errtext err = {""};
	struct command *c;
	int out, status;

	c = prepare(argv, inv, &out);
	if (command_go(c, &err))
		fail_msg("command_go: %s", err.text);
	read_all(out, text, size);
	status = ended_status(c);
	command_free(c);
	return status;
}

#endif
