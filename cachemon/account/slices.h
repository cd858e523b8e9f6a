/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates of what only the per-read hook sees, of a run that has it on in slices at random
 * places. A part is the time between two samples: what was seen in its slices, and what the job's
 * tasks read of anything, in its slices and in all. Owns the estimator; knows no probe, no clock
 * and no SQL. docs/design.md has the formulas.
 */
#ifndef SLICES_H
#define SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slice_figure {
	SLICE_READ_CALLS,
	SLICE_READ_BYTES,
	SLICE_LOOKUPS,
	SLICE_DELAYED_HITS,
	SLICE_FIGURES,
};

/* More parts than that are joined, two neighbours at a time. */
#define SLICE_PARTS_MAX 1024
/* Parts of a stratum: neighbours in time, which share a ratio. */
#define SLICE_STRATUM 6
/* The cost of switching widens each interval by this share of the estimate, either way. Measured:
 * up to 0.0005 of 4 KiB reads. */
#define SLICE_SEAM 0.001
/* Something that none of n slices saw may still have taken this share / n of the time, with a
 * chance of one in ten: bytes of a pipe, for example, which are not lookups. It widens each
 * interval, either way. */
#define SLICE_UNSEEN 2.3
/* More than this share of the bytes that were seen, beyond what the job's tasks read themselves:
 * the rest is of AIO, io_uring or splice, whose bytes no count of the kernel's has, so that nothing
 * says how many there were outside of slices. */
#define SLICE_UNCOUNTED_MAX 0.05
/* An interval that is wider than this part of the estimate is not worth a figure. */
#define SLICE_WIDTH_MAX 0.25

/* By the kernel's own count (rchar and syscr), exact at all times. */
struct slice_read {
	double bytes, calls;
};

struct slice_part {
	double seen[SLICE_FIGURES]; /* while the hook was on */
	struct slice_read on;	    /* read while it was on */
	struct slice_read all;	    /* read in all */
	unsigned int cuts;	    /* ends of slices: a call under way is counted in part */
};

struct slices {
	double exact[SLICE_FIGURES]; /* of parts with the hook on all the time */
	struct slice_part parts[SLICE_PARTS_MAX];
	size_t nr;
	unsigned int per_part;	/* samples that are joined in each part; */
	unsigned int last_part; /* in the last one */
	bool lost;		/* the tasks' own count could not be read once */
};

/* An estimate with its 90 % interval. !known: reason says why, and the rest means nothing. */
struct slice_estimate {
	bool known;
	double value, low, high;
	const char *reason;
};

/* The hook was on all the time. */
void slices_exact(struct slices *s, const double seen[SLICE_FIGURES]);
void slices_add(struct slices *s, const struct slice_part *part);

void slices_estimate(const struct slices *s, enum slice_figure which, struct slice_estimate *ret);
/* misses: of the whole run, exact; each is a lookup. */
void slices_lookups(const struct slices *s, double misses, struct slice_estimate *ret);
/* Lookups less misses, and that by lookups. */
void slices_hits(const struct slices *s, double misses, struct slice_estimate *ret_hits,
		 struct slice_estimate *ret_ratio);

#endif
