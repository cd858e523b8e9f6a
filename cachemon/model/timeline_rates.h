/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is drawn of a bucket of a timeline: rates of its counts. Owns which counts make which rate,
 * so that every picture over time shows the same.
 */
#ifndef REPORT_TIMELINE_RATES_H
#define REPORT_TIMELINE_RATES_H

#include "cachemon/model/timeline.h"

enum timeline_rate {
	RATE_HITS,
	RATE_MISSES,
	RATE_USED,
	RATE_LATE,
	RATE_WASTED,
	RATE_RESIDENT,
	RATE_UNTRACKED,
	RATE_BY_KSWAPD,
	RATE_BY_TASK,
	RATE_BY_LIMIT,
	RATE_DROPPED,
	RATE_ELSE,
	RATE_STALL, /* seconds a second: tasks that sleep */
	RATE_NR,
};

/* A second; NAN: not known. */
double timeline_rate(const struct timeline_bucket *b, enum timeline_rate which);
/* What all of a line is, by what was lost of the whole: a mark of show.h, or NULL. */
const char *timeline_rate_mark(const struct counts *whole, enum timeline_rate which);
double timeline_from_s(const struct timeline_bucket *b);
double timeline_to_s(const struct timeline_bucket *b);

#endif
