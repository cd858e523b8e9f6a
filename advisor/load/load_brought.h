/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many pages a job's files brought, by its counters: pages read on demand and prefetched ones.
 * What traced files stand for is held against it. Owns the reading of these columns of job and
 * file.
 */
#ifndef LOAD_BROUGHT_H
#define LOAD_BROUGHT_H

#include <sqlite3.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"

/* < 0: not known, not measured, not traced. */
struct brought_file {
	int64_t traced_file_id;
	int64_t size_bytes;
	double pages;
};

/*
 * Each file of the job that has a row of its own goes to take(). *ret_pages: of the whole job, < 0
 * where that was not measured, or there are no such tables.
 */
int load_brought(sqlite3 *db, int64_t job_id, void (*take)(void *arg, const struct brought_file *),
		 void *arg, double *ret_pages, struct errtext *err);

#endif
