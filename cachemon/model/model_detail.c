/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_detail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/figures/show.h"
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
	char *sql =
		model_rows_sql("SELECT start_ns, duration_ns, read_on_ns, rolled, cpu_ns",
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

		model_rows_counts(&r, &b.counts);
		b.counts.sliced = m->run.sliced.known && m->run.sliced.value;
		if (b.read_on_ns < b.duration_ns && model_waits_in_slices(&m->run))
			counts_forget_stall(&b.counts);
		timeline_add(t, &b);
	}
	ret = model_rows_end(&r, err);
	free(sql);
	timeline_end(t, &job->counts, job->cpu_ns);
	return ret;
}

#define LARGEST "SELECT id FROM interference WHERE job_id = ?1 ORDER BY pages DESC, id LIMIT 100"
#define EVICTION_ROWS                                                                              \
	"SELECT x.cause, iif(e.id IS NULL, x.evictor_kind, 'job'), e.name, x.evictor, "            \
	"x.evictor_cgroup, x.evictor_path, x.evictor_writes, x.owner_path, x.pages, x.exact, 0 "   \
	"FROM interference x LEFT JOIN job e ON e.id = "
#define EVICTION_ORDER " WHERE x.id IN (" LARGEST ") ORDER BY x.pages DESC, x.id"

_Static_assert(INTERFERENCE_ROWS == 100, "as in the query");

/* The job of an evictor is known if the database has the table of their cgroups. */
static const char *evictions_query(sqlite3 *db)
{
	static const char jobs[] =
		EVICTION_ROWS "(SELECT b.job_id FROM evicting_job b WHERE b.interference_id = x.id "
			      "ORDER BY b.depth_bytes DESC, b.job_id DESC LIMIT 1)" EVICTION_ORDER;
	static const char no_jobs[] = EVICTION_ROWS "NULL" EVICTION_ORDER;

	return model_has(db, "job_cgroup", NULL) ? jobs : no_jobs;
}

static void read_eviction(struct rows *r, struct model_eviction *e)
{
	e->cause = rows_bytes(r);
	e->kind = rows_bytes(r);
	e->job = rows_bytes(r);
	e->command = rows_bytes(r);
	e->cgroup = rows_bytes(r);
	e->directory = rows_bytes(r);
	e->writes = rows_i64(r);
	e->owner_directory = rows_bytes(r);
	e->pages = rows_i64(r);
	e->exact = rows_value(r, 0) == 1;
	e->rows = rows_value(r, 0);
}

/* Lists the largest rows, then the rest of each cause. */
static int load_evictions(sqlite3 *db, struct model *m, struct model_job *job,
			  struct model_detail *d, struct errtext *err)
{
	const char *const queries[] = {
		evictions_query(db),
		"SELECT cause, NULL, NULL, NULL, NULL, NULL, NULL, NULL, sum(pages), min(exact), "
		"count(*) FROM interference WHERE job_id = ?1 AND id NOT IN (" LARGEST ") "
		"GROUP BY cause ORDER BY sum(pages) DESC, cause"};
	size_t room = INTERFERENCE_ROWS + EVICT_NR;
	int ret = 0;

	d->evictions = arena_alloc(&m->arena, room * sizeof(*d->evictions));
	for (size_t i = 0; i < 2 && d->evictions && !ret; i++) {
		struct rows r = rows_begin(db, &m->arena, queries[i], 1, &job->id);

		while (d->nr_evictions < room && rows_next(&r))
			read_eviction(&r, &d->evictions[d->nr_evictions++]);
		ret = model_rows_end(&r, err);
	}
	return ret;
}

/* No rows: nothing was evicted, or evictors were not recorded. */
static const char *why_no_evictions(const struct model *m, const struct model_job *job)
{
	static const char counter[] = "interference";
	struct derived all;

	for (size_t i = 0; i < m->nr_unmeasured; i++)
		if (bytes_is(&m->unmeasured[i].counter, counter))
			return m->unmeasured[i].reason.data;
	counts_derive(&job->counts, 0, &all);
	if (!all.evicted_pages.known)
		return "evictions were not measured";
	return all.evicted_pages.value ? "the run did not record what evicted pages" : NULL;
}

static int load_interference(sqlite3 *db, struct model *m, struct model_job *job,
			     struct model_detail *d, struct errtext *err)
{
	int ret = 0;

	if (!model_has(db, "interference", NULL)) {
		d->interference_absent = "an older cachemon recorded the run, without evictors";
		return 0;
	}
	ret = load_evictions(db, m, job, d, err);
	if (!ret && !d->nr_evictions)
		d->interference_absent = why_no_evictions(m, job);
	return ret;
}

int model_detail_load(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err)
{
	struct model_detail *d = arena_alloc(&m->arena, sizeof(*d));
	int ret;

	if (!d)
		return model_no_memory(err);
	ret = load_timeline(db, m, job, &d->timeline, err);
	if (!ret)
		ret = model_epochs_load(db, m, job, &d->epochs, err);
	if (!ret)
		ret = load_interference(db, m, job, d, err);
	if (!ret)
		ret = model_coverage_load(db, m, job, d, err);
	if (!ret)
		job->detail = d;
	return ret;
}

struct human sizes_window_name(int i)
{
	struct human ret = {.text = "1"};

	if (i == WINDOW_SIZES - 1)
		snprintf(ret.text, sizeof(ret.text), "%ld and more", 1L << i);
	else if (i > 0)
		snprintf(ret.text, sizeof(ret.text), "%ld to %ld", 1L << i, (2L << i) - 1);
	return ret;
}

struct human sizes_read_name(int i)
{
	return human_bytes(i ? UINT64_C(1) << (i - 1) : 0);
}

bool sizes_windows(const struct counts *c, double ret[WINDOW_SIZES])
{
	for (int i = 0; i < WINDOW_SIZES; i++) {
		struct opt_i64 n = counts_get(c, C_window_log2_0 + (enum counter)i);

		if (!n.known)
			return false;
		ret[i] = (double)n.value;
	}
	return true;
}

const char *sizes_windows_mark(const struct counts *c)
{
	return counts_lower_bound(c, C_window_log2_0) ? MARK_LEAST : NULL;
}

void sizes_reads(const struct model_detail *d, double ret[READ_SIZES])
{
	for (int i = 0; i < READ_SIZES; i++)
		ret[i] = (double)d->reads[i];
}

void sizes_say_reads(const struct model_advice_calls *files, char *says, size_t size)
{
	const struct opt_i64 nr = {files->files, true};
	const struct opt_i64 incomplete = {files->incomplete, true};
	int n = nr.value == 1 ? snprintf(says, size, "%s to the file that was traced",
					 incomplete.value ? "Calls" : "All calls")
			      : snprintf(says, size, "%s to the %s files that were traced",
					 incomplete.value ? "Calls" : "All calls",
					 show_count(nr, false).s);

	if (incomplete.value)
		n += snprintf(says + n, size - (size_t)n,
			      "; for %s%s some calls are missing, so counts are lower bounds",
			      nr.value == 1 ? "it" : show_count(incomplete, false).s,
			      nr.value == 1 ? "" : " of them");
	snprintf(says + n, size - (size_t)n, "; each bar covers sizes up to the next one.");
}

const char *sizes_calls_mark(const struct model_advice_calls *files)
{
	return files->incomplete ? MARK_LEAST : NULL;
}

int model_detail_in_order(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err)
{
	struct model_detail *d = arena_alloc(&m->arena, sizeof(*d));
	int ret;

	if (!d)
		return model_no_memory(err);
	*d = *job->detail;
	ret = model_epochs_in_order(db, m, job, &d->epochs, err);
	if (!ret)
		job->detail = d;
	return ret;
}
