/* SPDX-License-Identifier: BSD-2-Clause */
/* Which intervals make up a moment, and the counts of its jobs. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/model/bounds.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/top/moment.h"

/* If intervals are shorter than requested, earlier ones are added up to this share of the
 * length. */
#define WHOLE 0.75

static int one_value(sqlite3 *db, struct arena *a, const char *sql, int nr, const int64_t params[],
		     int64_t *value, struct errtext *err)
{
	struct rows r = rows_begin(db, a, sql, nr, params);

	while (rows_next(&r))
		*value = rows_value(&r, *value);
	return model_rows_end(&r, err);
}

/* Where the requested moment begins; steps stop at the first and the last interval. */
static int find_start(sqlite3 *db, const struct top_ask *ask, struct top_moment *m,
		      int64_t *ret_start_ns, struct errtext *err)
{
	static const char before[] =
		"SELECT start_ns FROM (SELECT start_ns FROM interval WHERE run_id = ?1 AND "
		"start_ns <= ?2 ORDER BY start_ns DESC LIMIT ?3)";
	static const char after[] =
		"SELECT start_ns FROM interval WHERE run_id = ?1 AND start_ns > ?2 "
		"ORDER BY start_ns LIMIT ?3";
	int64_t start = ask->at_ns == TOP_NEWEST ? INT64_MAX : ask->at_ns;
	int64_t params[] = {m->model.run.id, start, ask->steps < 0 ? 1 - (int64_t)ask->steps : 1};
	int ret = one_value(db, &m->arena, before, 3, params, &start, err);

	if (!ret && ask->steps > 0) {
		params[1] = start;
		params[2] = ask->steps;
		ret = one_value(db, &m->arena, after, 3, params, &start, err);
	}
	*ret_start_ns = start;
	return ret;
}

/* The database may be untrusted: these sums do not overflow. */
static int64_t bounded(int64_t ns)
{
	const int64_t most = INT64_MAX / (2 * TOP_HISTORY);

	return ns < 0 ? 0 : ns > most ? most : ns;
}

/* Whether sums of directories were recorded: an older writer had none. */
static int find_directories(sqlite3 *db, struct top_moment *m, struct errtext *err)
{
	int64_t has_table = 0, any = 0;
	int64_t params[3];
	int ret = one_value(db, &m->arena,
			    "SELECT count(*) FROM sqlite_schema WHERE name = 'directory_interval'",
			    0, NULL, &has_table, err);

	if (ret || !has_table || !m->nr_history)
		return ret;
	params[0] = m->model.run.id;
	params[1] = m->history[m->nr_history - 1].start_ns;
	params[2] = m->history[0].start_ns;
	ret = one_value(db, &m->arena,
			"SELECT EXISTS (SELECT 1 FROM directory_interval WHERE interval_id IN "
			"(SELECT id FROM interval WHERE run_id = ?1 AND start_ns BETWEEN ?2 AND "
			"?3))",
			3, params, &any, err);
	m->has_directories = any != 0;
	return ret;
}

static int load_history(sqlite3 *db, int64_t start_ns, struct top_moment *m, struct errtext *err)
{
	int64_t params[] = {m->model.run.id, start_ns, TOP_HISTORY};
	int64_t later = start_ns;
	struct rows r = rows_begin(db, &m->arena,
				   "SELECT id, start_ns, duration_ns, read_on_ns FROM interval "
				   "WHERE run_id = ?1 AND start_ns <= ?2 "
				   "ORDER BY start_ns DESC LIMIT ?3",
				   3, params);
	int ret;

	while (m->nr_history < TOP_HISTORY && rows_next(&r)) {
		struct top_interval *i = &m->history[m->nr_history++];

		i->id = rows_value(&r, 0);
		i->start_ns = rows_value(&r, 0);
		i->duration_ns = bounded(rows_value(&r, 0));
		i->read_on_ns = bounded(rows_value(&r, 0));
	}
	ret = model_rows_end(&r, err);
	if (!ret)
		ret = one_value(db, &m->arena,
				"SELECT start_ns FROM interval WHERE run_id = ?1 AND start_ns > ?2 "
				"ORDER BY start_ns LIMIT 1",
				2, params, &later, err);
	m->newest = later <= start_ns;
	return ret;
}

enum top_hook top_hook_of(const struct top_moment *m, const struct top_interval *i)
{
	/* Otherwise a difference is only the precision of time. */
	if (!bytes_is(&m->model.run.level, "auto") || i->read_on_ns >= i->duration_ns)
		return TOP_HOOK_ON;
	return TOP_HOOK_OFF;
}

static void choose_window(struct top_moment *m)
{
	struct opt_i64 wanted = m->model.run.interval_ns;
	double enough = wanted.known ? WHOLE * (double)wanted.value : 0;

	while (m->nr_window < m->nr_history && m->nr_window < TOP_WINDOW) {
		if (m->nr_window && (double)m->duration_ns >= enough)
			break;
		m->duration_ns += m->history[m->nr_window++].duration_ns;
	}
}

struct counts top_counts_none(void)
{
	struct counts c = {0};

	for (int i = 0; i < C_NR; i++)
		c.known[i] = true;
	return c;
}

void top_counts_take(const struct top_moment *m, const struct top_interval *i, struct counts *sum,
		     struct counts *c)
{
	if (top_hook_of(m, i) != TOP_HOOK_ON)
		counts_slice(c, NULL, !m->model.run.cost_budget.known);
	sum->sliced = sum->sliced || c->sliced;
	counts_add(sum, c);
}

void top_counts_finish(const struct top_moment *m, struct counts *c, unsigned int bounds)
{
	c->bounds = bounds;
	for (size_t i = 0; i < m->nr_window; i++)
		if (top_hook_of(m, &m->history[i]) != TOP_HOOK_ON)
			counts_slice(c, NULL, !m->model.run.cost_budget.known);
}

static void begin_jobs(struct top_moment *m)
{
	m->nr_jobs = m->model.nr_jobs;
	m->jobs = arena_alloc(&m->arena, m->nr_jobs * sizeof(*m->jobs));
	for (size_t i = 0; m->jobs && i < m->nr_jobs; i++)
		m->jobs[i] = (struct top_row){
			.id = m->model.jobs[i].id,
			.name = m->model.jobs[i].name,
			.lead = "",
			.last = model_others(&m->model.jobs[i]),
			.counts = top_counts_none(),
			.cpu_ns = {.known = true},
		};
}

/* "(others) tar evicts": the process outside the job that evicted most of its pages in the run. */
static int name_neighbour(sqlite3 *db, struct top_moment *m, struct top_row *others,
			  struct errtext *err)
{
	struct rows r = rows_begin(
		db, &m->arena,
		"SELECT evictor FROM interference WHERE evictor_kind = 'others' AND evictor IS NOT "
		"NULL AND job_id IN (SELECT id FROM job WHERE run_id = ?1) "
		"GROUP BY evictor ORDER BY sum(pages) DESC LIMIT 1",
		1, &m->model.run.id);

	if (rows_next(&r)) {
		struct bytes who = rows_bytes(&r);
		char text[160];

		snprintf(text, sizeof(text), "%.*s %.*s evicts", (int)others->name.len,
			 others->name.data, (int)who.len, who.data);
		others->name = arena_bytes(&m->arena, text, strlen(text));
	}
	return model_rows_end(&r, err);
}

static void take_job(struct rows *r, const struct top_interval *i, struct top_moment *m)
{
	int64_t id = rows_value(r, 0);
	struct opt_i64 cpu_ns = rows_i64(r);
	struct counts c;

	model_rows_counts(r, &c);
	for (size_t j = 0; j < m->nr_jobs; j++) {
		if (m->jobs[j].id != id)
			continue;
		m->jobs[j].nr_intervals++;
		m->jobs[j].cpu_ns = opt_add(m->jobs[j].cpu_ns, cpu_ns);
		top_counts_take(m, i, &m->jobs[j].counts, &c);
	}
}

/* A job without a row was not counted, which is not zero. */
static void forget_uncounted(struct top_moment *m)
{
	for (size_t j = 0; j < m->nr_jobs; j++) {
		if (m->jobs[j].nr_intervals >= m->nr_window)
			continue;
		m->jobs[j].counts = (struct counts){0};
		m->jobs[j].cpu_ns.known = false;
	}
}

static int load_jobs(sqlite3 *db, struct top_moment *m, struct errtext *err)
{
	char *sql =
		model_rows_sql("SELECT job_id, cpu_ns", "FROM job_interval WHERE interval_id = ?1");
	int ret = 0;

	begin_jobs(m);
	if (!sql || !m->jobs) {
		free(sql);
		return model_no_memory(err);
	}
	for (size_t i = 0; i < m->nr_jobs && !ret; i++)
		if (m->jobs[i].last && model_has(db, "interference", NULL))
			ret = name_neighbour(db, m, &m->jobs[i], err);
	for (size_t i = 0; i < m->nr_window && !ret; i++) {
		struct rows r = rows_begin(db, &m->arena, sql, 1, &m->history[i].id);

		while (rows_next(&r))
			take_job(&r, &m->history[i], m);
		ret = model_rows_end(&r, err);
	}
	free(sql);
	forget_uncounted(m);
	return ret;
}

/* After the rows of the level, which are compared with the job's unmodified counts. */
static void finish_jobs(struct top_moment *m)
{
	for (size_t i = 0; i < m->nr_jobs; i++) {
		struct top_row *job = &m->jobs[i];

		top_counts_finish(m, &job->counts, job->last ? 0 : bounds_of_totals(&m->model.run));
		/* Pages of other processes have no fate. */
		for (enum counter c = C_used; job->last && c <= C_untracked_map_full; c++)
			counts_forget(&job->counts, c);
	}
}

/* Whether files without a row have more than half of what was waited for; of the misses, if no time
 * is known. */
static bool most_is_rest(const struct top_moment *m)
{
	const struct top_row *rest = m->nr_files ? &m->files[m->nr_files - 1] : NULL;
	struct opt_i64 all = counts_get(&m->jobs[0].counts, C_stall_ns);
	enum counter by = all.known && all.value > 0 ? C_stall_ns : C_misses;
	struct opt_i64 part;

	if (!rest || rest->id)
		return false;
	part = counts_get(&rest->counts, by);
	all = counts_get(&m->jobs[0].counts, by);
	return part.known && all.known && part.value > all.value / 2;
}

static int load_side(sqlite3 *db, enum top_level level, struct top_moment *m, struct errtext *err)
{
	int ret = top_rows_load(db, TOP_FILES, 0, m, &m->files, &m->nr_files, err);

	m->files_level = TOP_FILES;
	if (!ret && level == TOP_JOBS && m->has_directories && most_is_rest(m)) {
		m->files_level = TOP_DIRECTORIES;
		ret = top_rows_load(db, TOP_DIRECTORIES, 0, m, &m->files, &m->nr_files, err);
	}
	if (!ret)
		ret = top_processes_load(db, m, &m->processes, &m->nr_processes, err);
	return ret;
}

static int load_all(sqlite3 *db, const struct top_ask *ask, struct top_moment *m,
		    struct errtext *err)
{
	int64_t start_ns = 0;
	int ret = find_start(db, ask, m, &start_ns, err);

	if (!ret)
		ret = load_history(db, start_ns, m, err);
	choose_window(m);
	if (!ret)
		ret = find_directories(db, m, err);
	if (!ret)
		ret = load_jobs(db, m, err);
	if (!ret && ask->level == TOP_RUNS)
		ret = top_runs_load(db, m, err);
	if (!ret && ask->level == TOP_PROCESSES && m->nr_window)
		ret = top_processes_load(db, m, &m->rows, &m->nr_rows, err);
	else if (!ret && ask->level > TOP_JOBS && m->nr_window)
		ret = top_rows_load(db, ask->level, ask->directory, m, &m->rows, &m->nr_rows, err);
	if (!ret && ask->files && m->nr_window)
		ret = load_side(db, ask->level, m, err);
	if (ret)
		return ret;
	finish_jobs(m);
	if (ask->level == TOP_JOBS && m->nr_window) {
		m->rows = m->jobs;
		m->nr_rows = m->nr_jobs;
	}
	return m->arena.failed ? model_no_memory(err) : 0;
}

int top_moment_load(sqlite3 *db, const struct top_ask *ask, struct top_moment *ret_moment,
		    struct errtext *err)
{
	struct model_query query = {.run_id = ask->run_id, .totals_only = true};
	struct top_moment m = {0};
	int ret = model_load(db, &query, &m.model, err);

	if (ret)
		return ret;
	/* One transaction, so that an interval and its rows are consistent. */
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
		ret = db_read_error(db, err);
	} else {
		ret = load_all(db, ask, &m, err);
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
	if (ret)
		top_moment_free(&m);
	else
		*ret_moment = m;
	return ret;
}

void top_moment_free(struct top_moment *m)
{
	model_free(&m->model);
	arena_free(&m->arena);
	*m = (struct top_moment){0};
}

int64_t top_moment_end_ns(const struct top_moment *m)
{
	return m->nr_history ? bounded(m->history[0].start_ns) + m->history[0].duration_ns : 0;
}

const struct top_row *top_moment_job(const struct top_moment *m)
{
	return m->nr_jobs ? &m->jobs[0] : NULL;
}
