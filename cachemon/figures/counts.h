/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of a job, directory or file as a report shows them. Owns the estimates of a sliced run
 * and the derived ratios. Knows neither SQL nor any output format.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include "cachemon/figures/counters.h"
#include "cachemon/base/optional.h"

struct counts {
	int64_t c[C_NR];
	bool known[C_NR];
	bool sliced; /* the per-read hook was on in slices: its figures are estimates or absent */
	const struct estimates *estimates; /* estimates of a sliced job; NULL: not sliced */
	unsigned int bounds;		   /* enum counts_bound: the losses */
};

/* Losses that turn counters into lower bounds: all counters, fates, refaults; pages that were
 * not tracked while the per-read hook was off (fates); reads without an event (that hook's
 * counters). */
enum counts_bound {
	BOUND_ROW = 1 << 0,
	BOUND_PAGES = 1 << 1,
	BOUND_REFAULTS = 1 << 2,
	BOUND_FATES = 1 << 3,
	BOUND_READS = 1 << 4,
};

/* For a sliced job, with their 90 % intervals; absent ones are unknown. */
enum read_estimate {
	ESTIMATE_READ_CALLS,
	ESTIMATE_READ_BYTES,
	ESTIMATE_LOOKUPS,
	ESTIMATE_DELAYED_HITS,
	ESTIMATE_HITS,
	ESTIMATE_HIT_RATIO,
	ESTIMATES,
};

struct range {
	struct opt_f64 value, low, high;
};

struct estimates {
	struct range of[ESTIMATES];
};

/* As in the database and in JSON. */
const char *estimate_name(enum read_estimate e);

struct derived {
	struct opt_i64 hits;
	struct opt_i64 prefetched_pages;
	struct opt_i64 windows;
	struct opt_i64 evicted_pages;
	struct opt_i64 waste_bytes;
	struct opt_i64 law_error_pages; /* |fates - prefetched| */
	struct opt_f64 hit_ratio;
	struct opt_f64 accuracy;
	struct opt_f64 coverage;
	struct opt_f64 timeliness;
	/* Known if they are estimates. */
	struct range accuracy_range, coverage_range, timeliness_range;
};

/* Absent if below 0: a sum of ups and downs that began in the middle. */
struct opt_i64 counts_get(const struct counts *c, enum counter which);
/* A term of a sum over causes: an older run without this cause counted it under another. */
struct opt_i64 counts_part(const struct counts *c, enum counter which);
/* The sum of a figure's terms, SUM_OF(). Absent if a term is absent, or the sum is below 0. */
struct opt_i64 counts_sum(const struct counts *c, const int terms[]);
void counts_forget(struct counts *c, enum counter which);
void counts_forget_stall(struct counts *c);
/* sum += part, with stored values, which may be below 0. */
void counts_add(struct counts *sum, const struct counts *part);
/* sum -= part, for the "rest" of a job. */
void counts_subtract(struct counts *sum, const struct counts *part);
bool counts_any(const struct counts *c);
/* For a sliced run: replaces the per-read hook's counters by the estimates e; NULL: absent.
 * stall_too: only that hook saw stalls, as in earlier versions. */
void counts_slice(struct counts *c, const struct estimates *e, bool stall_too);
/* The 90 % interval of an estimate that is known. */
bool counts_range(const struct counts *c, enum read_estimate e, struct range *ret);
/* Whether this counter of a sliced run is an estimate. */
bool counts_estimated(const struct counts *c, enum counter which);
/* Whether it is a lower bound. */
bool counts_lower_bound(const struct counts *c, enum counter which);
/* Too many pages have an unknown fate for the others to be representative. */
bool counts_too_many_open(double open, double known);
/* So many prefetched pages have an unknown fate that their ratios are absent. */
bool counts_fates_unknown(const struct counts *c);
/* counters_mapped() for a job with that many processes. */
bool counts_mapped(const struct counts *c, struct opt_i64 processes);
void counts_derive(const struct counts *c, int64_t page_size_bytes, struct derived *ret);

#endif
