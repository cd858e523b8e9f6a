/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The intervals of a job as a bounded number of buckets, so that a run of any length has a timeline
 * that adds up to its totals, and rates of the counts of a bucket. Owns which interval is in which
 * bucket and which counts make which rate, so that every picture over time shows the same. Knows
 * neither SQL nor syntax.
 */
#ifndef MODEL_TIMELINE_H
#define MODEL_TIMELINE_H

#include <stddef.h>

#include "cachemon/figures/counts.h"

enum { TIMELINE_BUCKETS = 120 };

struct timeline_bucket {
	int64_t start_ns;    /* since the start of the run */
	int64_t duration_ns; /* length of its intervals together */
	int64_t read_on_ns;  /* part of duration_ns with the per-read hook on */
	int64_t intervals;   /* number of recorded intervals */
	struct opt_i64 cpu_ns;
	struct counts counts; /* resident_unused and windows are changes: may be < 0 */
};

struct timeline {
	struct timeline_bucket buckets[TIMELINE_BUCKETS];
	size_t nr;
	struct timeline_bucket rest; /* counted, but not in any stored interval */
	bool has_rest;
	int64_t length_ns; /* approximate length of a bucket */
};

/* For intervals that end at end_ns at the latest. */
void timeline_begin(struct timeline *t, int64_t end_ns);
/* In order of time. In a sliced run (counts.sliced), counters of the per-read hook are unknown for
 * an interval in which it was ever off. */
void timeline_add(struct timeline *t, const struct timeline_bucket *interval);
/* A count below 0 belongs to something that began in the previous bucket, so it is added there. The
 * rest is the totals minus the buckets. */
void timeline_end(struct timeline *t, const struct counts *total, struct opt_i64 cpu_ns);

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
	RATE_STALL, /* seconds per second: the number of sleeping tasks */
	RATE_NR,
};

/* Per second; NAN: unknown. */
double timeline_rate(const struct timeline_bucket *b, enum timeline_rate which);
/* The mark of a line's values, from the losses that affect it: a mark of show.h, or NULL. */
const char *timeline_rate_mark(const struct counts *whole, enum timeline_rate which);
double timeline_from_s(const struct timeline_bucket *b);
double timeline_to_s(const struct timeline_bucket *b);

#endif
