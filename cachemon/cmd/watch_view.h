/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A watch on a terminal: its loop, the line that it rewrites, and with --live a full screen in a
 * separate process. Owns that process, and the messages of that time, which cannot go to the
 * screen. watch_live_*() are in watch_live.c; the rest is in watch_loop.c.
 */
#ifndef WATCH_VIEW_H
#define WATCH_VIEW_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cachemon/watch/watch.h"
#include "cachemon/base/errtext.h"

struct watch_view;

/* Whether there is a terminal that CMD does not write to; -errno with one line that says what to
 * do. */
int watch_view_check(const struct watch_options *o, struct errtext *err);
/* Starts the view for a run that has begun. Then stderr is stored until the view has ended. */
int watch_view_begin(const struct watch_run *run, struct watch_view **ret, struct errtext *err);
/* Readable when the view has ended; -1: no view. */
int watch_view_fd(const struct watch_view *v);
/* Ends the view if necessary, and shows stored messages; NULL is fine. */
void watch_view_end(struct watch_view *v);

/* A terminal that can rewrite a line. */
bool watch_live_possible(FILE *out);

/* The place of the line. */
struct watch_place {
	bool shared;	   /* CMD writes to the terminal too: the line uses the last row */
	unsigned int rows; /* rows of the terminal when the last row was taken; 0: not taken */
	bool lost;	   /* another job has had the terminal since then */
	int alive;	   /* its write end: while open, the row keeper waits */
	pid_t keeper;	   /* 0: none */
};

/* These write nothing while another job has the terminal. */
void watch_live_show(FILE *out, struct watch_place *place, const struct watch_figures *f);
/* Shown instead until there are figures. */
void watch_live_note(FILE *out, const char *text);
/* Restores the terminal to its state before the line. */
void watch_live_clear(FILE *out, struct watch_place *place);

/* Runs until the job ends or a signal requests it; returns the exit status. */
int watch_loop(const struct watch_options *o, struct watch_run *run, int signal_fd);

/* Prints the summary of a run that has ended, and writes its report; -errno: part of it is missing,
 * and the error was printed. The database is read only with the invoker's rights. */
int watch_show_ended(const struct watch_options *o, const struct invoker *invoker, const char *db,
		     int64_t run_id);
/* CMD's exit status, unless it succeeded and its record is incomplete, which is said. */
int watch_status(int status, bool failed);

/* From here on SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH arrive through the descriptor, and
 * SIGTSTP while there is a line; < 0: -errno. */
int watch_signals_open(void);

#endif
