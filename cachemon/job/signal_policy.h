/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a signal to cachemon means: a pure decision from who sent it and what runs. Handles no
 * signals itself.
 */
#ifndef SIGNAL_POLICY_H
#define SIGNAL_POLICY_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

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
 * For SIGINT, SIGTERM, SIGHUP and SIGQUIT; others are noted. The terminal's signals come from the
 * kernel and go to the whole foreground group, CMD included. A kill(2) to the group cannot be
 * told from one to cachemon: CMD may get that one twice. Counts in state.
 */
enum signal_action signal_policy_decide(const struct signal_seen *seen, struct signal_state *state);

#endif
