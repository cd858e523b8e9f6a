/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of look*.c: the cells of a job while they are looked at. Owns types only. */
#ifndef SERIES_LOOK_IMPL_H
#define SERIES_LOOK_IMPL_H

#include "advisor/series/change.h"
#include "advisor/series/look.h"

/* A figure without what is not known of it. */
struct series_known {
	double *x;
	size_t *cell; /* of each value */
	size_t nr;
	struct change changes[CHANGE_MAX];
	size_t nr_changes;
};

struct series_looked {
	const struct series_cells *c;
	struct arena scratch;
	struct series_known of[FIGURE_NR];
	size_t figures; /* that are looked at */
	size_t values;
};

/* The links of ret, in the arena; the changes are known already. 0 or -ENOMEM. */
int series_links(struct series_looked *l, struct arena *arena, struct series_job *ret);

#endif
