/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_detail.h"

#include <string.h>

#include "cachemon/model/model_rows.h"

#define TOP "SELECT id FROM interference WHERE job_id = ?1 ORDER BY pages DESC, id LIMIT 100"
#define ROWS                                                                                       \
	"SELECT x.cause, iif(e.id IS NULL, x.evictor_kind, 'job'), e.name, x.evictor, "            \
	"x.evictor_cgroup, x.evictor_path, x.evictor_writes, x.owner_path, x.pages, x.exact, 0 "   \
	"FROM interference x LEFT JOIN job e ON e.id = "
#define ORDER " WHERE x.id IN (" TOP ") ORDER BY x.pages DESC, x.id"

_Static_assert(INTERFERENCE_ROWS == 100, "as the query has it");

static bool has_table(sqlite3 *db, const char *name)
{
	return sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* Jobs among the evictors are told since the database has the table of their cgroups. */
static const char *rows_query(sqlite3 *db)
{
	static const char jobs[] =
		ROWS "(SELECT b.job_id FROM evicting_job b WHERE b.interference_id = x.id "
		     "ORDER BY b.depth_bytes DESC, b.job_id DESC LIMIT 1)" ORDER;
	static const char no_jobs[] = ROWS "NULL" ORDER;

	return has_table(db, "job_cgroup") ? jobs : no_jobs;
}

static void read_row(struct rows *r, struct model_eviction *e)
{
	e->cause = rows_bytes(r);
	e->kind = rows_bytes(r);
	e->job = rows_bytes(r);
	e->command = rows_bytes(r);
	e->cgroup = rows_bytes(r);
	e->directory = rows_bytes(r);
	e->writes = rows_i64(r);
	e->owner_directory = rows_bytes(r);
	e->pages = rows_i64(r);
	e->exact = rows_value(r, 0) == 1;
	e->rows = rows_value(r, 0);
}

/* The largest, then what is left of each cause. */
static int load_rows(sqlite3 *db, struct model *m, struct model_job *job, struct model_detail *d,
		     struct errtext *err)
{
	const char *const queries[] = {
		rows_query(db),
		"SELECT cause, NULL, NULL, NULL, NULL, NULL, NULL, NULL, sum(pages), min(exact), "
		"count(*) FROM interference WHERE job_id = ?1 AND id NOT IN (" TOP ") "
		"GROUP BY cause ORDER BY sum(pages) DESC, cause"};
	size_t room = INTERFERENCE_ROWS + EVICT_NR;
	int ret = 0;

	d->evictions = arena_alloc(&m->arena, room * sizeof(*d->evictions));
	for (size_t i = 0; i < 2 && d->evictions && !ret; i++) {
		struct rows r = rows_begin(db, &m->arena, queries[i], 1, &job->id);

		while (d->nr_evictions < room && rows_next(&r))
			read_row(&r, &d->evictions[d->nr_evictions++]);
		ret = rows_end(&r, err);
	}
	return ret;
}

/* No rows: nothing left the cache, or it was not recorded who made it leave. */
static const char *why_absent(const struct model *m, const struct model_job *job)
{
	static const char counter[] = "interference";
	struct derived all;

	for (size_t i = 0; i < m->nr_unmeasured; i++)
		if (bytes_is(&m->unmeasured[i].counter, counter))
			return m->unmeasured[i].reason.data;
	counts_derive(&job->counts, 0, &all);
	if (!all.evicted_pages.known)
		return "evictions were not measured";
	return all.evicted_pages.value ? "the run did not record who made pages leave" : NULL;
}

int model_interference_load(sqlite3 *db, struct model *m, struct model_job *job,
			    struct model_detail *d, struct errtext *err)
{
	int ret = 0;

	if (!has_table(db, "interference")) {
		d->interference_absent =
			"the database has no table interference: an older cachemon recorded it";
		return 0;
	}
	ret = load_rows(db, m, job, d, err);
	if (!ret && !d->nr_evictions)
		d->interference_absent = why_absent(m, job);
	return ret;
}
