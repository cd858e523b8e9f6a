/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Progress of long work: the reports of the working code, the decision when to show them, and the
 * line on a terminal's standard error. Owns those decisions.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Working code reports what it does, and how much of it is done. NULL: no listener. */
struct progress_sink {
	/* what: "rules", lives as long as the work; NULL: the work has ended. total 0: unknown. */
	void (*at)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

void progress_at(const struct progress_sink *sink, const char *what, uint64_t done, uint64_t total);
/* All further output is the result. */
void progress_over(const struct progress_sink *sink);

/* The decisions, without terminal and clock. */
struct progress {
	uint64_t began_ns; /* start of all work */
	uint64_t shown_ns; /* last time shown; 0: never */
	const char *what;  /* NULL: no report yet */
	uint64_t part_began_ns;
	uint64_t done, total;
};

void progress_begin(struct progress *p, uint64_t now_ns);
/* The latest report: a new text begins a new part. */
void progress_note(struct progress *p, uint64_t now_ns, const char *what, uint64_t done,
		   uint64_t total);
/* When to show the line next: once after a tenth of a second, with only the current activity;
 * after two seconds, four times a second. */
uint64_t progress_due_ns(const struct progress *p);
/* The time left in this part at the present pace; -1: unknown. */
int64_t progress_left_ns(const struct progress *p, uint64_t now_ns);
/* One line that is shorter than the number of columns, without a line end. */
void progress_line(const struct progress *p, uint64_t now_ns, size_t columns, char *ret,
		   size_t size);

/*
 * A separate thread shows the line, whether the work is in a query, in a replay or waiting for a
 * lock. If standard error is not a terminal, there is neither line nor thread.
 */
struct progress_show;

/* NULL: nothing is shown; all functions below accept it. */
struct progress_show *progress_show_begin(void);
/* NULL if nothing is shown. */
const struct progress_sink *progress_show_sink(const struct progress_show *s);
/* Removes the line for a moment, so that output has the terminal for itself. */
void progress_show_pause(struct progress_show *s);
/* Removes the line for good; call it before other output. */
void progress_show_end(struct progress_show *s);

#endif
