/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command that cachemon watches (watch -- CMD): forked before anything is loaded, held until
 * all probes are attached, then run as the invoking user. It keeps stdin, stdout, stderr, the
 * working directory, the process group and every descriptor that cachemon's caller passed;
 * cachemon's own are all close-on-exec. cachemon's death never ends it; before command_go() it does
 * not run.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <sys/types.h>

#include "cachemon/base/errtext.h"
#include "cachemon/access/invoker.h"

enum { COMMAND_FAILED = 125, COMMAND_NOT_EXECUTABLE = 126, COMMAND_NOT_FOUND = 127 };

struct command;

/*
 * variable: "NAME=value" for its environment, or NULL. Forks the child and waits until it is the
 * invoker, with its signals unblocked and at their defaults (except HUP, INT, QUIT and XFSZ that
 * the caller had ignored, as nohup does). Resets an ignored SIGCHLD here too, because the exit
 * status would be lost. meet: a Unix socket of packets to which the child connects, so that
 * its owner knows the process from the kernel; or NULL.
 */
int command_prepare(char *const argv[], const struct invoker *inv, const char *variable,
		    const char *meet, struct command **ret, struct errtext *err);

/* The child's connection, which the caller closes; or -errno of connecting it. */
int command_meeting(struct command *c);

/*
 * Runs it. 0: CMD is executing. Otherwise CMD has not run, command_reap() returns the exit status
 * and err says why: 127 not found, 126 not executable, 128+N ended by a signal while it waited
 * (-ECANCELED).
 */
int command_go(struct command *c, struct errtext *err);

/* Its thread group, valid until it is reaped; a pidfd that polls readable when it has ended. */
pid_t command_pid(const struct command *c);
int command_pidfd(const struct command *c);

/* -ESRCH if it has ended. */
int command_signal(const struct command *c, int signo);

/* Its status after it has ended, as in a shell: the exit code or 128 + signal; may be called
 * again. -EAGAIN while it runs. */
int command_reap(struct command *c, int *ret_status);

/* A running command continues; a waiting one never runs. NULL is fine. */
void command_free(struct command *c);

enum signal_action {
	SIGNAL_NOTE,	/* CMD received it too: continue until CMD ends */
	SIGNAL_FORWARD, /* sent only to cachemon: forward it to CMD, continue until CMD ends */
	SIGNAL_FINISH,	/* end the run cleanly: no CMD, or not started yet */
	SIGNAL_ABANDON, /* end at once; CMD, if any, continues */
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
 * The meaning of a signal for cachemon: a pure decision from the sender and the state. For SIGINT,
 * SIGTERM, SIGHUP and SIGQUIT; others are noted. The terminal's signals come from the kernel and go
 * to the whole foreground group, CMD included. A kill(2) to the group cannot be distinguished from
 * one to cachemon, so CMD may receive it twice. Counts in state.
 */
enum signal_action command_signal_action(const struct signal_seen *seen,
					 struct signal_state *state);

#endif
