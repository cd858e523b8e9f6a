/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epochs of a job without marks: the job reads the same files repeatedly, each once per pass. Owns
 * the step from what each interval read for the first, second, ... time to the intervals in which
 * one pass ends and the next begins. Plain values, no SQL.
 */
#ifndef EPOCHS_H
#define EPOCHS_H

#include <stdbool.h>
#include <stddef.h>

enum { EPOCHS_MAX = 1000 };

/* The amount that an interval read of files for the pass-th time; by interval. */
struct epochs_row {
	size_t interval; /* number of the interval */
	size_t pass;	 /* from 1 */
	double amount;	 /* bytes or pages */
	double whole;	 /* size of the files whose pass begins in it, in the same unit */
};

/*
 * *ret_passes: how often the job read its files; ret_first[i], of EPOCHS_MAX: the first interval of
 * pass i + 2. An interval in which a pass ends and the next begins belongs to the one that read
 * more in it. in_order: the files are known to be read from the beginning to the end, so a large
 * file may be read in many pieces. Returns NULL, or the reason why there are no epochs.
 */
const char *epochs_find(const struct epochs_row *rows, size_t nr, bool in_order, size_t *ret_passes,
			size_t ret_first[EPOCHS_MAX]);

#endif
