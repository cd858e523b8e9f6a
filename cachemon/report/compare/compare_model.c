/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/progress.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/model/run_name.h"

static void read_interval(struct rows *r, const struct model_run *run, struct compare_interval *in)
{
	struct counts c;
	struct opt_i64 v;

	in->duration_ns = rows_value(r, 0);
	in->read_on_ns = rows_value(r, 0);
	in->value[X_DURATION_NS] = in->duration_ns;
	in->known[X_DURATION_NS] = true;
	v = rows_i64(r);
	in->value[X_CPU_NS] = v.value;
	in->known[X_CPU_NS] = v.known;
	v = rows_i64(r);
	in->rchar_bytes = v.value;
	in->rchar_known = v.known;
	model_rows_counts(r, &c);
	if (in->read_on_ns < in->duration_ns && model_waits_in_slices(run))
		counts_forget_stall(&c);
	for (int i = 0; i < C_NR; i++) {
		in->value[i] = c.c[i];
		in->known[i] = c.known[i];
	}
}

/* An interval of the run in which the job has no row is one in which nothing of it was counted. */
static int load_intervals(sqlite3 *db, const struct model_run *run, int64_t job_id, struct arena *a,
			  struct compare_run *ret, struct errtext *err)
{
	int64_t params[] = {run->id, job_id};
	size_t room = rows_total(db, "SELECT count(*) FROM interval WHERE run_id = ?1", run->id);
	struct compare_interval *in = arena_alloc(a, (room + 1) * sizeof(*in));
	char *sql =
		model_rows_sql("SELECT duration_ns, read_on_ns, cpu_ns, rchar_bytes",
			       "FROM interval i JOIN job_interval j ON j.interval_id = i.id AND "
			       "j.job_id = ?2 WHERE run_id = ?1 AND duration_ns > 0 "
			       "ORDER BY start_ns, i.id");
	struct rows r = rows_begin(db, a, sql, 2, params);
	size_t nr = 0;
	int res;

	while (in && rows_next_of(&r, nr, room))
		read_interval(&r, run, &in[nr++]);
	res = model_rows_end(&r, err);
	free(sql);
	*ret = (struct compare_run){
		.intervals = in,
		.nr = nr,
		.page_bytes = run->page_size_bytes.known ? (double)run->page_size_bytes.value : 0};
	return res;
}

/* What a run was on and how it was watched: a name and a value, as text. */
#define OF_THE_RUN                                                                                 \
	"SELECT 0 AS at, 'host' AS what, host AS value FROM run WHERE id = ?1 "                    \
	"UNION ALL SELECT 1, 'kernel', kernel FROM run WHERE id = ?1 "                             \
	"UNION ALL SELECT 2, 'architecture', arch FROM run WHERE id = ?1 "                         \
	"UNION ALL SELECT 3, 'memory, bytes', memory_bytes FROM run WHERE id = ?1 "                \
	"UNION ALL SELECT 4, 'page size, bytes', page_size_bytes FROM run WHERE id = ?1 "          \
	"UNION ALL SELECT 20, 'cachemon', cachemon FROM run WHERE id = ?1 "                        \
	"UNION ALL SELECT 21, 'level', level FROM run WHERE id = ?1 "                              \
	"UNION ALL SELECT 22, 'interval, ms', interval_ns / 1000000 FROM run WHERE id = ?1 "

/* From schema 7 on. */
#define OF_THE_MACHINE                                                                             \
	"UNION ALL SELECT 5, 'processors', nr_cpus FROM machine WHERE run_id = ?1 "                \
	"UNION ALL SELECT 6, 'NUMA nodes', numa_nodes FROM machine WHERE run_id = ?1 "             \
	"UNION ALL SELECT 7, 'swap, bytes', swap_bytes FROM machine WHERE run_id = ?1 "            \
	"UNION ALL SELECT 8, 'reclaim', iif(mglru, 'by generations', 'by two lists') "             \
	"FROM machine WHERE run_id = ?1 AND mglru IS NOT NULL "                                    \
	"UNION ALL SELECT 9, 'transparent huge pages', thp FROM machine WHERE run_id = ?1 "        \
	"UNION ALL SELECT 10, 'least memory limit of a job, bytes', min(m.job_limit_bytes) "       \
	"FROM machine_interval m JOIN interval i ON i.id = m.interval_id WHERE i.run_id = ?1 "     \
	"UNION ALL SELECT 11, 'device, by kernel number and name', group_concat(d, ', ') FROM "    \
	"(SELECT dev_major || ':' || dev_minor || coalesce(' ' || name, '') AS d FROM device "     \
	"WHERE run_id = ?1 ORDER BY dev_major, dev_minor) "                                        \
	"UNION ALL SELECT 12, 'read_ahead_kb of ' || coalesce(name, dev_major || ':' || "          \
	"dev_minor), read_ahead_kb FROM device WHERE run_id = ?1 "                                 \
	"UNION ALL SELECT 13, 'rotational: ' || coalesce(name, dev_major || ':' || dev_minor), "   \
	"rotational FROM device WHERE run_id = ?1 "

#define IN_ORDER "ORDER BY at, what"

struct facts {
	struct compare_fact *list;
	size_t nr, room;
};

static void add_fact(struct facts *f, const struct bytes *what, const struct bytes *value,
		     int which)
{
	size_t i = 0;

	while (i < f->nr && !bytes_equal(&f->list[i].what, what))
		i++;
	if (i == f->room)
		return;
	if (i == f->nr)
		f->list[f->nr++].what = *what;
	f->list[i].value[which] = *value;
}

static int read_facts(sqlite3 *db, int64_t run_id, bool machine, struct arena *a, struct facts *f,
		      int which, struct errtext *err)
{
	struct rows r = rows_begin(
		db, a, machine ? OF_THE_RUN OF_THE_MACHINE IN_ORDER : OF_THE_RUN IN_ORDER, 1,
		&run_id);

	while (rows_next(&r)) {
		struct bytes what, value;

		rows_value(&r, 0);
		what = rows_bytes(&r);
		value = rows_bytes(&r);
		add_fact(f, &what, &value, which);
	}
	return model_rows_end(&r, err);
}

static void keep_different_facts(struct facts *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nr; i++)
		if (!bytes_equal(&f->list[i].value[0], &f->list[i].value[1]))
			f->list[kept++] = f->list[i];
	f->nr = kept;
}

static int load_facts(sqlite3 *db, const struct model model[2], struct arena *a,
		      struct compare_fact **ret, size_t *ret_nr, struct errtext *err)
{
	enum { ROOM = 256 };
	struct facts f = {arena_alloc(a, ROOM * sizeof(*f.list)), 0, ROOM};
	bool machine = model_has(db, "machine", NULL);
	int res = 0;

	if (!f.list)
		return model_no_memory(err);
	for (int i = 0; i < 2 && !res; i++)
		res = read_facts(db, model[i].run.id, machine, a, &f, i, err);
	keep_different_facts(&f);
	*ret = f.list;
	*ret_nr = f.nr;
	return res;
}

static size_t count_watched(const struct model *m, const struct model_job **ret_one)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_jobs; i++) {
		if (model_others(&m->jobs[i]))
			continue;
		*ret_one = &m->jobs[i];
		nr++;
	}
	return nr;
}

/* The jobs that both runs have, by name; a run's only job is also the other run's only one. */
static void match_jobs(struct compare_model *m)
{
	const struct model_job *only[2] = {NULL, NULL};
	size_t nr[2];

	for (int i = 0; i < 2; i++)
		nr[i] = count_watched(&m->model[i], &only[i]);
	m->jobs = arena_alloc(&m->arena, (nr[0] + 1) * sizeof(*m->jobs));
	if (!m->jobs)
		return;
	if (nr[0] == 1 && nr[1] == 1) {
		m->jobs[m->nr_jobs++] = (struct compare_job){.job = {only[0], only[1]}};
		return;
	}
	for (size_t i = 0; i < m->model[0].nr_jobs; i++) {
		const struct model_job *a = &m->model[0].jobs[i];

		for (size_t k = 0; k < m->model[1].nr_jobs; k++) {
			const struct model_job *b = &m->model[1].jobs[k];

			if (model_others(a) || model_others(b) || !bytes_equal(&a->name, &b->name))
				continue;
			m->jobs[m->nr_jobs++] = (struct compare_job){.job = {a, b}};
			break;
		}
	}
}

/* A job that did not end, failed or lost intervals is no whole job: its sums are what is known. */
static int check_whole(const struct model_run *run, struct errtext *err)
{
	const char *why = NULL;

	if (!bytes_is(&run->state, "complete"))
		why = "did not end";
	else if (run->exit_status.known && run->exit_status.value)
		why = "ended with an error";
	else if (run->intervals_lost.known && run->intervals_lost.value)
		why = "lost intervals";
	if (!why)
		return 0;
	return errtext_set(err, -EINVAL,
			   "run %" PRId64
			   " %s, and --per job compares whole jobs: leave it out to compare "
			   "them per work.",
			   run->id, why);
}

static int analyse_runs(sqlite3 *db, const struct compare_options *o, struct compare_model *m,
			struct errtext *err)
{
	const struct analysis_options how = {.dirs = o->rules};
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		ret = analysis_run(db, m->model[i].run.id, &how, &m->analysis[i], err);
		if (ret < 0)
			errtext_end_sentence(err);
		else
			m->model[i].analysis = &m->analysis[i];
	}
	return ret;
}

static void fill_job(struct compare_model *m, size_t at)
{
	const struct analysis *const analysis[2] = {&m->analysis[0], &m->analysis[1]};
	struct compare_job *j = &m->jobs[at];

	compare_findings_make(&m->arena, analysis, j->job, &j->findings, &j->nr_findings);
	compare_pictures_make(&m->arena, m->model, j->job, at, &j->pictures);
}

static int load_models(sqlite3 *db, const struct compare_options *o, struct compare_model *m,
		       struct errtext *err)
{
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		struct model_query query = {.job = o->job, .detail_only = true};

		ret = run_name_find(db, o->run[i], &query.run_id, err);
		if (!ret)
			ret = model_load(db, &query, &m->model[i], err);
		if (!ret && o->per == PER_JOB)
			ret = check_whole(&m->model[i].run, err);
	}
	if (ret)
		return ret;
	match_jobs(m);
	if (m->nr_jobs || m->arena.failed)
		return 0;
	return errtext_set(err, -ENOENT,
			   "runs %" PRId64 " and %" PRId64
			   " have no watched job of the same name: see "
			   "'cachemon runs'.",
			   m->model[0].run.id, m->model[1].run.id);
}

int compare_model_load(sqlite3 *db, const struct compare_options *o, struct compare_model *m,
		       struct errtext *err)
{
	int ret;

	*m = (struct compare_model){0};
	ret = load_models(db, o, m, err);
	if (!ret)
		ret = analyse_runs(db, o, m, err);
	if (!ret)
		ret = load_facts(db, m->model, &m->arena, &m->facts, &m->nr_facts, err);
	for (size_t k = 0; k < m->nr_jobs && !ret; k++) {
		struct compare_job *j = &m->jobs[k];

		progress_at(o->progress, "jobs", k, m->nr_jobs);
		for (int i = 0; i < 2 && !ret; i++)
			ret = load_intervals(db, &m->model[i].run, j->job[i]->id, &m->arena,
					     &j->run[i], err);
		if (!ret && !m->arena.failed)
			ret = compare_runs(&j->run[0], &j->run[1], o->per, &j->result);
		if (!ret && !m->arena.failed)
			fill_job(m, k);
		if (ret == -ENOMEM)
			m->arena.failed = true;
	}
	if (!m->arena.failed)
		return ret;
	return errtext_set(err, -ENOMEM, "not enough memory to compare the runs.");
}

void compare_model_free(struct compare_model *m)
{
	for (size_t i = 0; i < m->nr_jobs; i++)
		compare_free(&m->jobs[i].result);
	for (int i = 0; i < 2; i++) {
		analysis_free(&m->analysis[i]);
		model_free(&m->model[i]);
	}
	arena_free(&m->arena);
	*m = (struct compare_model){0};
}
