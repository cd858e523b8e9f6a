/* SPDX-License-Identifier: BSD-2-Clause */
#include "load_curve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PAGES_MAX (INT64_C(1) << 46)

/* Pages that the job brought into the cache, and those of them that left it. */
#define ADDED                                                                                      \
	"(demand_pages + prefetched_sync + prefetched_async + prefetched_willneed"                 \
	" + prefetched_readahead2 + prefetched_mmap_around)"
#define LEFT                                                                                       \
	"(evicted_reclaim_kswapd + evicted_reclaim_direct + evicted_reclaim_memcg"                 \
	" + evicted_dontneed + evicted_drop_caches + evicted_truncate + evicted_direct_io"         \
	" + evicted_other + coalesce(evicted_invalidate, 0) + coalesce(evicted_dontcache, 0)"      \
	" - coalesce(evicted_not_added, 0))"

/* Its intervals: i and j. */
#define OF_JOB "WHERE i.run_id = (SELECT run_id FROM job WHERE id = ?1) AND j.job_id = ?1"

/* Of the whole run, and of the intervals before the sample ended. */
#define COUNTED                                                                                    \
	"sum(misses + used + used_late), sum(untracked), sum(lookups), sum(refaults),"             \
	" sum(refault_distance_pages), sum(" ADDED "),"                                            \
	" sum(windows_sync + windows_async + windows_forced)"

static int failed(sqlite3 *db, struct errtext *err)
{
	bool memory = sqlite3_errcode(db) == SQLITE_NOMEM;

	return errtext_set(err, memory ? -ENOMEM : -EIO, "cannot read what a job counted: %s",
			   sqlite3_errmsg(db));
}

/* The columns of the only row; those that are NULL, or all without a row, are -1. */
static int ask(sqlite3 *db, const char *sql, int64_t id, double lookups, int nr, double ret[],
	       bool *ret_found, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	for (int i = 0; i < nr; i++)
		ret[i] = -1;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, id);
	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 1)
		rc = sqlite3_bind_double(stmt, 2, lookups);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	*ret_found = rc == SQLITE_ROW;
	for (int i = 0; *ret_found && i < nr; i++)
		if (sqlite3_column_type(stmt, i) != SQLITE_NULL)
			ret[i] = sqlite3_column_double(stmt, i);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(db, err);
}

static int has_table(sqlite3 *db, const char *name, bool *ret, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND "
				    "name = ?1",
				    -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	*ret = rc == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(db, err);
}

static void take_counts(const double v[7], struct curve_counted *c)
{
	*c = (struct curve_counted){-1, -1, -1, -1, -1, -1};
	if (v[0] >= 0 && v[2] > 0) {
		c->miss_low = v[0] / v[2];
		c->miss_high = (v[0] + (v[1] > 0 ? v[1] : 0)) / v[2];
	}
	c->refaults = v[3];
	if (v[3] > 0 && v[4] >= 0)
		c->refault_distance = v[4] / v[3];
	if (v[5] >= 0 && v[6] > 0)
		c->run_pages = v[5] / v[6];
}

static int load_counts(sqlite3 *db, int64_t job_id, double lookups, struct curve_counted *ret,
		       struct errtext *err)
{
	static const char whole[] =
		"SELECT " COUNTED " FROM job WHERE id = ?1 AND lookups <= ?2 * 1.01";
	static const char part[] =
		"SELECT " COUNTED
		" FROM interval i JOIN job_interval j ON j.interval_id = i.id " OF_JOB
		" AND i.id IN (SELECT id FROM (SELECT i.id, "
		"sum(j.lookups) OVER (ORDER BY i.start_ns) AS upto FROM interval i "
		"JOIN job_interval j ON j.interval_id = i.id " OF_JOB ") WHERE upto <= ?2)";
	double v[7];
	bool found = false;
	int r = ask(db, whole, job_id, lookups, 7, v, &found, err);

	if (!r && v[2] < 0)
		r = ask(db, part, job_id, lookups, 7, v, &found, err);
	if (!r)
		take_counts(v, ret);
	return r;
}

/* As many as a machine can have; what is not, of damaged counters too, is not known. */
static double pages_of(double bytes, double page_size_bytes)
{
	double pages = bytes / page_size_bytes;

	return pages >= 0 && pages <= (double)PAGES_MAX ? pages : -1;
}

/* The most that the job had in the cache at the end of an interval. Where its cgroup has a limit,
 * what the cgroup was charged with: it may have been there before the run. */
static int load_present(sqlite3 *db, int64_t job_id, bool machine, struct curve_facts *f,
			struct errtext *err)
{
	static const char counted[] =
		"SELECT max(present) FROM (SELECT sum(" ADDED
		" + written_pages + other_added_pages - " LEFT ") OVER (ORDER BY i.start_ns) "
		"AS present FROM interval i JOIN job_interval j ON j.interval_id = i.id " OF_JOB
		")";
	static const char charged[] =
		"SELECT max(m.job_file_bytes), max(l.limit_bytes) FROM job "
		"JOIN job_limit l ON l.job_id = job.id AND l.limit_bytes IS NOT NULL "
		"JOIN interval i ON i.run_id = job.run_id "
		"JOIN machine_interval m ON m.interval_id = i.id WHERE job.id = ?1";
	double v[2];
	bool found = false;
	int r = ask(db, counted, job_id, 0, 1, v, &found, err);

	if (!r)
		f->counted.present_pages = pages_of(v[0], 1);
	if (r < 0 || !machine)
		return r;
	r = ask(db, charged, job_id, 0, 2, v, &found, err);
	if (!r && v[0] >= 0)
		f->counted.present_pages = pages_of(v[0], f->page_size_bytes);
	if (!r && v[1] >= 0)
		f->limit_pages = pages_of(v[1], f->page_size_bytes);
	return r;
}

int load_curve_facts(sqlite3 *db, int64_t job_id, double lookups, struct curve_facts *ret,
		     struct errtext *err)
{
	struct curve_facts f = {.limit_pages = -1};
	bool found = false;
	bool limits = false;
	bool machine = false;
	double v[4];
	int r = ask(db,
		    "SELECT page_size_bytes, nullif(memory_bytes, 0), level = 'cold', sliced "
		    "FROM job JOIN run ON run.id = job.run_id WHERE job.id = ?1",
		    job_id, 0, 4, v, &found, err);

	if (r < 0)
		return r;
	if (!found)
		return errtext_set(err, -ENOENT, "there is no job %lld", (long long)job_id);
	f.page_size_bytes = v[0];
	f.memory_pages = pages_of(v[1], v[0]);
	f.cold = v[2] > 0;
	f.sliced = v[3] > 0;
	r = load_counts(db, job_id, lookups, &f.counted, err);
	if (!r)
		r = has_table(db, "job_limit", &limits, err);
	if (!r)
		r = has_table(db, "machine_interval", &machine, err);
	if (!r)
		r = load_present(db, job_id, limits && machine, &f, err);
	if (!r)
		*ret = f;
	return r;
}
