/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects what is reported about the cells of a job, if there is more than a reader can use.
 * series_look() is in look.c.
 */
#ifndef SERIES_LOOK_H
#define SERIES_LOOK_H

#include "advisor/series/series_cells.h"

/* Changes, anomalies and links of ret, in the arena. 0 or -ENOMEM. */
int series_look(const struct series_cells *c, struct arena *arena, struct series_job *ret);

#endif
