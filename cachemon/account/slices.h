/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates what only the per-read hook sees, for a run whose hook is on in slices at random
 * places. A part is the time between two samples; its data is what was seen in its slices, and what
 * the job's tasks read from anything, in slices and in total. Owns the estimator; knows no probe,
 * no clock and no SQL. docs/design.md has the formulas. */
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

/* More parts than this are joined with their neighbours, two at a time. */
#define SLICE_PARTS_MAX 1024
/* Parts of a stratum: neighbours in time, which share a ratio. */
#define SLICE_STRATUM 6
/* The cost of switching widens each interval by this share of the estimate, up and down.
 * Measured: up to 0.0005 for 4 KiB reads. */
#define SLICE_SEAM 0.001
/* Something that none of n slices saw, such as reads of a pipe, may still have taken this share / n
 * of the time, with a probability of 10 %. This widens each interval, up and down. */
#define SLICE_UNSEEN 2.3
/* Limit for bytes seen beyond what the job's tasks read themselves, as a share. The excess
 * belongs to AIO, io_uring or splice; no kernel counter has their bytes, so the amount outside
 * slices is unknown. */
#define SLICE_UNCOUNTED_MAX 0.05
/* A figure with a wider interval than this share of the estimate is not shown. */
#define SLICE_WIDTH_MAX 0.25

/* By the kernel's own counters (rchar and syscr), which are always exact. */
struct slice_read {
	double bytes, calls;
};

struct slice_part {
	double seen[SLICE_FIGURES]; /* while the hook was on */
	struct slice_read on;	    /* read while it was on */
	struct slice_read all;	    /* read in total */
	unsigned int cuts; /* ends of slices; a call in progress there is counted in part */
};

struct slices {
	double exact[SLICE_FIGURES]; /* of parts with the hook on all the time */
	struct slice_part parts[SLICE_PARTS_MAX];
	size_t nr;
	unsigned int per_part;	/* number of samples joined in each part */
	unsigned int last_part; /* number in the last part */
	bool lost;		/* the tasks' counters could not be read once */
};

/* An estimate with its 90 % interval. !known: reason says why, and the other fields are invalid. */
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
/* Lookups minus misses, and that divided by lookups. */
void slices_hits(const struct slices *s, double misses, struct slice_estimate *ret_hits,
		 struct slice_estimate *ret_ratio);

#endif
