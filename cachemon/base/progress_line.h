/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line on a terminal's standard error that says how far long work is. Shown by a thread of its
 * own, whatever the work is at: in a query, in a replay, waiting for a lock. Where standard error
 * is no terminal there is neither line nor thread.
 */
#ifndef CMD_PROGRESS_LINE_H
#define CMD_PROGRESS_LINE_H

#include "cachemon/base/progress.h"

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
