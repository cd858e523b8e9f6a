/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/job_curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/load/load_references.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counters.h"
#include "cachemon/base/human.h"

#define PAGES_MAX (INT64_C(1) << 46)

/* Pages that the job brought into the cache, and how many of them were evicted. */
#define ADDED "(" SQL_brought_pages("") ")"
#define LEFT  "(" SQL_evicted_pages("") " - coalesce(evicted_not_added, 0))"

/* For the whole run, or for one interval. */
#define COUNTED                                                                                    \
	SQL_wanted_pages("") ", untracked, lookups, refaults, refault_distance_pages, " ADDED      \
			     ", " SQL_windows("")

enum { MISSED, UNTRACKED, LOOKUPS, REFAULTS, DISTANCE, BROUGHT, WINDOWS, NR_COUNTED };

static int counts_error(sqlite3 *db, struct errtext *err)
{
	bool memory = sqlite3_errcode(db) == SQLITE_NOMEM;

	return errtext_set(err, memory ? -ENOMEM : -EIO, "cannot read a job's counters: %s",
			   rows_error(db));
}

static double value_or_unknown(struct rows *r)
{
	struct opt_f64 v = rows_f64(r);

	return v.known ? v.value : -1;
}

/* Reads the columns of the only row. A column that is NULL is -1; without a row, all are. */
static int ask_of_job(sqlite3 *db, const char *sql, int nr_params, const int64_t params[], int nr,
		      double ret[], bool *ret_found, struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(db, &no_texts, sql, nr_params, params);

	*ret_found = rows_next(&r);
	for (int i = 0; i < nr; i++)
		ret[i] = *ret_found ? value_or_unknown(&r) : -1;
	return rows_finish(&r) ? counts_error(db, err) : 0;
}

static bool has_curve_table(sqlite3 *db, const char *name)
{
	return sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* No machine has more pages. A larger value, such as a damaged counter, counts as unknown. */
static double pages_or_unknown(double bytes, double page_size_bytes)
{
	double pages = bytes / page_size_bytes;

	return pages >= 0 && pages <= (double)PAGES_MAX ? pages : -1;
}

static void take_counts(const double v[NR_COUNTED], struct curve_counted *c)
{
	*c = (struct curve_counted){-1, -1, -1, -1, -1, -1};
	if (v[MISSED] >= 0 && v[LOOKUPS] > 0) {
		double most = v[MISSED] + (v[UNTRACKED] > 0 ? v[UNTRACKED] : 0);

		/* Faults, and readers of one page at the same time, fetch more than is looked up.
		 */
		c->miss_low = fmin(v[MISSED] / v[LOOKUPS], 1);
		c->miss_high = fmin(most / v[LOOKUPS], 1);
	}
	c->refaults = v[REFAULTS];
	if (v[REFAULTS] > 0 && v[DISTANCE] >= 0)
		c->refault_distance = v[DISTANCE] / v[REFAULTS];
	if (v[BROUGHT] >= 0 && v[WINDOWS] > 0)
		c->run_pages = v[BROUGHT] / v[WINDOWS];
}

/* Sums over the intervals of a job, in order of time. A sum without any known interval is -1. */
struct walk {
	double counted[NR_COUNTED]; /* time of the intervals before the sample ended */
	double lookups;
	double present, present_max;
	bool ended;
};

static void add_known(double *sum, struct opt_f64 v)
{
	if (v.known)
		*sum = (*sum > 0 ? *sum : 0) + v.value;
}

static void walk_interval(struct walk *w, struct rows *r, double lookups)
{
	struct opt_f64 v[NR_COUNTED], growth;

	for (int i = 0; i < NR_COUNTED; i++)
		v[i] = rows_f64(r);
	growth = rows_f64(r);
	add_known(&w->lookups, v[LOOKUPS]);
	w->ended = w->ended || w->lookups > lookups;
	for (int i = 0; !w->ended && w->lookups >= 0 && i < NR_COUNTED; i++)
		add_known(&w->counted[i], v[i]);
	w->present += growth.value;
	if (growth.known && w->present > w->present_max)
		w->present_max = w->present;
}

/* One pass, because there may be 100,000 intervals. */
static int walk_intervals(sqlite3 *db, int64_t job_id, double lookups, struct walk *ret,
			  struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(
		db, &no_texts,
		"SELECT " COUNTED ", " ADDED " + written_pages + other_added_pages - " LEFT
		" FROM interval i JOIN job_interval j ON j.interval_id = i.id "
		"WHERE i.run_id = (SELECT run_id FROM job WHERE id = ?1) AND j.job_id = ?1 "
		"ORDER BY i.start_ns",
		1, &job_id);

	*ret = (struct walk){.lookups = -1, .present_max = -1};
	for (int i = 0; i < NR_COUNTED; i++)
		ret->counted[i] = -1;
	while (rows_next(&r))
		walk_interval(ret, &r, lookups);
	return rows_finish(&r) ? counts_error(db, err) : 0;
}

static int load_counts(sqlite3 *db, int64_t job_id, int64_t lookups, struct curve_facts *f,
		       struct errtext *err)
{
	static const char whole[] =
		"SELECT " COUNTED " FROM job WHERE id = ?1 AND lookups <= ?2 * 1.01";
	double v[NR_COUNTED];
	struct walk w;
	bool found = false;
	int r = ask_of_job(db, whole, 2, (int64_t[]){job_id, lookups}, NR_COUNTED, v, &found, err);

	if (!r)
		r = walk_intervals(db, job_id, (double)lookups, &w, err);
	if (r)
		return r;
	take_counts(v[LOOKUPS] < 0 ? w.counted : v, &f->counted);
	f->counted.present_pages = pages_or_unknown(w.present_max, 1);
	return 0;
}

/* If the job's cgroup has a limit, its charged memory replaces the counted pages: some were
 * cached before the run. */
static int load_charged(sqlite3 *db, int64_t job_id, struct curve_facts *f, struct errtext *err)
{
	static const char charged[] =
		"SELECT max(m.job_file_bytes), max(l.limit_bytes) FROM job "
		"JOIN job_limit l ON l.job_id = job.id AND l.limit_bytes IS NOT NULL "
		"JOIN interval i ON i.run_id = job.run_id "
		"JOIN machine_interval m ON m.interval_id = i.id WHERE job.id = ?1";
	double v[2];
	bool found = false;
	int r = ask_of_job(db, charged, 1, &job_id, 2, v, &found, err);

	if (!r && v[0] >= 0)
		f->counted.present_pages = pages_or_unknown(v[0], f->page_size_bytes);
	if (!r && v[1] >= 0)
		f->limit_pages = pages_or_unknown(v[1], f->page_size_bytes);
	return r;
}

/*
 * lookups: of the job while its references were sampled; later ones are left out. 0, -ENOENT: no
 * such job, or -errno of the database.
 */
static int load_facts(sqlite3 *db, int64_t job_id, int64_t lookups, struct curve_facts *ret,
		      struct errtext *err)
{
	struct curve_facts f = {.limit_pages = -1};
	bool found = false;
	double v[5];
	int r = ask_of_job(
		db,
		"SELECT page_size_bytes, nullif(memory_bytes, 0), level = 'cold', sliced, "
		"level = 'full' FROM job JOIN run ON run.id = job.run_id WHERE job.id = ?1",
		1, &job_id, 5, v, &found, err);

	if (r < 0)
		return r;
	if (!found)
		return errtext_set(err, -ENOENT, "there is no job %lld", (long long)job_id);
	f.page_size_bytes = v[0];
	f.memory_pages = pages_or_unknown(v[1], v[0]);
	f.cold = v[2] > 0;
	f.sliced = v[3] > 0;
	f.full = v[4] > 0;
	r = load_counts(db, job_id, lookups, &f, err);
	if (!r && has_curve_table(db, "job_limit") && has_curve_table(db, "machine_interval"))
		r = load_charged(db, job_id, &f, err);
	if (!r)
		*ret = f;
	return r;
}

/* Minimum sampled pages for a meaningful band, and minimum lookups for a ratio. */
enum { PAGES_MIN = 64, LOOKUPS_MIN = 1000 };

/* Keeps the references of pages that were looked up, and renumbers these pages. Other pages were
 * only brought by readahead or dropped by advice. The arrays are in the arena. */
static int make_sample(const struct references *r, struct arena *arena, struct curve_sample *ret)
{
	struct curve_sample s = {
		.threshold = r->threshold,
		.lookups = (double)r->lookups,
		.distinct_pages = (double)r->distinct_pages,
		.distinct_error = r->distinct_error,
	};
	/* 1 + the number of a page; 0: not numbered yet. */
	uint32_t *number = arena_alloc(arena, (r->nr_pages + 1) * sizeof(*number));
	uint32_t *hashes = arena_alloc(arena, (r->nr_pages + 1) * sizeof(*hashes));
	uint32_t *entries = arena_alloc(arena, (r->nr_entries + 1) * sizeof(*entries));

	if (arena->failed)
		return -ENOMEM;
	for (size_t i = 0; i < r->nr_entries; i++) {
		uint32_t page = curve_entry_page(r->entries[i]);
		bool removed = curve_entry_removed(r->entries[i]);

		if (!number[page] && removed)
			continue;
		if (!number[page]) {
			hashes[s.nr_pages] = r->pages[page].hash;
			number[page] = ++s.nr_pages;
		}
		entries[s.nr_entries++] = (number[page] - 1) << 1 | removed;
	}
	s.entries = entries;
	s.hashes = hashes;
	*ret = s;
	return 0;
}

static void say_absent(struct job_curve *c, const char *why)
{
	c->there = false;
	snprintf(c->absent, sizeof(c->absent), "%s", why);
}

/* If the reason for having few references is known, it comes first. */
static void say_too_few(struct job_curve *c, const struct curve_sample *s)
{
	size_t n = 0;

	if (c->why_broken[0])
		n = (size_t)snprintf(c->absent, sizeof(c->absent),
				     "The recording of references ended early: %s. %s",
				     c->why_broken,
				     c->facts.full ? "" : "Run 'cachemon watch --level full'. ");
	if (n >= sizeof(c->absent))
		return;
	if (!s->nr_pages && s->lookups < 1)
		snprintf(c->absent + n, sizeof(c->absent) - n, "%s",
			 n ? "It contains no lookups." : "The recording contains no lookups.");
	else
		snprintf(c->absent + n, sizeof(c->absent) - n,
			 "Too few references: %u sampled pages and %.0f lookups; at least %d and "
			 "%d are needed.",
			 s->nr_pages, s->lookups, PAGES_MIN, LOOKUPS_MIN);
	human_group(c->absent, sizeof(c->absent));
}

/* A hit ratio with a wider band is useless. */
#define WIDEST_BAND 0.15

/* At the size that was cached, or the size of everything that was read. */
static bool too_wide(struct job_curve *c)
{
	double pages = c->facts.counted.present_pages;
	struct curve_point at;

	curve_at(&c->curve, pages > 0 ? pages : c->curve.estimate.distinct_pages, &at);
	if (at.high - at.low <= WIDEST_BAND)
		return false;
	snprintf(c->absent, sizeof(c->absent),
		 "Too few samples: with %u sampled pages, the estimated hit ratio at the present "
		 "cache size ranges from %.1f %% to %.1f %%.",
		 c->curve.estimate.nr_pages, 100 * (1 - at.high), 100 * (1 - at.low));
	human_group(c->absent, sizeof(c->absent));
	return true;
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
		say_absent(c, "The recorded totals contradict the recorded sample; the database "
			      "may be damaged.");
		return 0;
	}
	if (ret < 0)
		return ret;
	c->there = !too_wide(c);
	if (!c->there)
		return 0;
	return curve_judge(&c->curve, s, &c->facts.counted, &c->verdict);
}

static int from_references(const struct references *r, struct job_curve *c, struct errtext *err)
{
	struct curve_sample sample;
	struct arena arena = {0};
	int ret = make_sample(r, &arena, &sample);

	if (!ret) {
		c->broken = r->broken;
		snprintf(c->why_broken, sizeof(c->why_broken), "%s", r->reason);
		c->sampled_lookups = (double)r->lookups;
		ret = make_curve(&sample, c);
	}
	arena_free(&arena);
	return ret < 0 ? errtext_set(err, ret, "out of memory") : 0;
}

/* Explains why there is no data for a curve. error: the result of reading the data. */
static void explain_absence(struct job_curve *c, int error, const char *said)
{
	if (error != -ENOENT)
		snprintf(c->absent, sizeof(c->absent),
			 "The recorded references cannot be used: %s.", said);
	else if (c->facts.cold)
		say_absent(
			c,
			"Level cold does not record lookups. Run 'cachemon watch --level full'.");
	else if (c->facts.sliced)
		say_absent(c, "The per-read hook was off for part of the run. Run 'cachemon watch "
			      "--level full'.");
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
		r = load_facts(db, job_id, refs.lookups, &c.facts, err);
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
