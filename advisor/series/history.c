/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/history.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/stats/stats.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counters.h"

enum past_figure {
	PAST_WALL,
	PAST_CPU,
	PAST_STALL,
	PAST_HIT_RATIO,
	PAST_MISSES,
	PAST_PREFETCHED,
	PAST_WASTED,
	PAST_EVICTED,
	PAST_REFAULTS,
	PAST_NR,
};

/* The number of earlier runs; they are searched among the last runs of the database, which may
 * have thousands. */
enum { HISTORY_RUNS_MAX = 50, IDS_BACK = 1000 };

/* Runs of one job on one machine differ by a few per cent: a value within 5 % of their median is
 * never unusual, however similar a few runs were. */
#define ALIKE_SHARE 0.05
/* A figure with a smaller total change has no trend. */
#define TREND_SHARE 0.1

static const struct {
	struct series_metric metric;
	double least; /* smallest relevant difference, in the unit */
	bool ratio;   /* else the logarithm has a constant spread between runs */
} figures[PAST_NR] = {
	[PAST_WALL] = {{"wall_s", "run time", "s"}, 0.1, false},
	[PAST_CPU] = {{"cpu_s", "CPU time", "s"}, 0.1, false},
	[PAST_STALL] = {{"stall_s", "stall", "s"}, 0.1, false},
	[PAST_HIT_RATIO] = {{"hit_ratio", LABEL_hit_ratio, "ratio"}, 0.02, true},
	[PAST_MISSES] = {{"misses", "misses", "pages"}, 256, false},
	[PAST_PREFETCHED] = {{"prefetched_pages", "prefetched pages", "pages"}, 256, false},
	[PAST_WASTED] = {{"evicted_unused", "evicted unused", "pages"}, 256, false},
	[PAST_EVICTED] = {{"evicted_pages", "evictions", "pages"}, 256, false},
	[PAST_REFAULTS] = {{"refaults", "refaults", "pages"}, 256, false},
};

static double scale_figure(enum past_figure f, double x)
{
	return figures[f].ratio ? x : log(fmax(x, 0) + figures[f].least);
}

static double unscale_figure(enum past_figure f, double y)
{
	return figures[f].ratio ? fmin(fmax(y, 0), 1) : fmax(exp(y) - figures[f].least, 0);
}

/* Prediction interval of the next value of a normal process with nr known values: Student's t. */
static void predict_next(enum past_figure f, const double *earlier, size_t nr, double p,
			 struct series_history *h)
{
	double n = (double)nr;
	double mean = 0;
	double square = 0;
	double by;

	for (size_t i = 0; i < nr; i++)
		mean += scale_figure(f, earlier[i]) / n;
	for (size_t i = 0; i < nr; i++)
		square +=
			(scale_figure(f, earlier[i]) - mean) * (scale_figure(f, earlier[i]) - mean);
	by = stats_student_quantile(1 - p / 2, n - 1) * sqrt(square / (n - 1) * (1 + 1 / n));
	h->low = unscale_figure(f, mean - by);
	/* A few similar runs may give an absurd exponential, which no machine could reach. */
	h->high = unscale_figure(f, fmin(mean + by, 600));
}

enum { PAIRS_MAX = TREND_MAX * (TREND_MAX - 1) / 2 };

/* P(|S| >= |s|) for nr values in random order; S counts pairs in order minus pairs out of order.
 * Builds the distribution of the number of inversions one value at a time. */
static double exact_p_in(double *p, size_t nr, long s)
{
	double *next = p + PAIRS_MAX + 1;
	size_t pairs = 0;
	double sum = 0;

	p[0] = 1;
	for (size_t n = 2; n <= nr; n++) {
		double window = 0;

		pairs += n - 1;
		for (size_t k = 0; k <= pairs; k++) {
			window += k <= pairs - (n - 1) ? p[k] : 0;
			window -= k >= n ? p[k - n] : 0;
			next[k] = window / (double)n;
		}
		for (size_t k = 0; k <= pairs; k++)
			p[k] = next[k];
	}
	for (size_t k = 0; k <= pairs; k++)
		if (labs((long)pairs - 2 * (long)k) >= labs(s))
			sum += p[k];
	return fmin(sum, 1);
}

static double exact_p(size_t nr, long s)
{
	double *p = calloc(2 * (PAIRS_MAX + 1), sizeof(*p));
	/* On -ENOMEM no trend is shown. */
	double probability = p ? exact_p_in(p, nr, s) : 1;

	free(p);
	return probability;
}

/* With ties: normal approximation, with the variance for ties. */
static double normal_p(const double *x, size_t nr, long s)
{
	double n = (double)nr;
	double variance = n * (n - 1) * (2 * n + 5);

	for (size_t i = 0; i < nr; i++) {
		double equal = 0;

		for (size_t k = 0; k < nr; k++)
			equal += x[k] == x[i];
		/* Visits each group once per member. */
		variance -= (equal - 1) * (2 * equal + 5);
	}
	if (!(variance > 0))
		return 1;
	return stats_normal_two_sided((double)labs(s) / sqrt(variance / 18));
}

static struct trend find_trend(double *slopes, const double *x, size_t nr)
{
	struct trend ret = {.p = 1};
	size_t pairs = 0;
	size_t ties = 0;
	long s = 0;

	if (nr > TREND_MAX) {
		x += nr - TREND_MAX;
		nr = TREND_MAX;
	}
	for (size_t i = 0; i < nr; i++) {
		for (size_t k = i + 1; k < nr; k++) {
			slopes[pairs++] = (x[k] - x[i]) / (double)(k - i);
			s += (x[k] > x[i]) - (x[k] < x[i]);
			ties += x[k] == x[i];
		}
	}
	if (!pairs)
		return ret;
	ret.slope = stats_median(slopes, pairs);
	if (ties < pairs)
		ret.tau = (double)s / sqrt((double)(pairs - ties) * (double)pairs);
	ret.p = ties ? normal_p(x, nr, s) : exact_p(nr, s);
	return ret;
}

struct trend history_trend(const double *x, size_t nr)
{
	double *slopes = calloc(PAIRS_MAX, sizeof(*slopes));
	struct trend ret = {.p = 1};

	if (slopes)
		ret = find_trend(slopes, x, nr);
	free(slopes);
	return ret;
}

static struct opt_f64 trend_of(enum past_figure f, double value, const double *earlier, size_t nr,
			       double tests)
{
	double all[HISTORY_RUNS_MAX + 1];
	double work[HISTORY_RUNS_MAX + 1];
	double moved;
	struct trend t;

	for (size_t i = 0; i < nr; i++)
		all[i] = work[i] = earlier[i];
	all[nr] = work[nr] = value;
	t = history_trend(all, nr + 1);
	moved = fabs(t.slope) * (double)nr;
	if (t.p * tests > SERIES_LEVEL || moved < figures[f].least ||
	    moved < TREND_SHARE * fabs(stats_median(work, nr + 1)))
		return (struct opt_f64){0};
	return (struct opt_f64){.known = true, .value = t.slope};
}

/*
 * value: of this run; earlier: of nr earlier runs, the oldest first. tests: total number of tested
 * figures. false: fewer than SERIES_RUNS_MIN.
 */
static bool judge_figure(enum past_figure f, double value, const double *earlier, size_t nr,
			 double tests, struct series_history *ret)
{
	struct series_history h = {.metric = &figures[f].metric, .value = value};
	double work[HISTORY_RUNS_MAX];
	double near;

	if (nr > HISTORY_RUNS_MAX) {
		earlier += nr - HISTORY_RUNS_MAX;
		nr = HISTORY_RUNS_MAX;
	}
	if (nr < SERIES_RUNS_MIN)
		return false;
	for (size_t i = 0; i < nr; i++)
		work[i] = earlier[i];
	h.runs = nr;
	h.median = stats_median(work, nr);
	predict_next(f, earlier, nr, SERIES_LEVEL / tests, &h);
	near = fmax(ALIKE_SHARE * h.median, figures[f].least);
	h.low = fmin(h.low, fmax(h.median - near, 0));
	h.high = fmax(h.high, figures[f].ratio ? fmin(h.median + near, 1) : h.median + near);
	h.unusual = value < h.low || value > h.high;
	h.trend_per_run = trend_of(f, value, earlier, nr, tests);
	*ret = h;
	return true;
}

/* The same job over the same data reads the same amount, within a quarter; amounts below a MiB
 * count as equal. */
#define WORK_FACTOR 1.25
#define WORK_LEAST  1048576.0

/* Object-like, so that clang-format keeps the columns in one piece. */
#define HIT_RATIO	 SQL_hit_ratio("j.")
#define PREFETCHED_PAGES SQL_prefetched_pages("j.")
#define EVICTED_PAGES	 SQL_evicted_pages("j.")

/* Figures of sliced runs that are too low by an unknown amount are absent. */
#define COLUMNS                                                                                    \
	"r.id, r.state, r.page_size_bytes, coalesce(r.exit_status, 0), "                           \
	"substr(j.selector, 1, instr(j.selector, ':')), j.rchar_bytes, j.wall_ns / 1e9, "          \
	"j.cpu_ns / 1e9, iif(r.sliced AND r.cost_budget IS NULL, NULL, j.stall_ns / 1e9), "        \
	"iif(r.sliced, NULL, " HIT_RATIO "), j.misses, " PREFETCHED_PAGES                          \
	", j.evicted_unused, " EVICTED_PAGES ", j.refaults "

struct past_run {
	int64_t id, page_size, exit_status;
	struct bytes state, selector_kind;
	struct opt_f64 rchar_bytes;
	double figure[PAST_NR];
};

static struct past_run read_run(struct rows *r)
{
	struct past_run p = {.id = rows_value(r, 0)};

	p.state = rows_bytes(r);
	p.page_size = rows_value(r, 0);
	p.exit_status = rows_value(r, 0);
	p.selector_kind = rows_bytes(r);
	p.rchar_bytes = rows_f64(r);
	for (int f = 0; f < PAST_NR; f++) {
		struct opt_f64 v = rows_f64(r);

		p.figure[f] = v.known ? v.value : NAN;
	}
	return p;
}

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static bool is_comparable(const struct past_run *now, const struct past_run *p)
{
	double less = fmin(now->rchar_bytes.value, p->rchar_bytes.value);
	double more = fmax(now->rchar_bytes.value, p->rchar_bytes.value);

	return bytes_is(&p->state, "complete") &&
	       same_bytes(&now->selector_kind, &p->selector_kind) &&
	       p->page_size == now->page_size && p->exit_status == now->exit_status &&
	       now->rchar_bytes.known && p->rchar_bytes.known &&
	       more + WORK_LEAST <= WORK_FACTOR * (less + WORK_LEAST);
}

/* The comparable runs, the oldest first. */
struct past {
	struct past_run now, runs[HISTORY_RUNS_MAX];
	size_t nr;
	size_t of_name; /* runs of a job with this name */
};

static int load_past(sqlite3 *db, int64_t job_id, struct arena *scratch, struct past *p)
{
	struct rows r = rows_begin(db, scratch,
				   "SELECT " COLUMNS "FROM job j JOIN run r ON r.id = j.run_id "
				   "WHERE j.id = ?1",
				   1, &job_id);
	int64_t ids[3] = {job_id};
	int64_t last = 0;
	size_t from;
	int e;

	if (rows_next(&r))
		p->now = read_run(&r);
	e = rows_finish(&r);
	if (e)
		return e;
	ids[1] = p->now.id;
	ids[2] = p->now.id > IDS_BACK ? p->now.id - IDS_BACK : 0;
	r = rows_begin(db, scratch,
		       "SELECT " COLUMNS "FROM run r CROSS JOIN job j ON j.run_id = r.id "
		       "WHERE r.id < ?2 AND r.id >= ?3 AND j.slot <> 0 AND j.name = "
		       "(SELECT name FROM job WHERE id = ?1) ORDER BY r.id DESC, j.slot",
		       3, ids);
	from = HISTORY_RUNS_MAX;
	while (from && rows_next(&r)) {
		struct past_run run = read_run(&r);

		p->of_name += run.id != last;
		if (run.id != last && is_comparable(&p->now, &run))
			p->runs[--from] = run;
		last = run.id;
	}
	p->nr = HISTORY_RUNS_MAX - from;
	memmove(p->runs, p->runs + from, p->nr * sizeof(p->runs[0]));
	return rows_finish(&r);
}

static size_t known_of(const struct past *p, enum past_figure f, double *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr; i++)
		if (!isnan(p->runs[i].figure[f]))
			ret[nr++] = p->runs[i].figure[f];
	return isnan(p->now.figure[f]) ? 0 : nr;
}

static bool judge_past(const struct past *p, struct arena *arena, struct series_job *ret)
{
	double earlier[PAST_NR][HISTORY_RUNS_MAX];
	size_t nr[PAST_NR];
	size_t figures = 0;

	for (int f = 0; f < PAST_NR; f++) {
		nr[f] = known_of(p, f, earlier[f]);
		figures += nr[f] >= SERIES_RUNS_MIN;
	}
	ret->history = arena_alloc(arena, PAST_NR * sizeof(*ret->history));
	for (int f = 0; f < PAST_NR && ret->history; f++)
		if (judge_figure(f, p->now.figure[f], earlier[f], nr[f], (double)figures,
				 &ret->history[ret->nr_history]))
			ret->nr_history++;
	return ret->history;
}

static const char *say_too_few_runs(struct arena *arena, const struct past *p)
{
	if (!p->of_name)
		return "the database has no earlier run of this job";
	return arena_print(
		arena,
		"the database has %zu earlier %s, of which %zu completed the same command "
		"with as much data; at least %d are needed",
		p->of_name, p->of_name == 1 ? "run" : "runs", p->nr, SERIES_RUNS_MIN);
}

int history_load(sqlite3 *db, int64_t job_id, struct arena *arena, struct series_job *ret,
		 struct errtext *err)
{
	struct arena scratch = {0};
	struct past p = {.nr = 0};
	int e = load_past(db, job_id, &scratch, &p);

	if (e == -EIO)
		errtext_set(err, e, "cannot analyse the run (its history): %s", rows_error(db));
	if (!e && !bytes_is(&p.now.state, "complete"))
		ret->history_absent = "this run is still being recorded, or was cut short";
	else if (!e && !p.now.rchar_bytes.known)
		ret->history_absent = "the amount of data that the job read is not known";
	else if (!e && p.nr < SERIES_RUNS_MIN)
		ret->history_absent = say_too_few_runs(arena, &p);
	else if (!e)
		e = judge_past(&p, arena, ret) ? 0 : -ENOMEM;
	arena_free(&scratch);
	return e || !arena->failed ? e : -ENOMEM;
}
