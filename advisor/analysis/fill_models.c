/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* Ratios are 0..1, sizes base pages; NULL: not known, or not to be had. */
static const char curve_tables[] =
	"CREATE TEMP TABLE IF NOT EXISTS analysis_curve ("
	" job_id INTEGER NOT NULL,"
	" cache_pages INTEGER NOT NULL,"
	" miss_ratio REAL NOT NULL,"		  /* of an LRU cache of that size */
	" low REAL NOT NULL, high REAL NOT NULL," /* band of the sampling */
	" opt_miss_ratio REAL NOT NULL,"	  /* the least that any cache could have */
	" PRIMARY KEY (job_id, cache_pages)) WITHOUT ROWID;"
	"CREATE TEMP TABLE IF NOT EXISTS analysis_curve_fact ("
	" job_id INTEGER PRIMARY KEY,"
	" absent TEXT,"		    /* why there is no curve; NULL: there is one */
	" lookups INTEGER,"	    /* of the job while it was sampled */
	" distinct_pages REAL,"	    /* looked up meanwhile */
	" floor REAL,"		    /* first touches: no cache size misses less */
	" removed_again REAL,"	    /* looked up after advice, truncation or drop_caches took it */
	" present_pages INTEGER,"   /* the most that the job had in the cache */
	" present_miss_ratio REAL," /* of the curve at that size */
	" present_low REAL, present_high REAL,"
	" present_opt_miss_ratio REAL,"
	" measured_miss_ratio REAL," /* pages that had to come from the device, by lookups */
	" limit_pages INTEGER,"	     /* of the job's memory cgroup */
	" memory_pages INTEGER,"     /* of the machine */
	" for90_pages INTEGER," /* that give a hit ratio of 0.9; NULL: no size does, or uncertain */
	" for90_low_pages INTEGER, for90_high_pages INTEGER," /* by the ends of the band */
	" reread_order TEXT," /* 'none', 'same', 'shuffled': of epochs */
	" epochs REAL,"
	" hot_moves INTEGER,"
	" kernel_better_up_to REAL, kernel_worse_up_to REAL," /* than LRU, in miss ratio */
	" model_error REAL,"				      /* beside the band, either way */
	" mae_note TEXT,"	/* how far such curves were found to be off */
	" broken INTEGER,"	/* the sample ends before the run does */
	" uncertain INTEGER,"	/* 1: does not describe the cache that the job had */
	" second_opinion TEXT," /* of refault distances: 'none', 'weak', 'same', 'other' */
	" reason TEXT);";	/* of that, or of the break */

static const char mae_note[] =
	"mean error at most 0.01 at 8192 sampled pages, against exact LRU of five traces";

#define CURVE	  "a miss-ratio curve"
#define READAHEAD "what other settings would do"

static int keep_error(sqlite3 *db, const char *what, struct errtext *err)
{
	return errtext_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? -ENOMEM : -EIO,
			   "cannot keep %s: %s", what, sqlite3_errmsg(db));
}

/* Values of one row, in the order of its columns; those that are skipped are NULL. */
struct binder {
	sqlite3_stmt *stmt;
	int column;
	int rc;
};

static void skip_column(struct binder *b)
{
	b->column++;
}

static void bind_integer(struct binder *b, int64_t v)
{
	int rc = sqlite3_bind_int64(b->stmt, ++b->column, v);

	b->rc = b->rc == SQLITE_OK ? rc : b->rc;
}

static void bind_real(struct binder *b, double v)
{
	int rc = sqlite3_bind_double(b->stmt, ++b->column, v);

	b->rc = b->rc == SQLITE_OK ? rc : b->rc;
}

static void bind_ratio(struct binder *b, double v)
{
	if (v < 0)
		skip_column(b);
	else
		bind_real(b, v);
}

/* Whole pages; absent below 0. */
static void bind_pages(struct binder *b, double pages)
{
	if (pages < 0)
		skip_column(b);
	else
		bind_integer(b, (int64_t)llround(pages));
}

static void bind_text(struct binder *b, const char *text)
{
	int rc = SQLITE_OK;

	b->column++;
	if (text && *text)
		rc = sqlite3_bind_text(b->stmt, b->column, text, -1, SQLITE_TRANSIENT);
	b->rc = b->rc == SQLITE_OK ? rc : b->rc;
}

/* Each row begins with its job. */
static void begin_row(struct binder *b, int64_t job_id)
{
	b->column = 0;
	b->rc = SQLITE_OK;
	bind_integer(b, job_id);
}

static int end_row(sqlite3 *db, struct binder *b, const char *what, struct errtext *err)
{
	bool good = b->rc == SQLITE_OK && sqlite3_step(b->stmt) == SQLITE_DONE;

	sqlite3_reset(b->stmt);
	sqlite3_clear_bindings(b->stmt);
	return good ? 0 : keep_error(db, what, err);
}

static int fill_points(sqlite3 *db, int64_t job_id, const struct curve *c, struct errtext *err)
{
	struct binder b = {0};
	int ret = 0;

	if (sqlite3_prepare_v2(db,
			       "INSERT OR REPLACE INTO temp.analysis_curve VALUES "
			       "(?1, ?2, ?3, ?4, ?5, ?6)",
			       -1, &b.stmt, NULL) != SQLITE_OK)
		return keep_error(db, CURVE, err);
	for (size_t i = 0; !ret && i < c->nr_sizes; i++) {
		struct curve_point p;

		curve_shown(c, i, &p);
		begin_row(&b, job_id);
		bind_pages(&b, p.cache_pages);
		bind_real(&b, p.miss);
		bind_real(&b, p.low);
		bind_real(&b, p.high);
		bind_real(&b, p.opt);
		ret = end_row(db, &b, CURVE, err);
	}
	sqlite3_finalize(b.stmt);
	return ret;
}

static void bind_present(struct binder *b, const struct job_curve *c)
{
	const struct curve_verdict *v = &c->verdict;

	bind_pages(b, c->facts.counted.present_pages);
	bind_ratio(b, v->compared ? v->present.miss : -1);
	bind_ratio(b, v->compared ? v->present.low : -1);
	bind_ratio(b, v->compared ? v->present.high : -1);
	bind_ratio(b, v->compared ? v->present.opt : -1);
	bind_ratio(b, c->facts.counted.miss_low);
	bind_pages(b, c->facts.limit_pages);
	bind_pages(b, c->facts.memory_pages);
}

static void bind_curve(struct binder *b, const struct job_curve *c)
{
	static const char *const orders[] = {"none", "same", "shuffled"};
	static const char *const opinions[] = {"none", "weak", "same", "other"};
	const struct curve_shape *shape = &c->curve.shape;
	const char *reason = c->verdict.uncertain ? c->verdict.reason : c->why_broken;
	struct curve_need need = {-1, -1, -1};

	if (!c->verdict.uncertain)
		curve_need(&c->curve, 0.9, &need);
	skip_column(b); /* absent */
	bind_pages(b, c->sampled_lookups);
	bind_real(b, c->curve.estimate.distinct_pages);
	bind_real(b, c->curve.first_touch);
	bind_real(b, c->curve.removed_again);
	bind_present(b, c);
	bind_pages(b, need.pages);
	bind_pages(b, need.pages_low);
	bind_pages(b, need.pages_high);
	bind_text(b, orders[shape->order]);
	bind_real(b, shape->epochs);
	bind_real(b, shape->hot_moves);
	bind_real(b, shape->kernel_better_up_to);
	bind_real(b, shape->kernel_worse_up_to);
	bind_real(b, CURVE_MODEL_ERROR);
	bind_text(b, mae_note);
	bind_real(b, c->broken);
	bind_real(b, c->verdict.uncertain);
	bind_text(b, opinions[c->verdict.refaults]);
	bind_text(b, reason);
}

static int fill_facts(sqlite3 *db, int64_t job_id, const struct job_curve *c, struct errtext *err)
{
	struct binder b = {0};
	int ret = 0;

	if (sqlite3_prepare_v2(
		    db,
		    "INSERT OR REPLACE INTO temp.analysis_curve_fact VALUES (?1, ?2, ?3, "
		    "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
		    "?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)",
		    -1, &b.stmt, NULL) != SQLITE_OK)
		return keep_error(db, CURVE, err);
	begin_row(&b, job_id);
	if (c->there)
		bind_curve(&b, c);
	else
		bind_text(&b, c->absent);
	ret = end_row(db, &b, CURVE, err);
	sqlite3_finalize(b.stmt);
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

static int fill_setting(sqlite3 *db, struct binder *b, int64_t job_id, const struct whatif_file *f,
			size_t candidate, struct errtext *err)
{
	const struct whatif_result *r = &f->results[candidate];
	bool wasted = whatif_figure_seen(f->mapped, WHATIF_WASTED);
	char setting[32];

	whatif_setting_name(candidate, f->device_pages, setting, sizeof(setting));
	begin_row(b, job_id);
	bind_integer(b, f->id);
	bind_text(b, setting);
	if (f->judged) {
		bind_integer(b, (int64_t)r->figure[WHATIF_MISSES]);
		bind_integer(b, (int64_t)r->figure[WHATIF_PREFETCHED]);
		if (wasted)
			bind_integer(b, (int64_t)r->figure[WHATIF_WASTED]);
		else
			skip_column(b);
		bind_integer(b, (int64_t)r->figure[WHATIF_REQUESTS]);
		bind_integer(b, (int64_t)r->windows);
	} else {
		b->column += 5;
	}
	bind_ratio(b, f->fidelity);
	bind_integer(b, candidate == WHATIF_ACTUAL);
	bind_text(b, f->note);
	return end_row(db, b, READAHEAD, err);
}

int fill_readahead(sqlite3 *db, int64_t job_id, const struct whatif_readahead *w,
		   struct errtext *err)
{
	struct binder b = {0};
	int ret = 0;

	if (sqlite3_exec(db, readahead_table, NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db,
			       "INSERT OR IGNORE INTO temp.analysis_whatif_readahead VALUES "
			       "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
			       -1, &b.stmt, NULL))
		return keep_error(db, READAHEAD, err);
	for (size_t i = 0; !ret && i < w->nr_files; i++)
		for (size_t j = 0; !ret && j < WHATIF_CANDIDATES; j++)
			if (j == WHATIF_ACTUAL ||
			    (w->files[i].judged && w->files[i].results[j].known))
				ret = fill_setting(db, &b, job_id, &w->files[i], j, err);
	sqlite3_finalize(b.stmt);
	return ret;
}
