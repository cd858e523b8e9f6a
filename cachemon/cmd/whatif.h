/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of what-if: one printer a kind, in a file of its own, called with the database open and
 * the run's model read. Options, the choice of the run and the output file are cmd/whatif.c's.
 */
#ifndef WHATIF_H
#define WHATIF_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/model.h"

/* The model has totals only, of the chosen job or of all. 0, or -errno with a line in err. */
int whatif_cache(sqlite3 *db, const struct model *m, bool json, FILE *out, char *err,
		 size_t errlen);
int whatif_readahead(sqlite3 *db, const struct model *m, bool json, FILE *out, char *err,
		     size_t errlen);

#endif
