/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* Ratios are 0..1, sizes are in base pages. NULL: unknown or not computed. */
static const char curve_tables[] =
	"CREATE TEMP TABLE IF NOT EXISTS analysis_curve ("
	" job_id INTEGER NOT NULL,"
	" cache_pages INTEGER NOT NULL,"
	" miss_ratio REAL NOT NULL,"		  /* of an LRU cache of that size */
	" low REAL NOT NULL, high REAL NOT NULL," /* band of the sampling */
	" opt_miss_ratio REAL NOT NULL,"	  /* the lowest miss ratio of any cache */
	" PRIMARY KEY (job_id, cache_pages)) WITHOUT ROWID;"
	"CREATE TEMP TABLE IF NOT EXISTS analysis_curve_fact ("
	" job_id INTEGER PRIMARY KEY,"
	" absent TEXT,"		  /* why there is no curve; NULL: there is one */
	" lookups INTEGER,"	  /* of the job while it was sampled */
	" distinct_pages REAL,"	  /* pages looked up while sampled */
	" floor REAL,"		  /* first touches: the lower bound of misses for any cache size */
	" removed_again REAL,"	  /* lookups of pages that advice, truncation or drop_caches had
				   * removed */
	" present_pages INTEGER," /* the largest number of cached pages of the job */
	" present_miss_ratio REAL," /* of the curve at that size */
	" present_low REAL, present_high REAL,"
	" present_opt_miss_ratio REAL,"
	" measured_miss_ratio REAL," /* pages fetched from the device / lookups */
	" limit_pages INTEGER,"	     /* of the job's memory cgroup */
	" memory_pages INTEGER,"     /* of the machine */
	" for90_pages INTEGER," /* for a hit ratio of 0.9; NULL: no size reaches it, or uncertain */
	" for90_low_pages INTEGER, for90_high_pages INTEGER," /* the ends of its band */
	" reread_order TEXT," /* order of epochs: 'none', 'same', 'shuffled' */
	" epochs REAL,"
	" hot_moves INTEGER,"
	" kernel_better_up_to REAL, kernel_worse_up_to REAL," /* miss ratio of the kernel less that
							       * of LRU */
	" model_error REAL,"				      /* added to the band, up and down */
	" mae_note TEXT,"				      /* typical error of such curves */
	" broken INTEGER,"	/* the sample ends before the run does */
	" uncertain INTEGER,"	/* 1: does not describe the cache that the job had */
	" second_opinion TEXT," /* of refault distances: 'none', 'weak', 'same', 'other' */
	" reason TEXT);";	/* why the curve is uncertain, or why its sample ended early */

static const char mae_note[] =
	"mean error at most 0.01 with 8192 sampled pages, compared with exact LRU on five traces";

#define CURVE	  "a miss-ratio curve"
#define READAHEAD "what other settings would do"

static int keep_error(sqlite3 *db, const char *what, struct errtext *err)
{
	return errtext_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? -ENOMEM : -EIO,
			   "cannot keep %s: %s", what, sqlite3_errmsg(db));
}

static int fill_points(sqlite3 *db, int64_t job_id, const struct curve *c, struct errtext *err)
{
	struct fill_row f = fill_begin(
		db, "INSERT OR REPLACE INTO temp.analysis_curve VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
	int ret = f.rc == SQLITE_OK ? 0 : keep_error(db, CURVE, err);

	for (size_t i = 0; !ret && i < c->nr_sizes; i++) {
		struct curve_point p;

		curve_shown(c, i, &p);
		fill_integer(&f, job_id);
		fill_pages(&f, p.cache_pages);
		fill_real(&f, p.miss);
		fill_real(&f, p.low);
		fill_real(&f, p.high);
		fill_real(&f, p.opt);
		ret = fill_insert(&f) ? 0 : keep_error(db, CURVE, err);
	}
	fill_end(&f);
	return ret;
}

static void fill_present(struct fill_row *f, const struct job_curve *c)
{
	const struct curve_verdict *v = &c->verdict;

	fill_pages(f, c->facts.counted.present_pages);
	fill_ratio(f, v->compared ? v->present.miss : -1);
	fill_ratio(f, v->compared ? v->present.low : -1);
	fill_ratio(f, v->compared ? v->present.high : -1);
	fill_ratio(f, v->compared ? v->present.opt : -1);
	fill_ratio(f, c->facts.counted.miss_low);
	fill_pages(f, c->facts.limit_pages);
	fill_pages(f, c->facts.memory_pages);
}

static void fill_curve_facts(struct fill_row *f, const struct job_curve *c)
{
	static const char *const orders[] = {"none", "same", "shuffled"};
	static const char *const opinions[] = {"none", "weak", "same", "other"};
	const struct curve_shape *shape = &c->curve.shape;
	const char *reason = c->verdict.uncertain ? c->verdict.reason : c->why_broken;
	struct curve_need need = {-1, -1, -1};

	if (!c->verdict.uncertain)
		curve_need(&c->curve, 0.9, &need);
	fill_null(f); /* absent */
	fill_pages(f, c->sampled_lookups);
	fill_real(f, c->curve.estimate.distinct_pages);
	fill_real(f, c->curve.first_touch);
	fill_real(f, c->curve.removed_again);
	fill_present(f, c);
	fill_pages(f, need.pages);
	fill_pages(f, need.pages_low);
	fill_pages(f, need.pages_high);
	fill_text(f, orders[shape->order]);
	fill_real(f, shape->epochs);
	fill_real(f, shape->hot_moves);
	fill_real(f, shape->kernel_better_up_to);
	fill_real(f, shape->kernel_worse_up_to);
	fill_real(f, CURVE_MODEL_ERROR);
	fill_text(f, mae_note);
	fill_real(f, c->broken);
	fill_real(f, c->verdict.uncertain);
	fill_text(f, opinions[c->verdict.refaults]);
	fill_text(f, reason);
}

static int fill_facts(sqlite3 *db, int64_t job_id, const struct job_curve *c, struct errtext *err)
{
	struct fill_row f = fill_begin(
		db, "INSERT OR REPLACE INTO temp.analysis_curve_fact VALUES (?1, ?2, ?3, ?4, ?5, "
		    "?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, "
		    "?22, ?23, ?24, ?25, ?26, ?27, ?28)");
	int ret = 0;

	if (f.rc == SQLITE_OK) {
		fill_integer(&f, job_id);
		if (c->there)
			fill_curve_facts(&f, c);
		else
			fill_text(&f, c->absent);
	}
	if (f.rc != SQLITE_OK || !fill_insert(&f))
		ret = keep_error(db, CURVE, err);
	fill_end(&f);
	return ret;
}

int fill_curve(sqlite3 *db, int64_t job_id, const struct job_curve *c, struct errtext *err)
{
	int ret = 0;

	if (sqlite3_exec(db, curve_tables, NULL, NULL, NULL) != SQLITE_OK)
		return keep_error(db, CURVE, err);
	if (c->there)
		ret = fill_points(db, job_id, &c->curve, err);
	return ret ? ret : fill_facts(db, job_id, c, err);
}

static const char readahead_table[] =
	"CREATE TEMP TABLE IF NOT EXISTS analysis_whatif_readahead ("
	"job_id INTEGER, traced_file_id INTEGER, setting TEXT, misses INTEGER, prefetched INTEGER, "
	"wasted INTEGER, requests INTEGER, windows INTEGER, fidelity REAL, actual INTEGER, note "
	"TEXT, "
	"PRIMARY KEY (job_id, traced_file_id, setting)) WITHOUT ROWID";

static bool fill_setting(struct fill_row *row, int64_t job_id, const struct whatif_file *f,
			 size_t candidate)
{
	const struct whatif_result *r = &f->results[candidate];
	char setting[32];

	whatif_setting_name(candidate, f->device_pages, setting, sizeof(setting));
	fill_integer(row, job_id);
	fill_integer(row, f->id);
	fill_text(row, setting);
	if (f->judged) {
		fill_integer(row, (int64_t)r->figure[WHATIF_MISSES]);
		fill_integer(row, (int64_t)r->figure[WHATIF_PREFETCHED]);
		if (whatif_figure_seen(f->mapped, WHATIF_WASTED))
			fill_integer(row, (int64_t)r->figure[WHATIF_WASTED]);
		else
			fill_null(row);
		fill_integer(row, (int64_t)r->figure[WHATIF_REQUESTS]);
		fill_integer(row, (int64_t)r->windows);
	} else {
		row->column += 5;
	}
	fill_ratio(row, f->fidelity);
	fill_integer(row, candidate == WHATIF_ACTUAL);
	fill_text(row, f->note);
	return fill_insert(row);
}

int fill_readahead(sqlite3 *db, int64_t job_id, const struct whatif_readahead *w,
		   struct errtext *err)
{
	struct fill_row row;
	bool good;
	int ret;

	if (sqlite3_exec(db, readahead_table, NULL, NULL, NULL) != SQLITE_OK)
		return keep_error(db, READAHEAD, err);
	row = fill_begin(db, "INSERT OR IGNORE INTO temp.analysis_whatif_readahead VALUES "
			     "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
	good = row.rc == SQLITE_OK;
	for (size_t i = 0; good && i < w->nr_files; i++)
		for (size_t j = 0; good && j < WHATIF_CANDIDATES; j++)
			if (j == WHATIF_ACTUAL ||
			    (w->files[i].judged && w->files[i].results[j].known))
				good = fill_setting(&row, job_id, &w->files[i], j);
	ret = good ? 0 : keep_error(db, READAHEAD, err);
	fill_end(&row);
	return ret;
}
