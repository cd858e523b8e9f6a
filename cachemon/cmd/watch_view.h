/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch --live: the full screen beside a running watch, as a process of its own. Owns that process,
 * and what is said meanwhile: on that screen there is no place for it.
 */
#ifndef WATCH_VIEW_H
#define WATCH_VIEW_H

#include <stdbool.h>

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

#endif
