/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of a job, directory or file as a report shows them. Owns the estimates of a sliced run
 * and the derived ratios. Knows neither SQL nor any output format.
 */
#ifndef REPORT_COUNTS_H
#define REPORT_COUNTS_H

#include "account/counters.h"
#include "util/optional.h"

struct counts {
	int64_t c[C_NR];
	bool known[C_NR];
	struct opt_i64 misses_read_on; /* misses while the per-read hook was on */
	bool sliced;		       /* counts_scale() made estimates of the read counters */
	unsigned int bounds;	       /* enum counts_bound: what was lost of them */
};

/* Losses that make lower bounds of counters: of all, of what became of pages, of refaults. */
enum counts_bound { BOUND_ROW = 1 << 0, BOUND_PAGES = 1 << 1, BOUND_REFAULTS = 1 << 2 };

/* From "while the per-read hook was on" to the whole run: x num / den. den 0: no scale known. */
struct slice_scale {
	bool sliced;
	int64_t num;
	int64_t den;
};

/* What has been rounded so far. Rounding the running sum, not each file, makes the estimates of
 * the files add up to the estimate of their job; no file is off by more than one. */
enum { COUNTS_CARRIED = 4 }; /* counters that are scaled */

struct slice_carry {
	int64_t raw[COUNTS_CARRIED];
	int64_t scaled[COUNTS_CARRIED];
};

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
};

/* Absent also when below 0: a sum of ups and downs that began in the middle. */
struct opt_i64 counts_get(const struct counts *c, enum counter which);
void counts_forget(struct counts *c, enum counter which);
/* sum += part, as they were stored: also what is below 0. */
void counts_add(struct counts *sum, const struct counts *part);
/* sum -= part, for "the rest" of a job. */
void counts_subtract(struct counts *sum, const struct counts *part);
bool counts_any(const struct counts *c);
void counts_scale(struct counts *c, const struct slice_scale *s, struct slice_carry *carry);
/* Whether this counter of a sliced run is an estimate. */
bool counts_estimated(const struct counts *c, enum counter which);
/* Whether it may have been more. */
bool counts_lower_bound(const struct counts *c, enum counter which);
void counts_derive(const struct counts *c, int64_t page_size_bytes, struct derived *ret);

#endif
