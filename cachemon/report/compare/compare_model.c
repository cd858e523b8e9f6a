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

/* In an interval without a row of the job, nothing of it was counted. */
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

/* The machine and the way of watching of a run: names and values as text. */
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

/* The job to compare with this one: the one with its name, or the only one if both runs have
 * one. NULL: none. */
static const struct model_job *find_job(const struct model *m, const struct model_job *wanted,
					bool only)
{
	const struct model_job *one = NULL;

	if (count_watched(m, &one) == 1 && only)
		return one;
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!model_others(&m->jobs[i]) && bytes_equal(&m->jobs[i].name, &wanted->name))
			return &m->jobs[i];
	return NULL;
}

/* The jobs that are in all runs. */
static void match_jobs(struct compare_model *m)
{
	const struct model_job *one = NULL;
	bool only = count_watched(&m->model[0], &one) == 1;

	m->jobs = arena_alloc(&m->arena, (m->model[0].nr_jobs + 1) * sizeof(*m->jobs));
	for (size_t i = 0; m->jobs && i < m->model[0].nr_jobs; i++) {
		const struct model_job *a = &m->model[0].jobs[i];
		const struct model_job *b = find_job(&m->model[1], a, only);
		bool in_all = b && !model_others(a);

		for (int side = 0; side < 2; side++)
			for (size_t k = 0; k < m->side[side].nr && in_all; k++)
				in_all = find_job(&m->side[side].runs[k], a, only);
		if (in_all)
			m->jobs[m->nr_jobs++] = (struct compare_job){.job = {a, b}};
	}
}

#define COMMAND "command: "

/* The words of a job's command; data is NULL for other jobs. */
static struct bytes command_of(const struct model_job *job)
{
	size_t len = strlen(COMMAND);
	struct bytes ret = job->selector;

	if (!ret.data || ret.len <= len || memcmp(ret.data, COMMAND, len) != 0)
		return (struct bytes){0};
	ret.data += len;
	ret.len -= len;
	return ret;
}

/* The last part of the path of its program. */
static struct bytes program_of(const struct bytes *command)
{
	const char *end = memchr(command->data, ' ', command->len);
	size_t len = end ? (size_t)(end - command->data) : command->len;
	const char *slash = memrchr(command->data, '/', len);
	size_t skip = slash ? (size_t)(slash - command->data) + 1 : 0;

	return (struct bytes){command->data + skip, len - skip};
}

/*
 * A name given by the user identifies a job whatever its command is, because the command may be
 * what was changed. A name that is only the program's does not, so the whole command must be equal.
 */
static bool same_command(const struct model_job *a, const struct model_job *b)
{
	const struct bytes command[2] = {command_of(a), command_of(b)};
	struct bytes program[2];

	if (!command[0].data || !command[1].data)
		return true;
	for (int i = 0; i < 2; i++)
		program[i] = program_of(&command[i]);
	return (!bytes_equal(&a->name, &program[0]) && !bytes_equal(&a->name, &program[1])) ||
	       bytes_equal(&command[0], &command[1]);
}

static int check_same(const struct model *a, const struct model *b, struct errtext *err)
{
	const struct model_job *job[2] = {NULL, NULL};
	char *shown[2];
	bool name;

	if (count_watched(a, &job[0]) != 1 || count_watched(b, &job[1]) != 1)
		return 0;
	name = bytes_equal(&job[0]->name, &job[1]->name);
	if (name && same_command(job[0], job[1]))
		return 0;
	for (int i = 0; i < 2; i++) {
		const struct bytes *what = name ? &job[i]->selector : &job[i]->name;

		shown[i] = escape_inert_copy(what->data ? what->data : "-",
					     what->data ? what->len : 1);
	}
	errtext_set(err, COMPARE_REFUSED,
		    "runs %" PRId64 " and %" PRId64
		    " are of different %s, '%s' and '%s'. Add --any to compare them anyway; "
		    "to give a job a name of its own, run 'cachemon watch --job NAME'.",
		    a->run.id, b->run.id, name ? "commands" : "jobs", shown[0] ? shown[0] : "?",
		    shown[1] ? shown[1] : "?");
	free(shown[0]);
	free(shown[1]);
	return COMPARE_REFUSED;
}

/* A job that did not end, failed or lost intervals is incomplete: its sums are those of the
 * known part. */
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
	return errtext_set(
		err, -EINVAL,
		"run %" PRId64
		" %s, and --per job compares whole jobs: omit it to compare per unit of work.",
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
	compare_answer_make(&m->arena, m, at, &j->pictures.answer);
}

static bool failed_to_start(const struct model_run *run)
{
	return bytes_is(&run->state, "complete") && run->exit_status.known &&
	       run->exit_status.value >= 126 && run->duration_ns.known && !run->duration_ns.value;
}

static int load_run(sqlite3 *db, const struct compare_options *o, const char *name,
		    struct model *ret, struct errtext *err)
{
	struct model_query query = {.job = o->job, .totals_only = true};
	int res = run_name_find(db, name, &query.run_id, err);

	if (!res)
		res = model_load(db, &query, ret, err);
	if (!res && failed_to_start(&ret->run))
		res = errtext_set(err, -ENODATA,
				  "run %" PRId64
				  " has no data, because its command failed to start "
				  "(status %" PRId64 "). Choose another one: see 'cachemon runs'.",
				  ret->run.id, ret->run.exit_status.value);
	if (!res && o->per == PER_JOB)
		res = check_whole(&ret->run, err);
	return res;
}

static int64_t duration_of(const struct model *m)
{
	return m->run.duration_ns.known ? m->run.duration_ns.value : 0;
}

/* The index of the median time; for an even number the lower one of the two. */
static size_t median_run(const struct compare_side *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		size_t before = 0;

		for (size_t k = 0; k < s->nr; k++)
			before += duration_of(&s->runs[k]) < duration_of(&s->runs[i]) ||
				  (k < i && duration_of(&s->runs[k]) == duration_of(&s->runs[i]));
		if (before == (s->nr - 1) / 2)
			return i;
	}
	return 0;
}

static int load_side(sqlite3 *db, const struct compare_options *o, int which,
		     struct compare_side *s, struct errtext *err)
{
	const char *const *names = o->runs[which];
	size_t nr = 0;
	int ret = 0;

	while (names[nr])
		nr++;
	s->runs = calloc(nr + 1, sizeof(*s->runs));
	if (!s->runs)
		return model_no_memory(err);
	for (; s->nr < nr && !ret; s->nr++)
		ret = load_run(db, o, names[s->nr], &s->runs[s->nr], err);
	s->shown = median_run(s);
	return ret;
}

bool compare_several(const struct compare_model *m)
{
	return m->side[0].nr > 1 || m->side[1].nr > 1;
}

/* Runs are independent only if none is given twice. */
static int check_twice(const struct compare_model *m, struct errtext *err)
{
	const struct compare_side *s = m->side;

	if (!compare_several(m))
		return 0;
	for (size_t i = 0; i < s[0].nr + s[1].nr; i++)
		for (size_t k = 0; k < i; k++) {
			const struct model *a =
				i < s[0].nr ? &s[0].runs[i] : &s[1].runs[i - s[0].nr];
			const struct model *b =
				k < s[0].nr ? &s[0].runs[k] : &s[1].runs[k - s[0].nr];

			if (a->run.id == b->run.id)
				return errtext_set(err, COMPARE_REFUSED,
						   "run %" PRId64
						   " is given twice; give each run once.",
						   a->run.id);
		}
	return 0;
}

static int check_all(const struct compare_model *m, const struct compare_options *o,
		     struct errtext *err)
{
	int ret = check_twice(m, err);

	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < m->side[i].nr && !ret && !o->any; k++)
			ret = check_same(&m->side[0].runs[0], &m->side[i].runs[k], err);
	return ret;
}

static int load_models(sqlite3 *db, const struct compare_options *o, struct compare_model *m,
		       struct errtext *err)
{
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++)
		ret = load_side(db, o, i, &m->side[i], err);
	if (!ret)
		ret = check_all(m, o, err);
	for (int i = 0; i < 2 && !ret; i++) {
		const struct compare_side *s = &m->side[i];
		struct model_query query = {
			.run_id = s->runs[s->shown].run.id, .job = o->job, .detail_only = true};

		ret = model_load(db, &query, &m->model[i], err);
	}
	if (ret)
		return ret;
	m->same = m->model[0].run.id == m->model[1].run.id;
	match_jobs(m);
	if (m->nr_jobs || m->arena.failed)
		return 0;
	return errtext_set(err, -ENOENT,
			   "runs %" PRId64 " and %" PRId64
			   " have no watched job of the same name: see "
			   "'cachemon runs'.",
			   m->model[0].run.id, m->model[1].run.id);
}

static int load_runs(sqlite3 *db, struct compare_model *m, struct compare_job *j, int which,
		     struct errtext *err)
{
	const struct compare_side *s = &m->side[which];
	const struct model_job *one = NULL;
	bool only = count_watched(&m->model[0], &one) == 1;
	int ret = 0;

	j->runs[which] = arena_alloc(&m->arena, s->nr * sizeof(*j->runs[which]));
	for (size_t i = 0; j->runs[which] && i < s->nr && !ret; i++)
		ret = load_intervals(db, &s->runs[i].run,
				     find_job(&s->runs[i], j->job[0], only)->id, &m->arena,
				     &j->runs[which][i], err);
	if (j->runs[which])
		j->run[which] = j->runs[which][s->shown];
	return ret;
}

static int judge_job(const struct compare_model *m, const struct compare_options *o,
		     struct compare_job *j)
{
	if (!compare_several(m))
		return compare_runs(&j->run[0], &j->run[1], o->per, &j->result);
	return compare_groups(j->runs[0], m->side[0].nr, j->runs[1], m->side[1].nr, o->per,
			      &j->result);
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
			ret = load_runs(db, m, j, i, err);
		if (!ret && !m->arena.failed)
			ret = judge_job(m, o, j);
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
		for (size_t k = 0; k < m->side[i].nr; k++)
			model_free(&m->side[i].runs[k]);
		free(m->side[i].runs);
	}
	arena_free(&m->arena);
	*m = (struct compare_model){0};
}
