/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How busy an accelerator could be at most while the job feeds it: 1 - stall / wall, and the same
 * without the first epoch, whose first touches no cache avoids. Owns that arithmetic. Pure.
 */
#ifndef CEILING_H
#define CEILING_H

#include <stddef.h>

#include "cachemon/base/optional.h"

/* A piece of the timeline, oldest first. */
struct ceiling_point {
	int64_t duration_ns;
	struct opt_i64 stall_ns, cpu_ns, read_bytes;
};

struct ceiling_input {
	struct opt_f64 stall_ns, wall_ns, cpu_ns;
	struct opt_f64 read_bytes;
	struct opt_f64 dataset_bytes; /* of the distinct pages that were read */
	const struct ceiling_point *points;
	size_t nr_points;
};

struct ceiling {
	struct opt_f64 overall; /* 0..1 */
	struct opt_f64 after_first_epoch;
	struct opt_f64 epochs; /* bytes read / bytes of the dataset */
	const char *line;      /* ">= 90 %", ">= 70 %", "< 70 %"; NULL: not known */
	const char *reason;    /* why the first epoch is not apart; NULL: it is */
};

/* MLPerf Storage's: of models of images and of volumes, and of climate data. */
#define CEILING_LINE_HIGH 0.90
#define CEILING_LINE_LOW  0.70

struct ceiling ceiling_of(const struct ceiling_input *in);

#endif
