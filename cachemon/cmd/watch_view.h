/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A watch on a terminal: its loop, the line that it rewrites, and with --live a full screen in a
 * process of its own. Owns that process, and what is said meanwhile: on that screen there is no
 * place for it. watch_live_*() are in watch_live.c; watch_loop() and watch_signals_open() in
 * watch_loop.c.
 */
#ifndef WATCH_VIEW_H
#define WATCH_VIEW_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cachemon/watch/watch.h"
#include "cachemon/base/errtext.h"

struct watch_view;

/* Whether the terminal is there, and CMD not on it; -errno with one line that says what to do. */
int watch_view_check(const struct watch_options *o, struct errtext *err);
/* Of a run that has begun. From here on what goes to stderr is kept until the view has ended. */
int watch_view_begin(const struct watch_run *run, struct watch_view **ret, struct errtext *err);
/* Readable when it has ended; -1: there is none. */
int watch_view_fd(const struct watch_view *v);
/* Ends it if it has not, and shows what was kept; NULL is fine. */
void watch_view_end(struct watch_view *v);

/* A terminal that can rewrite a line. */
bool watch_live_possible(FILE *out);

/* Where the line is. */
struct watch_place {
	bool shared;	   /* CMD writes to the terminal too: the line has the last row */
	unsigned int rows; /* of the terminal when that row was taken; 0: it is not */
	bool lost;	   /* another job has had the terminal since */
	int alive;	   /* while it is open the keeper of the rows waits */
	pid_t keeper;	   /* 0: none */
};

/* Each of these writes nothing while another job has the terminal. */
void watch_live_show(FILE *out, struct watch_place *place, const struct watch_figures *f);
/* In its place, while there are no figures yet. */
void watch_live_note(FILE *out, const char *text);
/* The terminal is as it was before the line. */
void watch_live_clear(FILE *out, struct watch_place *place);

/* Runs until the job ends or a signal says so; the status to exit with. */
int watch_loop(const struct watch_options *o, struct watch_run *run, int signal_fd);

/* From here on SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH come by the descriptor, and SIGTSTP
 * while there is a line; < 0: -errno. */
int watch_signals_open(void);

#endif
