/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>

#include "advisor/analysis/fill.h"
#include "cachemon/db/db_rows.h"

static int rows_fail(sqlite3 *db, struct rows *r, const char *what, struct errtext *err)
{
	int e = rows_finish(r);

	return e && e != -ENOMEM ? fill_error(db, what, err) : e;
}

/*
 * What the distinct pages come to that the job read: counted where references were recorded, else
 * the sizes of its files where each has a row and a size. No more of a file than was read of it.
 */
static struct opt_f64 dataset_bytes(sqlite3 *db, struct arena *a, int64_t job_id)
{
	struct rows r = rows_begin(
		db, a,
		"SELECT coalesce((SELECT s.distinct_pages FROM reference_sample s WHERE s.job_id "
		"= ?1 AND s.state = 'whole') * v.page_size_bytes, "
		"(SELECT iif(sum(f.read_bytes) >= 0.99 * v.read_bytes AND count(*) = "
		" count(f.size_bytes), sum(min(f.size_bytes, f.read_bytes)), NULL) "
		" FROM v_file f WHERE f.job_id = ?1 AND f.read_bytes > 0)) "
		"FROM v_job v WHERE v.job_id = ?1",
		1, &job_id);
	struct opt_f64 v = rows_next(&r) ? rows_f64(&r) : (struct opt_f64){0};

	sqlite3_finalize(r.stmt);
	return v;
}

static int load_points(sqlite3 *db, struct arena *arena, int64_t job_id, struct ceiling_input *in,
		       struct errtext *err)
{
	size_t room = rows_total(db, "SELECT count(*) FROM v_interval", 0);
	struct ceiling_point *points = arena_alloc(arena, room * sizeof(*points));
	struct rows r = rows_begin(db, arena,
				   "SELECT duration_ns, stall_ns, cpu_ns, read_bytes FROM "
				   "v_interval WHERE job_id = ?1 ORDER BY start_ns",
				   1, &job_id);

	while (points && in->nr_points < room && rows_next(&r)) {
		struct ceiling_point *p = &points[in->nr_points++];

		p->duration_ns = rows_value(&r, 0);
		p->stall_ns = rows_i64(&r);
		p->cpu_ns = rows_i64(&r);
		p->read_bytes = rows_i64(&r);
	}
	in->points = points;
	return rows_fail(db, &r, "timeline", err);
}

static int load_job(sqlite3 *db, struct arena *arena, struct analysis_job *job, struct errtext *err)
{
	struct arena scratch = {0};
	struct ceiling_input in = {0};
	struct opt_f64 brought = {0};
	struct rows r = rows_begin(
		db, arena,
		"SELECT stall_ns, wall_ns, cpu_ns, read_bytes, (demand_pages + prefetched_pages) * "
		"page_size_bytes, stall_ns + cpu_ns > wall_ns FROM v_job WHERE job_id = ?1",
		1, &job->id);
	int e;

	if (rows_next(&r)) {
		in.stall_ns = rows_f64(&r);
		in.wall_ns = rows_f64(&r);
		in.cpu_ns = rows_f64(&r);
		in.read_bytes = rows_f64(&r);
		brought = rows_f64(&r);
		job->several = rows_value(&r, 0) == 1;
	}
	e = rows_fail(db, &r, "job", err);
	job->rate = gain_rate_of(in.stall_ns.known && brought.known, brought.value,
				 in.stall_ns.value / 1e9);
	in.dataset_bytes = dataset_bytes(db, arena, job->id);
	if (!e)
		e = load_points(db, &scratch, job->id, &in, err);
	if (!e)
		job->ceiling = ceiling_of(&in);
	arena_free(&scratch);
	return e;
}

static int load_verdicts(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	size_t room = rows_total(db, "SELECT count(*) FROM analysis_verdict", 0);
	struct rows r = rows_begin(
		db, arena,
		"SELECT advice_id, verdict, why FROM analysis_verdict ORDER BY advice_id", 0, NULL);

	a->verdicts = arena_alloc(arena, room * sizeof(*a->verdicts));
	while (a->verdicts && a->nr_verdicts < room && rows_next(&r)) {
		struct analysis_verdict *v = &a->verdicts[a->nr_verdicts++];

		v->advice_id = rows_value(&r, 0);
		v->verdict = rows_bytes(&r).data;
		v->why = rows_bytes(&r).data;
	}
	return rows_fail(db, &r, "verdicts", err);
}

int analysis_load(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	size_t room = rows_total(db, "SELECT count(*) FROM v_job", 0);
	struct rows r = rows_begin(db, arena, "SELECT job_id FROM v_job ORDER BY slot", 0, NULL);
	int e;

	a->jobs = arena_alloc(arena, room * sizeof(*a->jobs));
	while (a->jobs && a->nr_jobs < room && rows_next(&r))
		a->jobs[a->nr_jobs++].id = rows_value(&r, 0);
	e = rows_fail(db, &r, "jobs", err);
	if (!a->jobs)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_jobs && !e; i++)
		e = load_job(db, arena, &a->jobs[i], err);
	if (!e)
		e = analysis_load_series(db, a, err);
	if (!e)
		e = load_verdicts(db, a, err);
	if (!e)
		e = analysis_load_grades(db, a, err);
	return e ? e : analysis_load_patterns(db, a, err);
}
