/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the top verb: options, frames as text, the screen, a separate capture. Owns what
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
	uint64_t frames;  /* 0: unlimited */
	const char *sort; /* NULL: by misses */
	enum top_level level;
	bool level_given;
	const char *job, *socket;     /* of the daemon of this node; NULL: not given */
	bool records;		      /* an option that needs a collector of its own was given */
	char *watch[TOP_WATCH_WORDS]; /* words for watch; none: no capture */
	int nr_watch;
	bool has_selector;
};

/* A separate watch, into a separate database. */
struct top_capture;

/* Forks the process that becomes the watch, with this one's capabilities; it waits. */
int top_capture_fork(const struct top_options *o, struct top_capture **ret, struct errtext *err);
/* As the invoker: creates its directory and waits until there is a run. -EINTR: *ret_signal
 * came. */
int top_capture_begin(struct top_capture *c, int *ret_signal, struct errtext *err);
const char *top_capture_db(const struct top_capture *c);
/* Whether it has ended on its own. */
bool top_capture_ended(struct top_capture *c);
/* Ends it and removes its files; NULL is fine. If it failed, err has its message. */
int top_capture_end(struct top_capture *c, struct errtext *err);

/* Frames as text, one for each interval. */
int top_batch(struct top_session *s, const struct top_options *o, struct top_capture *capture,
	      FILE *out, int *ret_signal, struct errtext *err);
/* Full screen, until the viewer leaves or a signal comes; ret_signal is that signal, or 0. */
int top_watch_screen(struct top_session *s, const struct top_options *o,
		     struct top_capture *capture, const char *about, int *ret_signal,
		     struct errtext *err);

/* Delivers INT, TERM, HUP and QUIT only where they are waited for. */
void top_signals_hold(void);
/* The signal that arrived, at once or within this time; 0: none. */
int top_signals_wait(int ms);
/* Restores the defaults for a program that is started. */
void top_signals_default(void);
/* Ends as the sender of the signal expects. */
void top_signals_end_by(int signo);

#endif
