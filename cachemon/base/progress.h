/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far long work is: what the work says of itself, when that is to be shown, and the line on a
 * terminal's standard error that shows it. Owns those decisions.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code that works reports what it does, and how much of it is done. NULL: nobody listens. */
struct progress_sink {
	/* what: "rules", lives as long as the work; NULL: it is over. total 0: nobody knows. */
	void (*at)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

void progress_at(const struct progress_sink *sink, const char *what, uint64_t done, uint64_t total);
/* Everything printed from here is the result. */
void progress_over(const struct progress_sink *sink);

/* The decisions, without a terminal and a clock. */
struct progress {
	uint64_t began_ns; /* all of the work */
	uint64_t shown_ns; /* last; 0: never */
	const char *what;  /* NULL: nothing was said yet */
	uint64_t part_began_ns;
	uint64_t done, total;
};

void progress_begin(struct progress *p, uint64_t now_ns);
/* The last report: a new text begins a new part. */
void progress_note(struct progress *p, uint64_t now_ns, const char *what, uint64_t done,
		   uint64_t total);
/* When the line is to be shown next: once before a tenth of a second is over, which says what goes
 * on and nothing else; from two seconds on four times a second. */
uint64_t progress_due_ns(const struct progress *p);
/* The time left in this part, at the pace so far; -1: unknown. */
int64_t progress_left_ns(const struct progress *p, uint64_t now_ns);
/* One line of fewer characters than there are columns, without its end. */
void progress_line(const struct progress *p, uint64_t now_ns, size_t columns, char *ret,
		   size_t size);

/*
 * A separate thread shows the line, whether the work is in a query, in a replay or waiting for a
 * lock. If standard error is not a terminal, there is neither line nor thread.
 */
struct progress_show;

/* NULL: nothing will be shown; all below takes that. */
struct progress_show *progress_show_begin(void);
/* NULL where nothing is shown. */
const struct progress_sink *progress_show_sink(const struct progress_show *s);
/* The line is gone for a moment: what is printed at once has the terminal for itself. */
void progress_show_pause(struct progress_show *s);
/* The line is gone, and stays away; before anything else is printed. */
void progress_show_end(struct progress_show *s);

#endif
