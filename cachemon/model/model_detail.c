/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_detail.h"

#include <stdlib.h>

#include "cachemon/model/model_rows.h"

static int64_t end_of(sqlite3 *db, struct model *m)
{
	struct rows r = rows_begin(
		db, &m->arena, "SELECT max(start_ns + duration_ns) FROM interval WHERE run_id = ?1",
		1, &m->run.id);
	int64_t end = rows_next(&r) ? rows_value(&r, 0) : 0;

	sqlite3_finalize(r.stmt);
	return end;
}

static int load_timeline(sqlite3 *db, struct model *m, struct model_job *job, struct timeline *t,
			 struct errtext *err)
{
	int64_t params[] = {m->run.id, job->id};
	char *sql = rows_sql("SELECT start_ns, duration_ns, read_on_ns, rolled, cpu_ns",
			     "FROM interval i JOIN job_interval j ON j.interval_id = i.id AND "
			     "j.job_id = ?2 WHERE run_id = ?1 ORDER BY start_ns");
	struct rows r = rows_begin(db, &m->arena, sql, 2, params);
	int ret;

	timeline_begin(t, end_of(db, m));
	while (rows_next(&r)) {
		struct timeline_bucket b = {.start_ns = rows_ns(&r),
					    .duration_ns = rows_ns(&r),
					    .read_on_ns = rows_ns(&r),
					    .intervals = rows_value(&r, 0),
					    .cpu_ns = rows_i64(&r)};

		rows_counts(&r, &b.counts);
		b.counts.sliced = m->run.sliced.known && m->run.sliced.value;
		if (b.read_on_ns < b.duration_ns && model_waits_in_slices(&m->run))
			counts_forget_stall(&b.counts);
		timeline_add(t, &b);
	}
	ret = rows_end(&r, err);
	free(sql);
	timeline_end(t, &job->counts, job->cpu_ns);
	return ret;
}

int model_detail_load(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err)
{
	struct model_detail *d = arena_alloc(&m->arena, sizeof(*d));
	int ret;

	if (!d)
		return report_no_memory(err);
	ret = load_timeline(db, m, job, &d->timeline, err);
	if (!ret)
		ret = model_interference_load(db, m, job, d, err);
	if (!ret)
		ret = model_coverage_load(db, m, job, d, err);
	if (!ret)
		job->detail = d;
	return ret;
}
