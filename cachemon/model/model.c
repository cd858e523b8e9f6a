/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_load.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/db/db_read.h"
#include "cachemon/base/escape.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/model/run_name.h"

bool model_waits_in_slices(const struct model_run *run)
{
	return run->sliced.known && run->sliced.value && !run->cost_budget.known;
}

bool model_others(const struct model_job *job)
{
	return job->slot == JOB_OTHERS;
}

/* "command: python3 train.py", "pid: 12, command: cp, uid: 1000" */
struct bytes model_command(const struct model_job *job)
{
	static const char command[] = "command: ", user[] = ", uid: ";
	const struct bytes *s = &job->selector;
	const char *at = s->data ? memmem(s->data, s->len, command, strlen(command)) : NULL;
	struct bytes ret = {0};
	const char *end;

	if (!at)
		return ret;
	ret.data = at + strlen(command);
	ret.len = s->len - (size_t)(ret.data - s->data);
	/* A command ends with the text; other selectors end before ", uid". */
	end = at == s->data ? NULL : memmem(ret.data, ret.len, user, strlen(user));
	if (end)
		ret.len = (size_t)(end - ret.data);
	return ret;
}

const struct model_job *model_main_job(const struct model *m)
{
	return m->nr_jobs ? &m->jobs[0] : NULL;
}

static void read_run_facts(struct rows *r, struct model_run *run)
{
	run->id = rows_value(r, 0);
	run->uuid = rows_bytes(r);
	run->cachemon = rows_bytes(r);
	run->host = rows_bytes(r);
	run->kernel = rows_bytes(r);
	run->arch = rows_bytes(r);
	run->state = rows_bytes(r);
	run->level = rows_bytes(r);
	run->advice_mode = rows_bytes(r);
	run->started_ns = rows_i64(r);
	run->duration_ns = rows_i64(r);
	run->sliced = rows_i64(r);
	run->read_on_ns = rows_i64(r);
	run->interval_ns = rows_i64(r);
	run->page_size_bytes = rows_i64(r);
	run->memory_bytes = rows_i64(r);
	run->map_bytes = rows_i64(r);
	run->exit_status = rows_i64(r);
}

static void read_run_cost(struct rows *r, struct model_run *run)
{
	run->cpu_ns = rows_i64(r);
	run->probe_cpu_ns = rows_i64(r);
	run->collector_cpu_ns = rows_i64(r);
	run->probe_ns_per_lookup = rows_f64(r);
	run->share_of_job_cpu = rows_f64(r);
	run->advice_calls_ns = rows_f64(r);
	run->map_full = rows_i64(r);
	run->chunk_full = rows_i64(r);
	run->ring_drops = rows_i64(r);
	run->state_drops = rows_i64(r);
	run->ghosts_dropped = rows_i64(r);
	run->advice_full = rows_i64(r);
	run->recursion_misses = rows_i64(r);
	run->silent_files = rows_i64(r);
	run->intervals_lost = rows_i64(r);
	run->law_error_pages = rows_i64(r);
}

static void read_run(struct rows *r, struct model_run *run)
{
	read_run_facts(r, run);
	read_run_cost(r, run);
	run->cost_budget = rows_f64(r);
	run->cost_share = rows_f64(r);
	run->budget_kept = rows_i64(r);
	run->over_budget_by = rows_f64(r);
	for (int i = 0; i < MODEL_COST_PARTS; i++)
		run->cost_parts[i] = rows_i64(r);
	run->user = rows_bytes(r);
}

/* The existing names, for an error message. */
static void list_runs(sqlite3 *db, struct errtext *err)
{
	struct arena a = {0};
	struct rows r = rows_begin(db, &a, "SELECT min(id), max(id), count(*) FROM run", 0, NULL);

	if (rows_next(&r)) {
		int64_t first = rows_value(&r, 0);
		int64_t last = rows_value(&r, 0);
		int64_t nr = rows_value(&r, 0);

		if (nr == 0)
			errtext_set(err, 0,
				    "the database holds no run yet; record one with "
				    "'cachemon watch'.");
		else
			errtext_set(err, 0,
				    "%s The database holds %" PRId64 " run%s, %" PRId64
				    " to %" PRId64 ": see 'cachemon runs'.",
				    err->text, nr, nr == 1 ? "" : "s", first, last);
	}
	sqlite3_finalize(r.stmt);
	arena_free(&a);
}

/* The schema guarantees it; everything in bytes or pages depends on it. */
static int check_run(const struct model_run *run, struct errtext *err)
{
	enum { PAGE_SIZE_MAX = 1 << 30 };
	struct opt_i64 size = run->page_size_bytes;

	if (size.known && size.value > 0 && size.value <= PAGE_SIZE_MAX)
		return 0;
	return errtext_set(err, -EBADMSG,
			   "run %" PRId64 " is damaged: it has no page size; name another run.",
			   run->id);
}

static const char run_fields[] =
	"SELECT id, uuid, cachemon, host, kernel, arch, state, level, advice_mode, "
	"started_ns, duration_ns, sliced, read_on_ns, interval_ns, page_size_bytes, "
	"memory_bytes, nullif(map_bytes, 0), exit_status, cost_cpu_ns, cost_probe_cpu_ns, "
	"cost_collector_cpu_ns, cost_probe_ns_per_lookup, cost_share_of_job_cpu, "
	"cost_advice_calls_ns, loss_map_full, loss_chunk_full, loss_ring_drops, "
	"loss_state_drops, loss_ghosts_dropped, loss_advice_full, ";

enum { RUN_SQL_MAX = sizeof(run_fields) + 640 };

static void run_sql(sqlite3 *db, const char *where, char sql[RUN_SQL_MAX])
{
	snprintf(sql, RUN_SQL_MAX, "%s%s, loss_intervals, law_error_pages, %s, %s FROM run %s",
		 run_fields,
		 model_has(db, "run", "loss_recursion_misses")
			 ? "loss_recursion_misses, (SELECT sum(f.files) FROM filesystem f JOIN job "
			   "j ON j.id = f.job_id WHERE j.run_id = run.id AND f.type = 'squashfs' "
			   "AND f.cover = 'partly')"
			 : "NULL, NULL",
		 model_has(db, "run", "cost_budget")
			 ? "cost_budget, cost_share, cost_budget_kept, cost_over_budget_by, "
			   "cost_reads_ns, cost_pages_ns, cost_windows_ns, cost_faults_ns, "
			   "cost_switches_ns, cost_other_ns"
			 : "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
		 model_has(db, "run", "user") ? "user" : "NULL", where);
}

static int load_run(sqlite3 *db, int64_t id, struct model *m, struct errtext *err)
{
	char sql[RUN_SQL_MAX];
	bool found = false;
	struct rows r;
	int ret = 0;

	run_sql(db,
		id == MODEL_RUN_LAST ? "WHERE " RUN_NAME_STARTED " ORDER BY id DESC LIMIT 1"
				     : "WHERE id = ?1",
		sql);
	r = rows_begin(db, &m->arena, sql, id == MODEL_RUN_LAST ? 0 : 1, &id);
	if (rows_next(&r)) {
		found = true;
		read_run(&r, &m->run);
	}
	ret = model_rows_end(&r, err);
	if (ret < 0)
		return ret;
	if (found)
		return check_run(&m->run, err);
	if (id == MODEL_RUN_LAST)
		err->text[0] = '\0';
	else
		errtext_set(err, 0, "no run %" PRId64 ".", id);
	list_runs(db, err);
	return -ENOENT;
}

int model_all_runs(sqlite3 *db, struct arena *a, int64_t first_id, bool wanted,
		   struct model_run **ret, size_t *ret_nr, struct errtext *err)
{
	static const char only[] =
		"WHERE id >= ?1 AND id IN (SELECT run_id FROM " MODEL_WANTED ") ORDER BY id";
	char sql[RUN_SQL_MAX];
	size_t room = rows_total(db, "SELECT count(*) FROM run WHERE id >= ?1", first_id);
	struct rows r;

	*ret_nr = 0;
	*ret = arena_alloc(a, (room + 1) * sizeof(**ret));
	if (!*ret)
		return model_no_memory(err);
	run_sql(db, wanted ? only : "WHERE id >= ?1 ORDER BY id", sql);
	r = rows_begin(db, a, sql, 1, &first_id);
	while (rows_next_of(&r, *ret_nr, room))
		read_run(&r, &(*ret)[(*ret_nr)++]);
	return model_rows_end(&r, err);
}

static int load_probes(sqlite3 *db, struct model *m, struct errtext *err)
{
	size_t room = rows_total(db, "SELECT count(*) FROM probe WHERE run_id = ?1", m->run.id);
	struct rows r = rows_begin(db, &m->arena,
				   "SELECT role, hook, state, reason FROM probe WHERE run_id = ?1 "
				   "ORDER BY role",
				   1, &m->run.id);

	m->probes = arena_alloc(&m->arena, room * sizeof(*m->probes));
	while (m->probes && m->nr_probes < room && rows_next(&r)) {
		struct model_probe *p = &m->probes[m->nr_probes++];

		p->role = rows_bytes(&r);
		p->hook = rows_bytes(&r);
		p->state = rows_bytes(&r);
		p->reason = rows_bytes(&r);
	}
	return model_rows_end(&r, err);
}

/* In a sliced run each absent estimate has its own reason, and estimates exist only for the job. */
#define UNMEASURED "SELECT counter, reason FROM unmeasured WHERE run_id = ?1"
#define ESTIMATES_OF                                                                               \
	"(SELECT e.* FROM estimate e WHERE e.job_id = "                                            \
	"(SELECT min(id) FROM job WHERE run_id = ?1 AND slot <> 0))"

static const char unmeasured[] = UNMEASURED " ORDER BY counter";
static const char unmeasured_or_estimated[] =
	"SELECT u.counter, coalesce(e.reason, u.reason || iif(e.value IS NULL, '', "
	"  ': of the job there is an estimate, of files and directories none')) "
	"FROM (" UNMEASURED ") u LEFT JOIN " ESTIMATES_OF " e ON e.name = u.counter "
	"UNION ALL SELECT e.name, e.reason FROM " ESTIMATES_OF " e "
	"WHERE e.reason IS NOT NULL AND e.name IN ('hits', 'hit_ratio') ORDER BY 1";

static int load_unmeasured(sqlite3 *db, struct model *m, struct errtext *err)
{
	/* hits and hit_ratio are not counters. */
	size_t room =
		rows_total(db, "SELECT count(*) + 2 FROM unmeasured WHERE run_id = ?1", m->run.id);
	bool estimates = model_has(db, "run", "cost_budget");
	struct rows r = rows_begin(db, &m->arena, estimates ? unmeasured_or_estimated : unmeasured,
				   1, &m->run.id);

	m->unmeasured = arena_alloc(&m->arena, room * sizeof(*m->unmeasured));
	while (m->unmeasured && m->nr_unmeasured < room && rows_next(&r)) {
		struct model_unmeasured *u = &m->unmeasured[m->nr_unmeasured++];

		u->counter = rows_bytes(&r);
		u->reason = rows_bytes(&r);
	}
	return model_rows_end(&r, err);
}

static int load_shed(sqlite3 *db, struct model *m, struct errtext *err)
{
	size_t room = 0;
	struct rows r;

	if (model_has(db, "run", "cost_budget"))
		room = rows_total(db, "SELECT count(*) FROM shed WHERE run_id = ?1", m->run.id);
	if (!room)
		return 0;
	r = rows_begin(db, &m->arena,
		       "SELECT detail, reason, from_ns, to_ns FROM shed WHERE run_id = ?1 "
		       "ORDER BY from_ns, detail",
		       1, &m->run.id);
	m->run.shed = arena_alloc(&m->arena, room * sizeof(*m->run.shed));
	while (m->run.shed && m->run.nr_shed < room && rows_next(&r)) {
		struct model_shed *s = &m->run.shed[m->run.nr_shed++];

		s->detail = rows_bytes(&r);
		s->reason = rows_bytes(&r);
		s->from_ns = rows_i64(&r);
		s->to_ns = rows_i64(&r);
	}
	return model_rows_end(&r, err);
}

/* Pages whose fate was lost because the map was full, for all jobs with fates. */
static void sum_untracked(struct model *m)
{
	struct opt_i64 sum = {.known = m->nr_jobs > 0};

	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!model_others(&m->jobs[i]))
			sum = opt_add(sum, counts_get(&m->jobs[i].counts, C_untracked_map_full));
	m->run.untracked_pages = sum;
}

static int no_such_job(const struct model *m, const char *wanted, struct errtext *err)
{
	FILE *out = fmemopen(err->text, sizeof(err->text), "w");

	if (!out)
		return errtext_set(err, -ENOENT, "no such job in run %" PRId64 ".", m->run.id);
	setvbuf(out, NULL, _IONBF, 0);
	fprintf(out, "no job '");
	escape_inert(out, wanted, strlen(wanted));
	fprintf(out, "' in run %" PRId64 "; it has ", m->run.id);
	for (size_t i = 0; i < m->nr_jobs; i++) {
		fprintf(out, "%s'", i ? ", " : "");
		escape_inert(out, m->jobs[i].name.data, m->jobs[i].name.len);
		fprintf(out, "'");
	}
	fprintf(out, "%s.", m->nr_jobs ? "" : "none");
	fclose(out);
	err->text[sizeof(err->text) - 1] = '\0';
	return -ENOENT;
}

/* KIND:NAME or KIND:NAME.STEP */
static bool has_key(const struct model_job *job, const char *wanted)
{
	const struct bytes *parts[] = {&job->kind, &job->external_id, &job->step};
	const char *at = wanted;

	for (int i = 0; i < 3; i++) {
		if (i == 2 && !*at)
			return true;
		if (i && *at++ != (i == 1 ? ':' : '.'))
			return false;
		if (!parts[i]->data || strncmp(at, parts[i]->data, parts[i]->len) != 0)
			return false;
		at += parts[i]->len;
	}
	return !*at;
}

static bool is_wanted(const struct model_job *job, const char *wanted)
{
	return bytes_is(&job->name, wanted) || has_key(job, wanted);
}

static int choose_job(struct model *m, const char *wanted, struct errtext *err)
{
	size_t kept = 0;

	if (!wanted)
		return 0;
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (is_wanted(&m->jobs[i], wanted))
			kept++;
	if (!kept)
		return no_such_job(m, wanted, err);
	kept = 0;
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (is_wanted(&m->jobs[i], wanted))
			m->jobs[kept++] = m->jobs[i];
	m->nr_jobs = kept;
	return 0;
}

static int load_all(sqlite3 *db, const struct model_query *query, struct model *m,
		    struct errtext *err)
{
	int ret = load_run(db, query->run_id, m, err);

	if (!ret)
		ret = load_probes(db, m, err);
	if (!ret)
		ret = load_unmeasured(db, m, err);
	if (!ret)
		ret = load_shed(db, m, err);
	if (!ret)
		ret = model_jobs_load(db, m, err);
	if (ret < 0)
		return ret;
	sum_untracked(m);
	ret = choose_job(m, query->job, err);
	for (size_t i = 0; i < m->nr_jobs && !ret; i++)
		ret = model_job_rows_load(db, query, m, &m->jobs[i], err);
	return ret;
}

int model_load(sqlite3 *db, const struct model_query *query, struct model *ret_model,
	       struct errtext *err)
{
	struct model m = {0};
	int ret = 0;

	/* One transaction, so that all tables show the same moment while a run is being written. */
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return db_read_error(db, err);
	ret = load_all(db, query, &m, err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	if (ret < 0) {
		model_free(&m);
		return ret;
	}
	*ret_model = m;
	return 0;
}

void model_free(struct model *m)
{
	arena_free(&m->arena);
	*m = (struct model){0};
}
