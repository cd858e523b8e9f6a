/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "advisor/analysis/analysis_impl.h"
#include "advisor/analysis/fill.h"
#include "cachemon/base/order.h"
#include "cachemon/db/db_rows.h"

/*
 * The size of the job's data set: the distinct pages counted from references if they were recorded,
 * else the sum of the file sizes if every file has a row with a size. A file counts for at most
 * what was read of it.
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
	return fill_finish(&r, 0, "timeline", err);
}

/* A site may replace the rule without this parameter; then there is no floor. */
static double floor_share_of(const struct rule_set *rules)
{
	const struct rule *rule = rule_set_rule(rules, "nothing-wrong");
	const struct rule_param *p = rule ? rule_param_find(rule, "floor_share") : NULL;

	return p ? p->real : 0;
}

static int load_job(sqlite3 *db, struct arena *arena, double floor_share, struct analysis_job *job,
		    struct errtext *err)
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
	e = fill_finish(&r, 0, "job", err);
	job->scale = (struct gain_scale){
		.rate = gain_rate_of(in.stall_ns.known && brought.known, brought.value,
				     in.stall_ns.value / 1e9),
		.wall_s = {in.wall_ns.value / 1e9, in.wall_ns.known},
		.floor_share = floor_share,
	};
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
	return fill_finish(&r, 0, "verdicts", err);
}

/* The next columns are name, grade, score and formula. */
static void read_grade(struct rows *r, struct analysis_grade grades[GRADE_NR])
{
	struct bytes name = rows_bytes(r);
	struct analysis_grade g = {
		.letter = rows_bytes(r).data, .score = rows_f64(r), .formula = rows_bytes(r).data};

	for (int k = 0; k < GRADE_NR; k++)
		if (bytes_is(&name, grade_names[k]))
			grades[k] = g;
}

static int load_grades(sqlite3 *db, struct arena *arena, struct analysis_job *job,
		       struct errtext *err)
{
	struct rows r = rows_begin(
		db, arena, "SELECT name, grade, score, formula FROM v_grade WHERE job_id = ?1", 1,
		&job->id);

	while (rows_next(&r))
		read_grade(&r, job->grades);
	return fill_finish(&r, 0, "grades", err);
}

static int load_directory_grades(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	size_t room =
		rows_total(db, "SELECT count(DISTINCT directory_id) FROM v_directory_grade", 0);
	struct rows r = rows_begin(
		db, arena,
		"SELECT directory_id, name, grade, score, formula FROM v_directory_grade "
		"ORDER BY directory_id",
		0, NULL);

	a->directories = arena_alloc(arena, room * sizeof(*a->directories));
	while (a->directories && rows_next(&r)) {
		int64_t id = rows_value(&r, 0);

		if (!a->nr_directories || a->directories[a->nr_directories - 1].id != id) {
			if (a->nr_directories == room) {
				r.damage = "a table has more rows than were counted";
				break;
			}
			a->directories[a->nr_directories++].id = id;
		}
		read_grade(&r, a->directories[a->nr_directories - 1].grades);
	}
	return fill_finish(&r, 0, "grades", err);
}

static int load_patterns(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	size_t room = rows_total(db, "SELECT count(*) FROM analysis_pattern", 0);
	struct rows r =
		rows_begin(db, arena,
			   "SELECT kind = 'directory', subject_id, name, confidence, features FROM "
			   "analysis_pattern ORDER BY kind = 'directory', subject_id",
			   0, NULL);

	a->patterns = arena_alloc(arena, room * sizeof(*a->patterns));
	while (a->patterns && rows_next(&r) && a->nr_patterns < room) {
		struct analysis_pattern *p = &a->patterns[a->nr_patterns++];

		p->directory = rows_value(&r, 0) == 1;
		p->subject_id = rows_value(&r, 0);
		p->name = rows_bytes(&r).data;
		p->confidence = rows_f64(&r);
		p->features = rows_bytes(&r).data;
	}
	return fill_finish(&r, 0, "patterns", err);
}

/* Reads the intervals of each watched job, and its earlier runs. */
static int load_series(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	int e = 0;

	a->series = arena_alloc(arena, a->nr_jobs * sizeof(*a->series));
	if (!a->series)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_jobs && !e; i++)
		e = series_load(db, a->jobs[i].id, arena, &a->series[i], err);
	return e;
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
	e = fill_finish(&r, 0, "jobs", err);
	if (!a->jobs)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_jobs && !e; i++)
		e = load_job(db, arena, floor_share_of(&a->rules), &a->jobs[i], err);
	if (!e)
		e = load_series(db, a, err);
	if (!e)
		e = load_verdicts(db, a, err);
	for (size_t i = 0; i < a->nr_jobs && !e; i++)
		e = load_grades(db, arena, &a->jobs[i], err);
	if (!e)
		e = load_directory_grades(db, a, err);
	return e ? e : load_patterns(db, a, err);
}

const struct analysis_verdict *analysis_verdict_of(const struct analysis *a, int64_t advice_id)
{
	if (!a->nr_verdicts)
		return NULL;
	return bsearch(&advice_id, a->verdicts, a->nr_verdicts, sizeof(*a->verdicts), order_i64);
}

const struct analysis_directory *analysis_directory_of(const struct analysis *a, int64_t id)
{
	if (!a->nr_directories)
		return NULL;
	return bsearch(&id, a->directories, a->nr_directories, sizeof(*a->directories), order_i64);
}

static int compare_subject(const void *key, const void *item)
{
	const struct analysis_pattern *a = key;
	const struct analysis_pattern *b = item;

	if (a->directory != b->directory)
		return a->directory ? 1 : -1;
	return (a->subject_id > b->subject_id) - (a->subject_id < b->subject_id);
}

const struct analysis_pattern *analysis_pattern_of(const struct analysis *a, bool directory,
						   int64_t subject_id)
{
	struct analysis_pattern key = {.directory = directory, .subject_id = subject_id};

	if (!a->nr_patterns)
		return NULL;
	return bsearch(&key, a->patterns, a->nr_patterns, sizeof(key), compare_subject);
}

const struct series_job *analysis_series_of(const struct analysis *a, int64_t job_id)
{
	for (size_t i = 0; i < a->nr_jobs && a->series; i++)
		if (a->series[i].job_id == job_id)
			return &a->series[i];
	return NULL;
}
