/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/db/db_read.h"
#include "cachemon/db/schema.h"
#include "cachemon/model/bounds.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/model/model_rows.h"

/* Versions without a budget saw waits only by the per-read hook. */
static void slice(const struct model_run *run, struct counts *c, const struct estimates *e)
{
	if (run->sliced.known && run->sliced.value)
		counts_slice(c, e, !run->cost_budget.known);
}

/* Ignores an interval that does not contain its value. */
static void read_estimate(struct rows *r, struct estimates *e)
{
	struct bytes name = rows_bytes(r);
	struct range v = {.value = rows_f64(r)};

	v.low = rows_f64(r);
	v.high = rows_f64(r);
	if (!v.value.known || !v.low.known || !v.high.known || !(v.low.value >= 0) ||
	    !(v.low.value <= v.value.value) || !(v.value.value <= v.high.value))
		v = (struct range){0};
	for (enum read_estimate i = 0; i < ESTIMATES; i++)
		if (bytes_is(&name, estimate_name(i)))
			e->of[i] = v;
}

/* NULL: none. */
static const struct estimates *load_estimates(sqlite3 *db, struct arena *a,
					      const struct model_run *run, int64_t job_id)
{
	struct estimates *e;
	struct rows r;

	if (!run->sliced.known || !run->sliced.value || !model_has(db, "estimate", NULL))
		return NULL;
	e = arena_alloc(a, sizeof(*e));
	r = rows_begin(db, a, "SELECT name, value, low, high FROM estimate WHERE job_id = ?1", 1,
		       &job_id);
	while (e && rows_next(&r))
		read_estimate(&r, e);
	sqlite3_finalize(r.stmt);
	return e;
}

static void read_job(struct rows *r, const struct model_run *run, struct model_job *job)
{
	job->id = rows_value(r, 0);
	job->slot = rows_value(r, 0);
	job->name = rows_bytes(r);
	job->selector = rows_bytes(r);
	job->processes = rows_i64(r);
	job->alive = rows_i64(r);
	job->wall_ns = rows_i64(r);
	job->cpu_ns = rows_i64(r);
	job->rchar_bytes = rows_i64(r);
	model_rows_counts(r, &job->counts);
	if (!model_others(job))
		job->counts.bounds = bounds_of_totals(run);
	else /* pages of other processes have no fate */
		for (enum counter c = C_used; c <= C_untracked_map_full; c++)
			counts_forget(&job->counts, c);
}

static int load_identity(sqlite3 *db, struct arena *a, struct model_job *job, struct errtext *err)
{
	struct rows r;

	if (!model_has(db, "job", "external_id"))
		return 0;
	r = rows_begin(db, a,
		       "SELECT kind, external_id, step, job_name, partition, uid FROM job WHERE "
		       "id = ?1",
		       1, &job->id);
	if (rows_next(&r)) {
		job->kind = rows_bytes(&r);
		job->external_id = rows_bytes(&r);
		job->step = rows_bytes(&r);
		job->job_name = rows_bytes(&r);
		job->partition = rows_bytes(&r);
		job->uid = rows_i64(&r);
	}
	return model_rows_end(&r, err);
}

static int load_limit(sqlite3 *db, struct arena *a, struct model_job *job, struct errtext *err)
{
	struct rows r;

	if (!model_has(db, "job_limit", "limit_bytes"))
		return 0;
	r = rows_begin(
		db, a,
		model_has(db, "job_limit", "oom_kills")
			? "SELECT oom_kills, limit_bytes, at FROM job_limit WHERE job_id = ?1"
			: "SELECT NULL, limit_bytes, at FROM job_limit WHERE job_id = ?1",
		1, &job->id);
	if (rows_next(&r)) {
		job->oom_kills = rows_i64(&r);
		job->limit_bytes = rows_i64(&r);
		job->limit_at = rows_bytes(&r);
		job->limit_known = true;
	}
	return model_rows_end(&r, err);
}

static int load_syscr(sqlite3 *db, struct arena *a, struct model_job *job, struct errtext *err)
{
	struct rows r;

	if (!model_has(db, "job", "syscr_calls"))
		return 0;
	r = rows_begin(db, a, "SELECT syscr_calls FROM job WHERE id = ?1", 1, &job->id);
	if (rows_next(&r))
		job->syscr_calls = rows_i64(&r);
	return model_rows_end(&r, err);
}

static const char old_run[] = "an older version recorded the run, without the lengths of waits";
static const char some_waits[] = "the lengths of some waits were not recorded";

/* sql: reads the buckets of this id. none: why the buckets are empty although tasks slept. */
static int load_waits(sqlite3 *db, struct arena *a, const char *sql, int64_t id,
		      const struct counts *c, const char *none, struct model_waits *ret,
		      struct errtext *err)
{
	struct opt_i64 stalls = counts_get(c, C_stalls);
	int64_t sum = 0;
	struct rows r;

	ret->absent = "waits were not measured";
	if (!stalls.known)
		return 0;
	ret->absent = none;
	if (!model_has(db, "file_wait", NULL))
		return 0;
	r = rows_begin(db, a, sql, 1, &id);
	while (rows_next(&r)) {
		int64_t from_ns = rows_value(&r, 0), sleeps = rows_value(&r, 0);

		for (int i = 0; i < WAIT_BUCKETS; i++)
			if (counter_wait_ns(i) == from_ns)
				ret->sleeps[i] = sleeps;
		sum += sleeps;
	}
	if (sum || !stalls.value)
		ret->absent = sum < stalls.value ? some_waits : NULL;
	return model_rows_end(&r, err);
}

int model_jobs_load(sqlite3 *db, struct model *m, struct errtext *err)
{
	size_t jobs = rows_total(db, "SELECT count(*) FROM job WHERE run_id = ?1", m->run.id);
	size_t room = jobs > SCHEMA_JOBS_MAX ? 0 : jobs;
	char *sql = model_rows_sql(
		"SELECT id, slot, name, selector, processes, alive, wall_ns, cpu_ns, "
		"rchar_bytes",
		"FROM job WHERE run_id = ?1 ORDER BY slot = 0, slot");
	struct rows r = rows_begin(db, &m->arena, sql, 1, &m->run.id);
	int ret = 0;

	m->jobs = arena_alloc(&m->arena, room * sizeof(*m->jobs));
	while (m->jobs && m->nr_jobs < room && rows_next(&r))
		read_job(&r, &m->run, &m->jobs[m->nr_jobs++]);
	ret = model_rows_end(&r, err);
	free(sql);
	if (!ret && jobs > SCHEMA_JOBS_MAX)
		ret = errtext_set(err, -EIO,
				  "run %" PRId64
				  " has %zu jobs, and a run of cachemon has at most %d: the "
				  "database is damaged.",
				  m->run.id, jobs, SCHEMA_JOBS_MAX);
	for (size_t i = 0; !ret && m->jobs && i < m->nr_jobs; i++) {
		ret = load_identity(db, &m->arena, &m->jobs[i], err);
		if (!ret)
			ret = load_limit(db, &m->arena, &m->jobs[i], err);
		if (!ret)
			ret = load_syscr(db, &m->arena, &m->jobs[i], err);
		if (!ret)
			ret = load_waits(db, &m->arena,
					 "SELECT from_ns, sleeps FROM wait_histogram WHERE "
					 "job_id = ?1",
					 m->jobs[i].id, &m->jobs[i].counts, old_run,
					 &m->jobs[i].waits, err);
	}
	return ret;
}

/* The runs are in the same order. */
static size_t run_of(const struct model_run *runs, size_t nr_runs, size_t from, int64_t id)
{
	while (from < nr_runs && runs[from].id < id)
		from++;
	return from;
}

static const char want[] =
	"INSERT INTO " MODEL_WANTED " SELECT id, run_id FROM job WHERE slot <> 0 AND (name = ?1 OR "
	"kind || ':' || external_id = ?1 OR kind || ':' || external_id || '.' || step = ?1)";
static const char want_name[] =
	"INSERT INTO " MODEL_WANTED " SELECT id, run_id FROM job WHERE slot <> 0 AND name = ?1";

int model_want_job(sqlite3 *db, const char *job, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_exec(db,
			      "CREATE TEMP TABLE wanted_job (id INTEGER PRIMARY KEY, run_id "
			      "INTEGER NOT NULL)",
			      NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, model_has(db, "job", "external_id") ? want : want_name,
					-1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, job, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		sqlite3_step(stmt);
	if (sqlite3_finalize(stmt) != SQLITE_OK || rc != SQLITE_OK)
		return db_read_error(db, err);
	return 0;
}

int model_all_jobs(sqlite3 *db, struct arena *a, bool wanted, const struct model_run *runs,
		   size_t nr_runs, struct model_job **ret, size_t **ret_run, size_t *ret_nr,
		   struct errtext *err)
{
	int64_t first_id = nr_runs ? runs[0].id : 0;
	size_t room = rows_total(db, "SELECT count(*) FROM job WHERE slot <> 0 AND run_id >= ?1",
				 first_id);
	char *sql = model_rows_sql(
		"SELECT run_id, id, slot, name, selector, processes, alive, wall_ns, "
		"cpu_ns, rchar_bytes",
		wanted ? "FROM job WHERE run_id >= ?1 AND id IN (SELECT id FROM " MODEL_WANTED
			 ") ORDER BY run_id, slot"
		       : "FROM job WHERE slot <> 0 AND run_id >= ?1 ORDER BY run_id, slot");
	struct rows r = rows_begin(db, a, sql, 1, &first_id);
	size_t at = 0;
	int res;

	*ret_nr = 0;
	*ret = arena_alloc(a, (room + 1) * sizeof(**ret));
	*ret_run = arena_alloc(a, (room + 1) * sizeof(**ret_run));
	while (*ret && *ret_run && *ret_nr < room && rows_next(&r)) {
		struct model_job *job = &(*ret)[*ret_nr];

		at = run_of(runs, nr_runs, at, rows_value(&r, 0));
		if (at == nr_runs)
			break;
		read_job(&r, &runs[at], job);
		slice(&runs[at], &job->counts, load_estimates(db, a, &runs[at], job->id));
		(*ret_run)[(*ret_nr)++] = at;
	}
	res = model_rows_end(&r, err);
	free(sql);
	for (size_t i = 0; wanted && i < *ret_nr && !res; i++)
		res = load_identity(db, a, &(*ret)[i], err);
	return res;
}

static void read_file(struct rows *r, const struct model_run *run, struct model_file *f)
{
	bool folded; /* earlier counts are only in its directory */

	f->id = rows_value(r, 0);
	f->path = rows_bytes(r);
	f->fstype = rows_bytes(r);
	f->dev_major = rows_i64(r);
	f->dev_minor = rows_i64(r);
	f->ino = rows_i64(r);
	f->gen = rows_i64(r);
	f->size_bytes = rows_i64(r);
	f->deleted = rows_value(r, 0) == 1;
	folded = rows_value(r, 0) == 1;
	model_rows_counts(r, &f->counts);
	f->counts.bounds =
		bounds_of_row(run) | bounds_of_fstype(run, &f->fstype) | (folded ? BOUND_ROW : 0);
}

static int load_files(sqlite3 *db, size_t limit, struct model *m, struct model_job *job,
		      struct errtext *err)
{
	struct arena *a = &m->arena;
	size_t room = rows_total(db, "SELECT count(*) FROM file WHERE job_id = ?1", job->id);
	int64_t params[] = {job->id, (int64_t)(room < limit ? room : limit)};
	/* Sorts by two columns; the others are read only for the selected rows. */
	char *sql = model_rows_sql(
		"SELECT id, path, fstype, dev_major, dev_minor, ino, gen, size_bytes, "
		"deleted, folded_before",
		"FROM file WHERE id IN (SELECT id FROM file WHERE job_id = ?1 ORDER "
		"BY misses DESC, lookups DESC, id LIMIT ?2) "
		"ORDER BY misses DESC, lookups DESC, id");
	struct rows r = rows_begin(db, a, sql, 2, params);
	int ret = 0;

	room = (size_t)params[1];
	job->rest = job->counts;
	job->files = arena_alloc(a, room * sizeof(*job->files));
	while (job->files && job->nr_files < room && rows_next(&r)) {
		struct model_file *f = &job->files[job->nr_files++];

		read_file(&r, &m->run, f);
		if (!ret)
			ret = load_waits(
				db, a, "SELECT from_ns, sleeps FROM file_wait WHERE file_id = ?1",
				f->id, &f->counts,
				job->waits.absent ? job->waits.absent : some_waits, &f->waits, err);
		counts_subtract(&job->rest, &f->counts);
		slice(&m->run, &f->counts, NULL);
	}
	slice(&m->run, &job->rest, NULL);
	if (ret)
		rows_finish(&r);
	else
		ret = model_rows_end(&r, err);
	free(sql);
	return ret;
}

static int load_directories(sqlite3 *db, struct model *m, struct model_job *job,
			    struct errtext *err)
{
	struct arena *a = &m->arena;
	size_t room = rows_total(db, "SELECT count(*) FROM directory WHERE job_id = ?1", job->id);
	char *sql = model_rows_sql("SELECT id, path, files, files_estimated, subdirectories, "
				   "(SELECT 'squashfs' WHERE id IN (SELECT directory_id FROM file "
				   "WHERE job_id = ?1 AND fstype = 'squashfs'))",
				   "FROM directory WHERE job_id = ?1 "
				   "ORDER BY misses DESC, lookups DESC, id");
	struct rows r = rows_begin(db, a, sql, 1, &job->id);
	struct opt_i64 files = {.known = true};
	int ret = 0;

	job->directories = arena_alloc(a, room * sizeof(*job->directories));
	while (job->directories && job->nr_directories < room && rows_next(&r)) {
		struct model_directory *d = &job->directories[job->nr_directories++];
		struct bytes fstype;

		d->id = rows_value(&r, 0);
		d->path = rows_bytes(&r);
		d->files = rows_i64(&r);
		d->files_estimated = rows_value(&r, 0) == 1;
		d->subdirectories = rows_value(&r, 0) == 1;
		fstype = rows_bytes(&r);
		model_rows_counts(&r, &d->counts);
		/* Files without a row are in the row of files without a name. */
		d->counts.bounds =
			d->path.data ? bounds_of_row(&m->run) | bounds_of_fstype(&m->run, &fstype)
				     : bounds_of_totals(&m->run);
		slice(&m->run, &d->counts, NULL);
		files = opt_add(files, d->files);
		files.known = files.known && !d->files_estimated;
	}
	job->rest_files = opt_sub(files, (struct opt_i64){(int64_t)job->nr_files, true});
	ret = model_rows_end(&r, err);
	free(sql);
	return ret;
}

#define FILESYSTEM_COLUMNS                                                                         \
	"SELECT type, mount, cover, why, dev_major, dev_minor, files, files_estimated, "
#define DEVICE_HAS(column)                                                                         \
	"(SELECT d." column " FROM device d JOIN job ON job.run_id = d.run_id WHERE job.id = ?1 "  \
	"AND d.dev_major = filesystem.dev_major AND d.dev_minor = filesystem.dev_minor)"
#define DEVICE_FACTS                                                                               \
	DEVICE_HAS("read_ahead_kb")                                                                \
	", " DEVICE_HAS("rotational") ", " DEVICE_HAS("network") ", "

struct opt_i64 model_device_read_ns(const struct model_filesystem *f)
{
	struct opt_i64 ns = {.known = f->device_reads.known && f->device_reads.value > 0 &&
				      f->device_read_ms.known};

	if (ns.known)
		ns.value = (int64_t)((double)f->device_read_ms.value * 1e6 /
				     (double)f->device_reads.value);
	return ns;
}

static int load_filesystems(sqlite3 *db, struct model *m, struct model_job *job,
			    struct errtext *err)
{
	struct arena *a = &m->arena;
	struct rows r;
	size_t room;
	char *sql;
	int ret;
	/* Older databases have no devices, or not their reads. */
	static const char *const by_age[] = {
		FILESYSTEM_COLUMNS "NULL, NULL, NULL, NULL, NULL, NULL",
		FILESYSTEM_COLUMNS DEVICE_FACTS "NULL, NULL, NULL",
		FILESYSTEM_COLUMNS DEVICE_FACTS DEVICE_HAS("name") ", " DEVICE_HAS(
			"reads") ", " DEVICE_HAS("read_ms"),
	};
	int age = model_has(db, "device", "read_ahead_kb") + model_has(db, "device", "reads");

	if (!model_has(db, "filesystem", NULL))
		return 0;
	room = rows_total(db, "SELECT count(*) FROM filesystem WHERE job_id = ?1", job->id);
	sql = model_rows_sql(by_age[age],
			     "FROM filesystem WHERE job_id = ?1 ORDER BY dev_major IS NULL, "
			     "lookups DESC, misses DESC, id");
	r = rows_begin(db, a, sql, 1, &job->id);
	job->filesystems = arena_alloc(a, room * sizeof(*job->filesystems));
	while (job->filesystems && job->nr_filesystems < room && rows_next(&r)) {
		struct model_filesystem *f = &job->filesystems[job->nr_filesystems++];

		f->type = rows_bytes(&r);
		f->mount = rows_bytes(&r);
		f->cover = rows_bytes(&r);
		f->why = rows_bytes(&r);
		f->dev_major = rows_i64(&r);
		f->dev_minor = rows_i64(&r);
		f->files = rows_i64(&r);
		f->files_estimated = rows_value(&r, 0) == 1;
		f->read_ahead_kb = rows_i64(&r);
		f->rotational = rows_i64(&r);
		f->network = rows_i64(&r);
		f->device = rows_bytes(&r);
		f->device_reads = rows_i64(&r);
		f->device_read_ms = rows_i64(&r);
		model_rows_counts(&r, &f->counts);
		f->counts.bounds = f->dev_major.known ? bounds_of_row(&m->run) |
								bounds_of_fstype(&m->run, &f->type)
						      : bounds_of_totals(&m->run);
		slice(&m->run, &f->counts, NULL);
	}
	ret = model_rows_end(&r, err);
	free(sql);
	return ret;
}

/*
 * Bytes that the job's tasks read beyond the counted reads. Some of the counted reads (io_uring's,
 * AIO's, reads of exec) are not among the tasks' bytes, so the true value may be greater.
 */
static struct opt_i64 outside_reads(const struct model_job *job)
{
	struct opt_i64 bytes = job->rchar_bytes;
	struct opt_i64 seen = opt_add(counts_get(&job->counts, C_read_bytes),
				      counts_get(&job->counts, C_direct_read_bytes));

	/* The difference of an estimate and the total is mostly the estimate's error. */
	if (!seen.known || job->counts.sliced || job->counts.bounds & BOUND_ROW)
		bytes.known = false;
	bytes.value = bytes.value > seen.value ? bytes.value - seen.value : 0;
	return bytes;
}

static void read_advice(struct rows *r, struct model_advice *v)
{
	v->id = rows_value(r, 0);
	v->path = rows_bytes(r);
	v->kind = rows_bytes(r);
	v->call = rows_bytes(r);
	v->calls = rows_i64(r);
	v->offset_bytes = rows_i64(r);
	v->length_bytes = rows_i64(r);
	if (v->offset_bytes.value < 0) /* no range was seen */
		v->offset_bytes.known = v->length_bytes.known = false;
	v->pages_asked = rows_i64(r);
	v->pages_brought = rows_i64(r);
	v->pages_dropped = rows_i64(r);
	v->cached_pages = rows_i64(r);
	v->redundant_pages = rows_i64(r);
	v->dropped_refaults = rows_i64(r);
	v->dropped_refaults_others = rows_i64(r);
	v->used = rows_i64(r);
	v->used_late = rows_i64(r);
	v->evicted_unused = rows_i64(r);
	v->resident_unused = rows_i64(r);
	v->untracked = rows_i64(r);
}

#define ADVICE_COLUMNS                                                                             \
	"SELECT id, path, kind, call, calls, offset_bytes, length_bytes, pages_asked, "            \
	"pages_brought, pages_dropped, "
#define ADVICE_FATES "used, used_late, evicted_unused, resident_unused, untracked" ADVICE_FROM
#define ADVICE_FROM                                                                                \
	" FROM advice WHERE job_id = ?1 ORDER BY "                                                 \
	"coalesce(pages_brought, 0) + coalesce(pages_dropped, 0) DESC, calls DESC, id"

static int load_advice(sqlite3 *db, struct arena *a, struct model_job *job, struct errtext *err)
{
	size_t room = rows_total(db, "SELECT count(*) FROM advice WHERE job_id = ?1", job->id);
	/* A database of an earlier schema has no columns for the fates. */
	static const char *const by_age[] = {
		ADVICE_COLUMNS "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL" ADVICE_FROM,
		ADVICE_COLUMNS
		"cached_pages, redundant_pages, dropped_refaults, NULL, " ADVICE_FATES,
		ADVICE_COLUMNS "cached_pages, redundant_pages, dropped_refaults, "
			       "dropped_refaults_others, " ADVICE_FATES,
	};
	int age = model_has(db, "advice", "dropped_refaults") +
		  model_has(db, "advice", "dropped_refaults_others");
	struct rows r = rows_begin(db, a, by_age[age], 1, &job->id);

	job->advice = arena_alloc(a, room * sizeof(*job->advice));
	while (job->advice && job->nr_advice < room && rows_next(&r))
		read_advice(&r, &job->advice[job->nr_advice++]);
	return model_rows_end(&r, err);
}

int model_job_rows_load(sqlite3 *db, const struct model_query *query, struct model *m,
			struct model_job *job, struct errtext *err)
{
	int ret = 0;

	if (query->advice_only && !model_others(job)) {
		ret = load_directories(db, m, job, err);
		if (!ret)
			ret = load_filesystems(db, m, job, err);
		if (!ret)
			ret = load_advice(db, &m->arena, job, err);
	} else if (query->detail_only && !model_others(job)) {
		ret = model_detail_load(db, m, job, err);
	} else if (!query->totals_only && !model_others(job)) {
		ret = load_files(db, query->files, m, job, err);
		if (!ret)
			ret = load_directories(db, m, job, err);
		if (!ret)
			ret = load_filesystems(db, m, job, err);
		if (!ret)
			ret = load_advice(db, &m->arena, job, err);
		if (!ret)
			ret = model_detail_load(db, m, job, err);
	}
	/* Last, because the rest of the files derives from the job's measured counts. */
	slice(&m->run, &job->counts,
	      model_others(job) ? NULL : load_estimates(db, &m->arena, &m->run, job->id));
	job->outside_read_bytes = outside_reads(job);
	return ret;
}
