/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Grades A to F of a job or of a directory: turns plain figures into a score, a letter and the
 * formula with its values. Also computes how busy the job can keep an accelerator at most
 * (ceiling_of()). Owns the formulas and the limits of the letters; docs/advisor.md publishes them.
 * Pure.
 */
#ifndef GRADE_H
#define GRADE_H

#include <stddef.h>

#include "cachemon/base/optional.h"

enum grade_kind {
	GRADE_OVERALL,
	GRADE_HITS,
	GRADE_PREFETCH,
	GRADE_EVICTION,
	GRADE_STALL,
	GRADE_NR
};

extern const char *const grade_names[GRADE_NR]; /* keys */
/* For people: GRADE_HITS is "reuse", which is not the hit ratio. */
extern const char *const grade_titles[GRADE_NR];

/* Pages, ratios 0..1, nanoseconds. Absent: not measured. */
struct grade_input {
	struct opt_f64 lookups, misses, all_used, refaults, added_pages;
	struct opt_f64 floor;	 /* of the curve: the miss ratio that no amount of memory removes */
	struct opt_f64 opt_miss; /* of the curve: the best possible at the present size */
	struct opt_f64 accuracy, coverage, timeliness;
	struct opt_f64 stall_ns;
	struct opt_f64 job_stall_ns, wall_ns, cpu_ns; /* always of the whole job, for a directory
						       * too */
	struct opt_f64 touches; /* lookups and faults; a job without any could not stall */
	double touches_min; /* with fewer lookups and few pages added, there is no overall grade */
	bool fates_open;    /* some prefetched pages were not tracked */
	bool mapped;	    /* reads through mappings: lookups cover only its start */
	bool sliced;	    /* figures of the per-read hook are estimates */
};

/* The pages that the start of a program touches at most. A job needs more to be graded. */
#define GRADE_START_TOUCHES 256
double grade_touches_min(struct opt_f64 processes);

struct grade {
	char letter; /* 'A' to 'F'; 0: no grade */
	struct opt_f64 score;
	char formula[384]; /* with its values; without a grade, the reason */
};

void grade_all(const struct grade_input *in, struct grade ret[GRADE_NR]);

/*
 * The share of the wall time that a job slept for the page cache: stall / wall for one reader.
 * stall_ns is part or all of job_stall_ns; the shares of the parts add up to that of the job.
 */
struct opt_f64 grade_stall_share(struct opt_f64 stall_ns, struct opt_f64 job_stall_ns,
				 struct opt_f64 wall_ns, struct opt_f64 cpu_ns);
char grade_letter(double score);

/* An interval; the oldest comes first. */
struct ceiling_point {
	int64_t duration_ns;
	struct opt_i64 stall_ns, cpu_ns, read_bytes;
};

struct ceiling_input {
	struct opt_f64 stall_ns, wall_ns, cpu_ns;
	struct opt_f64 read_bytes;
	struct opt_f64 dataset_bytes; /* size of the distinct pages read */
	const struct ceiling_point *points;
	size_t nr_points;
};

/* 1 - stall / wall; and the same without the first epoch, whose first touches no cache avoids. */
struct ceiling {
	struct opt_f64 overall; /* 0..1 */
	struct opt_f64 after_first_epoch;
	struct opt_f64 epochs; /* bytes read / bytes of the dataset */
	const char *line;      /* ">= 90 %", ">= 70 %", "< 70 %"; NULL: unknown */
	const char *reason;    /* why the first epoch is not separate; NULL: it is */
};

/* The limits of MLPerf Storage: for models of images and volumes, and for climate data. */
#define CEILING_LINE_HIGH 0.90
#define CEILING_LINE_LOW  0.70

struct ceiling ceiling_of(const struct ceiling_input *in);

#endif
