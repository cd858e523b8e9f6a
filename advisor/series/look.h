/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of series/: what the cells of a job say, and what its earlier runs do. Owns the choice of
 * what is told when there is more than a reader takes in.
 */
#ifndef SERIES_LOOK_H
#define SERIES_LOOK_H

#include "advisor/series/series_cells.h"

/* Changes, anomalies and links of ret, in the arena. 0 or -ENOMEM. */
int series_look(const struct series_cells *c, struct arena *arena, struct series_job *ret);

struct sqlite3;
/* History of ret, in the arena. 0 or -errno. */
int series_look_back(struct sqlite3 *db, int64_t job_id, struct arena *arena,
		     struct series_job *ret, struct errtext *err);

#endif
