/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A long run and one of few intervals: too few to say how alike neighbours are, as after a change
 * that made a job ten times faster. If both were runs of one process, the error of the long one's
 * mean would be the short one's too, as far as both did as much; so the long run alone gives it, or
 * what the short one's few values say if that is more. Owns this test; nothing is paired.
 */
#ifndef COMPARE_LONE_H
#define COMPARE_LONE_H

#include <stdbool.h>

#include "advisor/compare/paired.h"

/* One value alone says nothing of its run: with it false alarms of jobs in bursts were up to 46 %.
 */
enum { LONE_CELLS_MIN = 2 };

/* A run that did less than half of the other's work may have ended in one phase of it: with a 60th
 * part of the work false alarms of a job in epochs were up to 19 %. */
#define LONE_WORK_MAX 2.0

/* The short run's neighbours are taken for so alike that as many values are worth one, and all of
 * them for no more than so many: with 19 for 6, bursts of a quarter of a run made 11 % false
 * alarms. */
#define LONE_ALIKE 3.0
#define LONE_WORTH 3.0

/*
 * a and b: the cells of both runs, in order, each run cut by itself. work: how much more of it the
 * longer one did; the shorter one's mean is so much less sure. The longer one gives the figures
 * that one run has (effective_cells, batches). PAIRED_TOO_FEW: the longer one has fewer cells than
 * PAIRED_CELLS_MIN, the shorter fewer than LONE_CELLS_MIN, or less than half of the work.
 * PAIRED_TOO_ALIKE: also a longer one that never changes. same_shares: a share of the one's work is
 * the same share of the other's, so that a beginning that both show is taken off.
 */
struct paired lone_test(const double *a, size_t nr_a, const double *b, size_t nr_b, double work,
			bool same_shares);

#endif
