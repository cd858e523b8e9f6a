/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the database has for the miss-ratio curve of a job beside its references: what was counted,
 * and the sizes of the cache that matter. Owns the SQL for it; what a database of an earlier schema
 * does not have is absent.
 */
#ifndef LOAD_CURVE_H
#define LOAD_CURVE_H

#include <sqlite3.h>

#include "advisor/curve/curve_judge.h"
#include "cachemon/base/errtext.h"

struct curve_facts {
	struct curve_counted counted;
	double page_size_bytes;
	double memory_pages; /* of the machine; < 0: not known */
	double limit_pages;  /* of the job's memory cgroup; < 0: none, or not known */
	bool cold, sliced;   /* how it was recorded */
};

/*
 * lookups: of the job while its references were sampled; what was counted after that is left out.
 * 0, -ENOENT: no such job, or -errno of the database.
 */
int load_curve_facts(sqlite3 *db, int64_t job_id, double lookups, struct curve_facts *ret,
		     struct errtext *err);

#endif
