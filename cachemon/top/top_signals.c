/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that end the view: taken where it waits, so that what it started can be ended too. */
#include <signal.h>
#include <time.h>

#include "cachemon/top/top.h"

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { NR_ENDS = sizeof(ends) / sizeof(ends[0]) };

void top_signals_set(sigset_t *ret)
{
	sigemptyset(ret);
	for (int i = 0; i < NR_ENDS; i++)
		sigaddset(ret, ends[i]);
}

void top_signals_hold(void)
{
	sigset_t set;

	top_signals_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A reader that has gone is told by what is written. */
	signal(SIGPIPE, SIG_IGN);
}

void top_signals_default(void)
{
	sigset_t none;

	for (int i = 0; i < NR_ENDS; i++)
		signal(ends[i], SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int top_signals_wait(int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	sigset_t set;
	int signo;

	top_signals_set(&set);
	signo = sigtimedwait(&set, NULL, &time);
	return signo > 0 ? signo : 0;
}

void top_signals_end_by(int signo)
{
	fflush(stdout);
	top_signals_default();
	raise(signo);
}
