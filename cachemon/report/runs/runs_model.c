/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/runs/runs_model.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "advisor/analysis/grade.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"

static struct opt_f64 real(struct opt_i64 v)
{
	return (struct opt_f64){(double)v.value, v.known};
}

/* As the analysis has it, but for the curve, which takes longer than a list may. */
static void grade_one(struct runs_job *j, struct opt_i64 read_again)
{
	const struct counts *c = &j->job->counts;
	struct grade grades[GRADE_NR];
	struct grade_input in = {0};
	struct derived d;

	counts_derive(c, j->run->page_size_bytes.value, &d);
	in.lookups = real(counts_get(c, C_lookups));
	in.misses = real(counts_get(c, C_misses));
	in.all_used = real(counts_sum(c, SUM_OF(TERMS_all_used)));
	in.refaults = real(read_again.known ? read_again : counts_get(c, C_refaults));
	in.added_pages = real(counts_sum(c, SUM_OF(TERMS_added_pages)));
	in.accuracy = d.accuracy;
	in.coverage = d.coverage;
	in.timeliness = d.timeliness;
	in.stall_ns = in.job_stall_ns = real(counts_get(c, C_stall_ns));
	in.wall_ns = real(j->job->wall_ns);
	in.cpu_ns = real(j->job->cpu_ns);
	in.touches =
		real(opt_add(counts_get(c, C_lookups), opt_add(counts_get(c, C_faults_major),
							       counts_get(c, C_faults_minor))));
	in.touches_min = grade_touches_min(real(j->job->processes));
	in.mapped = j->mapped;
	in.sliced = c->sliced;
	grade_all(&in, grades);
	j->letter = grades[GRADE_OVERALL].letter;
	j->score = grades[GRADE_OVERALL].score;
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

/* Pages that were written anew are refaults too: of a directory no more came back than were
 * fetched. */
static int fill_read_again(sqlite3 *db, struct runs_model *m, struct errtext *err)
{
	struct runs_job **order = calloc(m->nr_jobs + 1, sizeof(struct runs_job *));
	struct rows r = rows_begin(
		db, &m->arena,
		"SELECT id, (SELECT iif(count(*) = count(pages), sum(pages), NULL) FROM "
		"(SELECT min(refaults, " SQL_brought_pages(
			"") ") AS pages "
			    "FROM directory WHERE job_id = job.id)) FROM job ORDER BY id",
		0, NULL);
	size_t at = 0;
	int ret;

	for (size_t i = 0; order && i < m->nr_jobs; i++)
		order[i] = &m->jobs[i];
	if (order)
		qsort(order, m->nr_jobs, sizeof(struct runs_job *), by_id);
	while (order && rows_next(&r)) {
		int64_t id = rows_value(&r, 0);
		struct opt_i64 pages = rows_i64(&r);

		while (at < m->nr_jobs && order[at]->job->id < id)
			at++;
		if (at < m->nr_jobs && order[at]->job->id == id)
			grade_one(order[at], pages);
	}
	ret = model_rows_end(&r, err);
	free(order);
	return order ? ret : model_no_memory(err);
}

static int load(sqlite3 *db, struct runs_model *m, struct errtext *err)
{
	struct model_job *jobs = NULL;
	size_t *run = NULL;
	int ret = model_all_runs(db, &m->arena, INT64_MIN, &m->runs, &m->nr_runs, err);

	if (!ret)
		ret = model_all_jobs(db, &m->arena, m->runs, m->nr_runs, &jobs, &run, &m->nr_jobs,
				     err);
	if (ret < 0)
		return ret;
	m->jobs = arena_alloc(&m->arena, (m->nr_jobs + 1) * sizeof(*m->jobs));
	if (!m->jobs || !jobs || !run)
		return model_no_memory(err);
	for (size_t i = 0; i < m->nr_jobs; i++) {
		m->jobs[i] = (struct runs_job){.job = &jobs[i], .run = &m->runs[run[i]]};
		fill_job(&m->jobs[i]);
	}
	return fill_read_again(db, m, err);
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

int runs_model_load(sqlite3 *db, const char *path, struct runs_model *ret_model,
		    struct errtext *err)
{
	int ret;

	*ret_model = (struct runs_model){.db = path, .size_bytes = size_of(path)};
	/* One transaction: while a run is being written, all is of the same moment. */
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return db_read_error(db, err);
	ret = load(db, ret_model, err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	if (!ret)
		runs_trends_make(ret_model);
	return !ret && ret_model->arena.failed ? model_no_memory(err) : ret;
}

void runs_model_free(struct runs_model *m)
{
	arena_free(&m->arena);
	*m = (struct runs_model){0};
}
