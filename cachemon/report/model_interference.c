/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/model_detail.h"

#include <string.h>

#include "report/rows.h"

#define TOP "SELECT id FROM interference WHERE job_id = ?1 ORDER BY pages DESC, id LIMIT 100"

_Static_assert(INTERFERENCE_ROWS == 100, "as the query has it");

static bool has_table(sqlite3 *db)
{
	return sqlite3_table_column_metadata(db, "main", "interference", NULL, NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

static void read_row(struct rows *r, struct model_eviction *e)
{
	e->cause = rows_bytes(r);
	e->kind = rows_bytes(r);
	e->command = rows_bytes(r);
	e->cgroup = rows_bytes(r);
	e->directory = rows_bytes(r);
	e->writes = rows_i64(r);
	e->owner_directory = rows_bytes(r);
	e->pages = rows_i64(r);
	e->refaulted_pages = rows_i64(r);
	e->exact = rows_value(r, 0) == 1;
	e->rows = rows_value(r, 0);
}

/* The largest, then what is left of each cause. */
static int load_rows(sqlite3 *db, struct model *m, struct model_job *job, struct model_detail *d,
		     char *err, size_t errlen)
{
	static const char *const queries[] = {
		"SELECT cause, evictor_kind, evictor, evictor_cgroup, evictor_path, "
		"evictor_writes, owner_path, pages, refaulted_pages, exact, 0 FROM interference "
		"WHERE id IN (" TOP ") ORDER BY pages DESC, id",
		"SELECT cause, NULL, NULL, NULL, NULL, NULL, NULL, sum(pages), "
		"iif(count(*) = count(refaulted_pages), sum(refaulted_pages), NULL), min(exact), "
		"count(*) FROM interference WHERE job_id = ?1 AND id NOT IN (" TOP ") "
		"GROUP BY cause ORDER BY sum(pages) DESC, cause"};
	size_t room = INTERFERENCE_ROWS + EVICT_NR;
	int ret = 0;

	d->evictions = arena_alloc(&m->arena, room * sizeof(*d->evictions));
	for (size_t i = 0; i < 2 && d->evictions && !ret; i++) {
		struct rows r = rows_begin(db, &m->arena, queries[i], 1, &job->id);

		while (d->nr_evictions < room && rows_next(&r))
			read_row(&r, &d->evictions[d->nr_evictions++]);
		ret = rows_end(&r, err, errlen);
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
			    struct model_detail *d, char *err, size_t errlen)
{
	int ret = 0;

	if (!has_table(db)) {
		d->interference_absent =
			"the database has no table interference: an older cachemon recorded it";
		return 0;
	}
	ret = load_rows(db, m, job, d, err, errlen);
	if (!ret && !d->nr_evictions)
		d->interference_absent = why_absent(m, job);
	return ret;
}
