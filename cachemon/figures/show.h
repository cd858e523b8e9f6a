/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers for people: thousands separators, units, '-' if absent, '~' for estimates. Owns
 * formatting only. Results are returned by value, for use inside one printf().
 */
#ifndef SHOW_H
#define SHOW_H

#include "cachemon/figures/counts.h"

struct shown {
	char s[72];
};

struct shown show_count(struct opt_i64 v, bool estimated);
/* Marks before a number: of an estimate; of a lower bound. */
#define MARK_ABOUT "~"
#define MARK_LEAST ">="

/* NULL: no mark; absent values have none. */
struct shown show_marked(struct shown v, const char *mark);
struct shown show_least(struct shown v, bool lower_bound);
struct shown show_about(struct shown v, bool estimated);
/* one if v is exactly 1, else many: "page", "pages". */
const char *show_plural(struct opt_i64 v, const char *one, const char *many);
/* 1.2 GiB */
struct shown show_bytes(struct opt_i64 v, bool estimated);
/* 0..1 as a percentage; only 0 and 1 become 0 % and 100 %. */
struct shown show_ratio(struct opt_f64 v, bool estimated);
/* 12.3 ms */
struct shown show_ns(struct opt_i64 v);
/* 12.5 with the given number of decimals. */
struct shown show_double(struct opt_f64 v, int decimals);

/* For a job, with the 90 % interval if it is an estimate: "~81.0 % (78.1 to 84.2)". */
struct shown show_read(const struct counts *c, enum read_estimate e);
struct shown show_read_bytes(const struct counts *c);
struct shown show_hit_ratio(const struct counts *c, const struct derived *d);
/* A derived ratio and its range. */
struct shown show_range(struct opt_f64 v, const struct range *r);

/* Wall-clock nanoseconds as 2026-03-01T10:20:30.123456789Z, or in local time "2026-03-01 10:20". */
struct shown show_rfc3339(int64_t realtime_ns);
struct shown show_local(int64_t realtime_ns);

#endif
