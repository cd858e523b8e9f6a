/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The intervals of a job as a bounded number of buckets, so that a run of any length has a timeline
 * that adds up to its totals. Owns which interval is in which bucket. Knows neither SQL nor syntax.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include <stddef.h>

#include "cachemon/figures/counts.h"

enum { TIMELINE_BUCKETS = 120 };

struct timeline_bucket {
	int64_t start_ns;    /* since the start of the run */
	int64_t duration_ns; /* of its intervals together */
	int64_t read_on_ns;  /* of that, with the per-read hook on */
	int64_t intervals;   /* that were recorded */
	struct opt_i64 cpu_ns;
	struct counts counts; /* changes: resident_unused and the sizes of windows may be below 0 */
};

struct timeline {
	struct timeline_bucket buckets[TIMELINE_BUCKETS];
	size_t nr;
	struct timeline_bucket rest; /* counted, but in no interval that could be written */
	bool has_rest;
	int64_t length_ns; /* of a bucket, about */
};

/* For intervals that end at end_ns at the latest. */
void timeline_begin(struct timeline *t, int64_t end_ns);
/* In the order of time. In a sliced run (counts.sliced) what only the per-read hook sees is not
 * known of an interval in which it was ever off. */
void timeline_add(struct timeline *t, const struct timeline_bucket *interval);
/* A count below 0 belongs to what began in the bucket before, which takes it in; what the buckets
 * lack of the totals is the rest. */
void timeline_end(struct timeline *t, const struct counts *total, struct opt_i64 cpu_ns);

#endif
