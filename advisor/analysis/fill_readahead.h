/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other settings of readahead would have brought, as rows for the rules: TEMP table
 * analysis_whatif_readahead of a connection. Owns these rows; the database itself is only read.
 */
#ifndef FILL_READAHEAD_H
#define FILL_READAHEAD_H

#include <sqlite3.h>
#include <stdint.h>

#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/base/errtext.h"

/*
 * For a job; makes the table where it is missing. A file of which nothing can be said gets one row,
 * actual, whose figures are NULL and whose note says why. 0 or -errno.
 */
int fill_readahead(sqlite3 *db, int64_t job_id, const struct whatif_readahead *w,
		   struct errtext *err);

#endif
