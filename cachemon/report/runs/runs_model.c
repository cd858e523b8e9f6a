/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/runs/runs_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advisor/analysis/grade.h"
#include "cachemon/report/run/pictures.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/report/compare/compare_pictures.h"

static struct opt_f64 as_real(struct opt_i64 v)
{
	return (struct opt_f64){(double)v.value, v.known};
}

/* As in the analysis, except for the curve, which would take too long for a list. */
static void grade_one(struct runs_job *j, struct opt_i64 read_again)
{
	const struct counts *c = &j->job->counts;
	struct grade grades[GRADE_NR];
	struct grade_input in = {0};
	struct derived d;

	counts_derive(c, j->run->page_size_bytes.value, &d);
	in.lookups = as_real(counts_get(c, C_lookups));
	in.misses = as_real(counts_get(c, C_misses));
	in.all_used = as_real(counts_sum(c, SUM_OF(TERMS_all_used)));
	in.refaults = as_real(read_again.known ? read_again : counts_get(c, C_refaults));
	in.added_pages = as_real(counts_sum(c, SUM_OF(TERMS_added_pages)));
	in.accuracy = d.accuracy;
	in.coverage = d.coverage;
	in.timeliness = d.timeliness;
	in.stall_ns = in.job_stall_ns = as_real(counts_get(c, C_stall_ns));
	in.wall_ns = as_real(j->job->wall_ns);
	in.cpu_ns = as_real(j->job->cpu_ns);
	in.touches =
		as_real(opt_add(counts_get(c, C_lookups), opt_add(counts_get(c, C_faults_major),
								  counts_get(c, C_faults_minor))));
	in.touches_min = grade_touches_min(as_real(j->job->processes));
	in.mapped = j->mapped;
	in.sliced = c->sliced;
	grade_all(&in, grades);
	j->counters_letter = grades[GRADE_OVERALL].letter;
	j->counters_score = grades[GRADE_OVERALL].score;
	j->stall_share = grade_stall_share(in.stall_ns, in.job_stall_ns, in.wall_ns, in.cpu_ns);
}

static void fill_job(struct runs_job *j)
{
	struct derived d;
	struct range hits;

	counts_derive(&j->job->counts, j->run->page_size_bytes.value, &d);
	j->time_s = (struct opt_f64){(double)j->job->wall_ns.value / 1e9, j->job->wall_ns.known};
	j->mapped = counts_mapped(&j->job->counts, j->job->processes);
	j->miss_ratio = (struct opt_f64){1 - d.hit_ratio.value, d.hit_ratio.known && !j->mapped};
	if (j->miss_ratio.known && counts_range(&j->job->counts, ESTIMATE_HIT_RATIO, &hits))
		j->miss_range = (struct range){.value = j->miss_ratio,
					       .low = {1 - hits.high.value, true},
					       .high = {1 - hits.low.value, true}};
	grade_one(j, (struct opt_i64){0});
}

static int by_id(const void *a, const void *b)
{
	const struct runs_job *const *x = a;
	const struct runs_job *const *y = b;

	return ((*x)->job->id > (*y)->job->id) - ((*x)->job->id < (*y)->job->id);
}

/* At most the pages that a directory fetched: pages that were written again are refaults too. */
#define BROUGHT_PAGES SQL_brought_pages("")
#define MORE(head)                                                                                 \
	"SELECT id, " head ", (SELECT iif(count(*) = count(pages), sum(pages), NULL) FROM "        \
	"(SELECT min(refaults, " BROUGHT_PAGES ") AS pages FROM directory "                        \
	"WHERE job_id = job.id)) FROM job ORDER BY id"

static void read_head(struct rows *r, struct runs_job *j)
{
	j->answer = rows_bytes(r);
	j->letter = rows_bytes(r);
	j->score = rows_f64(r);
	j->finding = rows_bytes(r);
	j->title = rows_bytes(r);
	grade_one(j, rows_i64(r));
}

/* Each job has a row of its own. */
static int fill_more(sqlite3 *db, struct runs_model *m, struct errtext *err)
{
	bool heads = model_has(db, "job", "head_answer");
	struct runs_job **order = calloc(m->nr_jobs + 1, sizeof(struct runs_job *));
	struct rows r = rows_begin(
		db, &m->arena,
		heads ? MORE("head_answer, head_grade, head_score, head_finding, head_title")
		      : MORE("NULL, NULL, NULL, NULL, NULL"),
		0, NULL);
	size_t at = 0;
	int ret;

	for (size_t i = 0; order && i < m->nr_jobs; i++)
		order[i] = &m->jobs[i];
	if (order)
		qsort(order, m->nr_jobs, sizeof(struct runs_job *), by_id);
	while (order && rows_next(&r)) {
		int64_t id = rows_value(&r, 0);

		while (at < m->nr_jobs && order[at]->job->id < id)
			at++;
		if (at < m->nr_jobs && order[at]->job->id == id)
			read_head(&r, order[at]);
	}
	ret = model_rows_end(&r, err);
	free(order);
	return order ? ret : model_no_memory(err);
}

/* The first run that began after that time: later runs have larger numbers. */
static int first_since(sqlite3 *db, struct runs_model *m, int64_t since_ns, int64_t *ret_id,
		       struct errtext *err)
{
	struct rows r = rows_begin(db, &m->arena,
				   "SELECT coalesce(min(id), 9223372036854775807) FROM run "
				   "WHERE started_ns >= ?",
				   1, &since_ns);

	while (rows_next(&r))
		*ret_id = rows_value(&r, 0);
	return model_rows_end(&r, err);
}

static int load_runs(sqlite3 *db, int64_t since_ns, struct runs_model *m, struct errtext *err)
{
	struct model_job *jobs = NULL;
	size_t *run = NULL;
	int64_t first = INT64_MIN;
	int ret = since_ns > 0 ? first_since(db, m, since_ns, &first, err) : 0;

	if (!ret)
		ret = model_all_runs(db, &m->arena, first, false, &m->runs, &m->nr_runs, err);
	if (!ret)
		ret = model_all_jobs(db, &m->arena, false, m->runs, m->nr_runs, &jobs, &run,
				     &m->nr_jobs, err);
	if (ret < 0)
		return ret;
	m->jobs = arena_alloc(&m->arena, (m->nr_jobs + 1) * sizeof(*m->jobs));
	if (!m->jobs || !jobs || !run)
		return model_no_memory(err);
	for (size_t i = 0; i < m->nr_jobs; i++) {
		m->jobs[i] = (struct runs_job){.job = &jobs[i], .run = &m->runs[run[i]]};
		fill_job(&m->jobs[i]);
	}
	return fill_more(db, m, err);
}

static struct opt_i64 size_of(const char *path)
{
	struct opt_i64 ret = {0};
	char *wal = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return ret;
	ret.value = st.st_size;
	ret.known = true;
	if (asprintf(&wal, "%s-wal", path) >= 0) {
		if (stat(wal, &st) == 0)
			ret.value += st.st_size;
		free(wal);
	}
	return ret;
}

enum { PANELS = 4 };

static int compare_names(const struct bytes *a, const struct bytes *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = len ? memcmp(a->data, b->data, len) : 0;

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* By name, then by run; the jobs are sorted by run. */
static int by_name(const void *a, const void *b)
{
	const struct runs_job *const *x = a;
	const struct runs_job *const *y = b;
	int order = compare_names(&(*x)->job->name, &(*y)->job->name);

	return order ? order : (*x > *y) - (*x < *y);
}

static int newest_first(const void *a, const void *b)
{
	const struct runs_trend *x = a;
	const struct runs_trend *y = b;
	const struct runs_job *last_x = x->jobs[x->nr - 1];
	const struct runs_job *last_y = y->jobs[y->nr - 1];

	return (last_x < last_y) - (last_x > last_y);
}

static double value_of(const struct runs_job *j, int panel)
{
	const struct opt_f64 v[PANELS] = {j->time_s, j->miss_ratio, j->stall_share, j->score};

	return v[panel].known ? v[panel].value : NAN;
}

static void fill_panel(struct arena *a, const struct runs_trend *t, int at,
		       struct picture_panel *ret)
{
	static const struct {
		const char *name;
		enum picture_unit unit;
		enum tone tone;
		double top;
	} wanted[PANELS] = {
		{"time", UNIT_SECONDS, TONE_A, 0},
		{"miss ratio", UNIT_SHARE, TONE_MISS, 0},
		{"stalled share of the time", UNIT_SHARE, TONE_STALL, 1},
		{"score", UNIT_NUMBER, TONE_BEST, 1},
	};
	double *values = arena_alloc(a, t->nr * sizeof(*values));
	struct picture_series *series = arena_alloc(a, sizeof(*series));

	if (!values || !series)
		return;
	for (size_t i = 0; i < t->nr; i++)
		values[i] = value_of(t->jobs[i], at);
	*series = (struct picture_series){
		.name = wanted[at].name, .tone = wanted[at].tone, .values = values};
	*ret = (struct picture_panel){.name = wanted[at].name,
				      .unit = wanted[at].unit,
				      .kind = PANEL_LINES,
				      .series = series,
				      .nr_series = 1,
				      .top = wanted[at].top};
}

static void make_picture(struct arena *a, struct runs_trend *t, size_t at)
{
	struct picture_panel *panels = arena_alloc(a, PANELS * sizeof(*panels));
	double *places = arena_alloc(a, t->nr * sizeof(*places));

	if (!panels || !places)
		return;
	for (int i = 0; i < PANELS; i++)
		fill_panel(a, t, i, &panels[i]);
	for (size_t i = 0; i < t->nr; i++)
		places[i] = (double)(i + 1);
	t->picture = (struct picture){
		.id = compare_id(a, "trend", at),
		.title = "From run to run",
		.says = arena_print(a, "%zu runs, number %lld to %lld, the oldest on the left.",
				    t->nr, (long long)t->jobs[0]->run->id,
				    (long long)t->jobs[t->nr - 1]->run->id),
		.axis = {.name = "run of the job",
			 .unit = UNIT_COUNT,
			 .kind = AXIS_PLACES,
			 .from = places,
			 .nr = t->nr},
		.panels = panels,
		.nr_panels = PANELS,
	};
}

/* Call it after the jobs are known. The arena notes a failed allocation. */
static void make_trends(struct runs_model *m)
{
	const struct runs_job **order =
		arena_alloc(&m->arena, (m->nr_jobs + 1) * sizeof(struct runs_job *));

	m->trends = arena_alloc(&m->arena, (m->nr_jobs + 1) * sizeof(*m->trends));
	if (!order || !m->trends)
		return;
	for (size_t i = 0; i < m->nr_jobs; i++)
		order[i] = &m->jobs[i];
	qsort(order, m->nr_jobs, sizeof(struct runs_job *), by_name);
	for (size_t i = 0; i < m->nr_jobs; i++) {
		struct runs_trend *t = m->nr_trends ? &m->trends[m->nr_trends - 1] : NULL;

		if (!t || compare_names(&t->name, &order[i]->job->name) != 0) {
			t = &m->trends[m->nr_trends++];
			*t = (struct runs_trend){.name = order[i]->job->name, .jobs = &order[i]};
		}
		t->nr++;
	}
	qsort(m->trends, m->nr_trends, sizeof(*m->trends), newest_first);
	for (size_t i = 0; i < m->nr_trends; i++)
		make_picture(&m->arena, &m->trends[i], i);
}

int runs_model_load(sqlite3 *db, const char *path, int64_t since_ns, struct runs_model *ret_model,
		    struct errtext *err)
{
	int ret;

	*ret_model = (struct runs_model){.db = path, .size_bytes = size_of(path)};
	/* One transaction, so that all data shows the same moment while a run is being written. */
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return db_read_error(db, err);
	ret_model->since = since_ns > 0;
	ret = load_runs(db, since_ns, ret_model, err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	if (!ret)
		make_trends(ret_model);
	return !ret && ret_model->arena.failed ? model_no_memory(err) : ret;
}

void runs_model_free(struct runs_model *m)
{
	arena_free(&m->arena);
	*m = (struct runs_model){0};
}
