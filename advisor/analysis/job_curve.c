/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/job_curve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/load/load_references.h"
#include "cachemon/figures/counters.h"

#define PAGES_MAX (INT64_C(1) << 46)

/* Pages that the job brought into the cache, and those of them that left it. */
#define ADDED "(" SQL_brought_pages("") ")"
#define LEFT  "(" SQL_evicted_pages("") " - coalesce(evicted_not_added, 0))"

/* Of the whole run, or of an interval. */
#define COUNTED                                                                                    \
	SQL_wanted_pages("") ", untracked, lookups, refaults, refault_distance_pages, " ADDED      \
			     ", " SQL_windows("")

enum { MISSED, UNTRACKED, LOOKUPS, REFAULTS, DISTANCE, BROUGHT, WINDOWS, NR_COUNTED };

static int failed(sqlite3 *db, struct errtext *err)
{
	bool memory = sqlite3_errcode(db) == SQLITE_NOMEM;

	return errtext_set(err, memory ? -ENOMEM : -EIO, "cannot read what a job counted: %s",
			   sqlite3_errmsg(db));
}

/* The columns of the only row; those that are NULL, or all without a row, are -1. */
static int ask(sqlite3 *db, const char *sql, int64_t id, double lookups, int nr, double ret[],
	       bool *ret_found, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	for (int i = 0; i < nr; i++)
		ret[i] = -1;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, id);
	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 1)
		rc = sqlite3_bind_double(stmt, 2, lookups);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	*ret_found = rc == SQLITE_ROW;
	for (int i = 0; *ret_found && i < nr; i++)
		if (sqlite3_column_type(stmt, i) != SQLITE_NULL)
			ret[i] = sqlite3_column_double(stmt, i);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(db, err);
}

static bool has_table(sqlite3 *db, const char *name)
{
	return sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* As many as a machine can have; what is not, of damaged counters too, is not known. */
static double pages_of(double bytes, double page_size_bytes)
{
	double pages = bytes / page_size_bytes;

	return pages >= 0 && pages <= (double)PAGES_MAX ? pages : -1;
}

static void take_counts(const double v[NR_COUNTED], struct curve_counted *c)
{
	*c = (struct curve_counted){-1, -1, -1, -1, -1, -1};
	if (v[MISSED] >= 0 && v[LOOKUPS] > 0) {
		c->miss_low = v[MISSED] / v[LOOKUPS];
		c->miss_high = (v[MISSED] + (v[UNTRACKED] > 0 ? v[UNTRACKED] : 0)) / v[LOOKUPS];
	}
	c->refaults = v[REFAULTS];
	if (v[REFAULTS] > 0 && v[DISTANCE] >= 0)
		c->refault_distance = v[DISTANCE] / v[REFAULTS];
	if (v[BROUGHT] >= 0 && v[WINDOWS] > 0)
		c->run_pages = v[BROUGHT] / v[WINDOWS];
}

/* What a walk over a job's intervals adds up, in the order of time. Sums of what no interval knows
 * are -1. */
struct walk {
	double counted[NR_COUNTED]; /* of the intervals before the sample ended */
	double lookups;
	double present, present_max;
	bool ended;
};

static void add_known(double *sum, sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) != SQLITE_NULL)
		*sum = (*sum > 0 ? *sum : 0) + sqlite3_column_double(stmt, column);
}

static void walk_interval(struct walk *w, sqlite3_stmt *stmt, double lookups)
{
	add_known(&w->lookups, stmt, LOOKUPS);
	w->ended = w->ended || w->lookups > lookups;
	for (int i = 0; !w->ended && w->lookups >= 0 && i < NR_COUNTED; i++)
		add_known(&w->counted[i], stmt, i);
	if (sqlite3_column_type(stmt, NR_COUNTED) == SQLITE_NULL)
		return;
	w->present += sqlite3_column_double(stmt, NR_COUNTED);
	if (w->present > w->present_max)
		w->present_max = w->present;
}

/* Once over the intervals, which may be a hundred thousand. */
static int walk_intervals(sqlite3 *db, int64_t job_id, double lookups, struct walk *ret,
			  struct errtext *err)
{
	static const char sql[] =
		"SELECT " COUNTED ", " ADDED " + written_pages + other_added_pages - " LEFT
		" FROM interval i JOIN job_interval j ON j.interval_id = i.id "
		"WHERE i.run_id = (SELECT run_id FROM job WHERE id = ?1) AND j.job_id = ?1 "
		"ORDER BY i.start_ns";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	*ret = (struct walk){.lookups = -1, .present_max = -1};
	for (int i = 0; i < NR_COUNTED; i++)
		ret->counted[i] = -1;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, job_id);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		walk_interval(ret, stmt, lookups);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : failed(db, err);
}

static int load_counts(sqlite3 *db, int64_t job_id, double lookups, struct curve_facts *f,
		       struct errtext *err)
{
	static const char whole[] =
		"SELECT " COUNTED " FROM job WHERE id = ?1 AND lookups <= ?2 * 1.01";
	double v[NR_COUNTED];
	struct walk w;
	bool found = false;
	int r = ask(db, whole, job_id, lookups, NR_COUNTED, v, &found, err);

	if (!r)
		r = walk_intervals(db, job_id, lookups, &w, err);
	if (r)
		return r;
	take_counts(v[LOOKUPS] < 0 ? w.counted : v, &f->counted);
	f->counted.present_pages = pages_of(w.present_max, 1);
	return 0;
}

/* Where a job's cgroup has a limit, what the cgroup was charged with takes the place of what was
 * counted: it may have been there before the run. */
static int load_charged(sqlite3 *db, int64_t job_id, struct curve_facts *f, struct errtext *err)
{
	static const char charged[] =
		"SELECT max(m.job_file_bytes), max(l.limit_bytes) FROM job "
		"JOIN job_limit l ON l.job_id = job.id AND l.limit_bytes IS NOT NULL "
		"JOIN interval i ON i.run_id = job.run_id "
		"JOIN machine_interval m ON m.interval_id = i.id WHERE job.id = ?1";
	double v[2];
	bool found = false;
	int r = ask(db, charged, job_id, 0, 2, v, &found, err);

	if (!r && v[0] >= 0)
		f->counted.present_pages = pages_of(v[0], f->page_size_bytes);
	if (!r && v[1] >= 0)
		f->limit_pages = pages_of(v[1], f->page_size_bytes);
	return r;
}

/*
 * lookups: of the job while its references were sampled; what was counted after that is left out.
 * 0, -ENOENT: no such job, or -errno of the database.
 */
static int load_facts(sqlite3 *db, int64_t job_id, double lookups, struct curve_facts *ret,
		      struct errtext *err)
{
	struct curve_facts f = {.limit_pages = -1};
	bool found = false;
	double v[4];
	int r = ask(db,
		    "SELECT page_size_bytes, nullif(memory_bytes, 0), level = 'cold', sliced "
		    "FROM job JOIN run ON run.id = job.run_id WHERE job.id = ?1",
		    job_id, 0, 4, v, &found, err);

	if (r < 0)
		return r;
	if (!found)
		return errtext_set(err, -ENOENT, "there is no job %lld", (long long)job_id);
	f.page_size_bytes = v[0];
	f.memory_pages = pages_of(v[1], v[0]);
	f.cold = v[2] > 0;
	f.sliced = v[3] > 0;
	r = load_counts(db, job_id, lookups, &f, err);
	if (!r && has_table(db, "job_limit") && has_table(db, "machine_interval"))
		r = load_charged(db, job_id, &f, err);
	if (!r)
		*ret = f;
	return r;
}

/* Too few sampled pages for a band that means anything, and too few lookups for a ratio. */
enum { PAGES_MIN = 64, LOOKUPS_MIN = 1000 };

struct arrays {
	uint32_t *entries, *hashes;
};

static void arrays_free(struct arrays *a)
{
	free(a->entries);
	free(a->hashes);
}

/* Numbers the pages that are looked up at all: readahead brings others, and advice takes them. */
static void fill_sample(const struct references *r, uint32_t number[], struct arrays *a,
			struct curve_sample *s)
{
	memset(number, 0xff, r->nr_pages * sizeof(*number));
	for (size_t i = 0; i < r->nr_entries; i++) {
		uint32_t page = curve_entry_page(r->entries[i]);
		bool removed = curve_entry_removed(r->entries[i]);

		if (number[page] == UINT32_MAX) {
			if (removed)
				continue;
			number[page] = s->nr_pages;
			a->hashes[s->nr_pages++] = r->pages[page].hash;
		}
		a->entries[s->nr_entries++] = number[page] << 1 | removed;
	}
}

static int make_sample(const struct references *r, struct arrays *a, struct curve_sample *ret)
{
	struct curve_sample s = {
		.threshold = r->threshold,
		.lookups = (double)r->lookups,
		.distinct_pages = (double)r->distinct_pages,
		.distinct_error = r->distinct_error,
	};
	uint32_t *number = malloc((r->nr_pages + 1) * sizeof(*number));

	a->entries = malloc((r->nr_entries + 1) * sizeof(*a->entries));
	a->hashes = malloc((r->nr_pages + 1) * sizeof(*a->hashes));
	if (!number || !a->entries || !a->hashes) {
		free(number);
		arrays_free(a);
		return -ENOMEM;
	}
	fill_sample(r, number, a, &s);
	free(number);
	s.entries = a->entries;
	s.hashes = a->hashes;
	*ret = s;
	return 0;
}

static void say_absent(struct job_curve *c, const char *why)
{
	c->there = false;
	snprintf(c->absent, sizeof(c->absent), "%s", why);
}

/* Why there are few comes first, where that is known. */
static void say_too_few(struct job_curve *c, const struct curve_sample *s)
{
	size_t n = 0;

	if (c->why_broken[0])
		n = (size_t)snprintf(c->absent, sizeof(c->absent),
				     "The recording ended early: %s. ", c->why_broken);
	if (n >= sizeof(c->absent))
		return;
	if (!s->nr_pages && s->lookups < 1)
		snprintf(c->absent + n, sizeof(c->absent) - n, "%s",
			 n ? "It holds no lookup." : "The recording holds no lookup.");
	else
		snprintf(c->absent + n, sizeof(c->absent) - n,
			 "Too few references: %u sampled pages and %.0f lookups, where %d and %d "
			 "are the least that tell anything.",
			 s->nr_pages, s->lookups, PAGES_MIN, LOOKUPS_MIN);
}

static int make_curve(const struct curve_sample *s, struct job_curve *c)
{
	int ret = 0;

	if (s->nr_pages < PAGES_MIN || s->lookups < LOOKUPS_MIN) {
		say_too_few(c, s);
		return 0;
	}
	ret = curve_make(s, &c->curve);
	if (ret == -EINVAL) {
		say_absent(c, "The recorded totals cannot be those of the recorded sample.");
		return 0;
	}
	if (ret < 0)
		return ret;
	c->there = true;
	return curve_judge(&c->curve, s, &c->facts.counted, &c->verdict);
}

static int from_references(const struct references *r, struct job_curve *c, struct errtext *err)
{
	struct curve_sample sample;
	struct arrays arrays = {0};
	int ret = make_sample(r, &arrays, &sample);

	if (!ret) {
		c->broken = r->broken;
		snprintf(c->why_broken, sizeof(c->why_broken), "%s", r->reason);
		c->sampled_lookups = (double)r->lookups;
		ret = make_curve(&sample, c);
		arrays_free(&arrays);
	}
	return ret < 0 ? errtext_set(err, ret, "out of memory") : 0;
}

/* Why there is nothing to make it from; error: what reading it came to, in words too. */
static void explain_absence(struct job_curve *c, int error, const char *said)
{
	if (error != -ENOENT)
		snprintf(c->absent, sizeof(c->absent),
			 "The references that were recorded cannot be used: %s.", said);
	else if (c->facts.cold)
		say_absent(c,
			   "The run was recorded at level cold, which sees no lookups: record it "
			   "with --level full.");
	else if (c->facts.sliced)
		say_absent(c, "The per-read hook was off part of the time: record the job with "
			      "--level full.");
	else
		snprintf(c->absent, sizeof(c->absent), "No references were recorded: %s.", said);
}

int job_curve_load(sqlite3 *db, int64_t job_id, struct job_curve *ret, struct errtext *err)
{
	struct job_curve c = {0};
	struct references refs;
	struct errtext why = {0};
	int refs_error = load_references(db, job_id, &refs, &why);
	int r = refs_error;

	if (r == -EIO || r == -ENOMEM)
		return errtext_set(err, r, "%s", why.text);
	if (r < 0) {
		r = load_facts(db, job_id, 0, &c.facts, err);
		if (!r)
			explain_absence(&c, refs_error, why.text);
	} else {
		r = load_facts(db, job_id, (double)refs.lookups, &c.facts, err);
		if (!r)
			r = from_references(&refs, &c, err);
		references_free(&refs);
	}
	if (r < 0)
		job_curve_free(&c);
	else
		*ret = c;
	return r;
}

void job_curve_free(struct job_curve *c)
{
	curve_free(&c->curve);
}
