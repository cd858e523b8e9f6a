/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command that cachemon watches (watch -- CMD): forked before anything is loaded, held until
 * all is attached, then let go as the invoking user. It keeps stdin, stdout, stderr, the working
 * directory, the process group and every descriptor that cachemon got from its caller; cachemon's
 * own are all close-on-exec. Cachemon's death never ends it: before command_go() it is not run.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <sys/types.h>

#include "cachemon/base/errtext.h"
#include "cachemon/access/invoker.h"

enum { COMMAND_FAILED = 125, COMMAND_NOT_EXECUTABLE = 126, COMMAND_NOT_FOUND = 127 };

struct command;

/*
 * variable: "NAME=value" for its environment, or NULL.
 * Fork the child and wait until it is the invoker, with its signals unblocked and at their
 * defaults (except HUP, INT, QUIT and XFSZ that the caller had ignored, as nohup does). Sets an
 * ignored SIGCHLD to its default here too, because the exit status would be lost.
 */
int command_prepare(char *const argv[], const struct invoker *inv, const char *variable,
		    struct command **ret, struct errtext *err);

/*
 * Let it run. 0 once CMD is executing. Else CMD has not run, command_reap() gives the status to
 * exit with and err says why: 127 not found, 126 not executable, 128+N ended by a signal while
 * it waited (-ECANCELED).
 */
int command_go(struct command *c, struct errtext *err);

/* Its thread group, valid until it is reaped; a pidfd that polls readable when it has ended. */
pid_t command_pid(const struct command *c);
int command_pidfd(const struct command *c);

/* -ESRCH when it has ended. */
int command_signal(const struct command *c, int signo);

/* Its status once it has ended, as a shell has it: the exit code or 128 + signal; again at will.
 * -EAGAIN while it runs. */
int command_reap(struct command *c, int *ret_status);

/* A command that runs goes on, one that waits never runs. NULL is fine. */
void command_free(struct command *c);

enum signal_action {
	SIGNAL_NOTE,	/* CMD got it as well: go on until CMD ends */
	SIGNAL_FORWARD, /* sent to cachemon alone: pass it on to CMD, go on until CMD ends */
	SIGNAL_FINISH,	/* end the run cleanly: no CMD, or CMD not started yet */
	SIGNAL_ABANDON, /* end at once; CMD, if any, goes on */
};

struct signal_seen {
	int signo;
	int code;     /* si_code */
	pid_t sender; /* si_pid */
};

struct signal_state {
	pid_t cmd;	    /* 0: none, or not started */
	unsigned int stops; /* Ctrl-C so far; without CMD any of the four signals */
};

/*
 * The meaning of a signal to cachemon: a pure decision from the sender and what runs. For SIGINT,
 * SIGTERM, SIGHUP and SIGQUIT; others are noted. The terminal's signals come from the kernel and
 * go to the whole foreground group, CMD included. A kill(2) to the group cannot be distinguished
 * from one to cachemon: CMD may get that one twice. Counts in state.
 */
enum signal_action command_signal_action(const struct signal_seen *seen,
					 struct signal_state *state);

#endif
