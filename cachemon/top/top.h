/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the top verb: options, frames as text, the screen, a capture of its own. Owns what
 * they share. top_batch(), top_watch_screen() and top_signals_*() are in top_loops.c.
 */
#ifndef TOP_H
#define TOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/top/screen.h"
#include "cachemon/top/session.h"
#include "cachemon/base/errtext.h"

enum { TOP_WATCH_WORDS = 16 };

struct top_options {
	const char *db;
	int64_t run_id; /* or REPORT_RUN_LAST */
	bool run_given, replay, batch;
	uint64_t frames;  /* 0: as long as there are any */
	const char *sort; /* NULL: by misses */
	enum top_level level;
	char *watch[TOP_WATCH_WORDS]; /* words for watch; none: nothing is captured */
	int nr_watch;
	bool has_selector;
};

/* A watch of its own, into a database of its own. */
struct top_capture;

/* A process that becomes the watch, with the capabilities of this one; it waits. */
int top_capture_fork(const struct top_options *o, struct top_capture **ret, struct errtext *err);
/* As the invoker: makes its place and waits until there is a run. -EINTR: *ret_signal came. */
int top_capture_begin(struct top_capture *c, int *ret_signal, struct errtext *err);
const char *top_capture_db(const struct top_capture *c);
/* Whether it has ended, by itself. */
bool top_capture_ended(struct top_capture *c);
/* Ends it and removes what it wrote; NULL is fine. What it said, where it failed, is in err. */
int top_capture_end(struct top_capture *c, struct errtext *err);

/* Frames as text, one for each interval. */
int top_batch(struct top_session *s, const struct top_options *o, struct top_capture *capture,
	      FILE *out, int *ret_signal, struct errtext *err);
/* Full screen, until the viewer leaves or a signal comes; that is ret_signal, else 0. */
int top_watch_screen(struct top_session *s, const struct top_options *o,
		     struct top_capture *capture, const char *about, int *ret_signal,
		     struct errtext *err);

/* INT, TERM, HUP and QUIT come where they are waited for, and nowhere else. */
void top_signals_hold(void);
/* The one that came, at once or within so long; 0: none. */
int top_signals_wait(int ms);
/* As they are for a program that is started. */
void top_signals_default(void);
/* As whoever sent it expects. */
void top_signals_end_by(int signo);

#endif
