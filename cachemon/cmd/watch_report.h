/* SPDX-License-Identifier: BSD-2-Clause */
/* What watch prints and writes when a run has ended: the summary, and the report of --report. */
#ifndef WATCH_REPORT_H
#define WATCH_REPORT_H

#include "cachemon/watch/watch.h"

/* After watch_run_finish(). -errno: part of it is missing; that was said. */
int watch_report(const struct watch_options *o, const struct watch_run *run);

#endif
