/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/compare_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cachemon/figures/counts.h"
#include "advisor/compare/cells.h"
#include "advisor/stats/stats.h"
#include "advisor/compare/paired.h"

/* Numerators, denominators and work of both runs. */
struct columns {
	double *num[2], *den[2], *work[2];
};

/* While the per-read hook is off, reads and the use of pages are not seen. */
static bool needs_reads(int counter)
{
	enum counter_group g;

	if (counter >= C_NR)
		return false;
	g = counter_group((enum counter)counter);
	return g == GROUP_READ || g == GROUP_DELAY || g == GROUP_FATE;
}

static bool is_partial(const struct compare_interval *i)
{
	return i->read_on_ns < i->duration_ns;
}

static bool interval_sum(const struct compare_interval *in, const struct compare_sum *sum,
			 double *ret)
{
	double total = 0;

	for (size_t i = 0; i < sum->nr; i++) {
		int counter = sum->term[i] < 0 ? MINUS(sum->term[i]) : sum->term[i];
		double v = (double)in->value[counter];

		if (!in->known[counter] || (needs_reads(counter) && is_partial(in)))
			return false;
		total += sum->term[i] < 0 ? -v : v;
	}
	*ret = total;
	return true;
}

bool compare_sum(const struct compare_run *run, const struct compare_sum *sum, double *ret)
{
	double total = 0;

	for (size_t i = 0; i < run->nr; i++) {
		double v = 0;

		if (!interval_sum(&run->intervals[i], sum, &v))
			return false;
		total += v;
	}
	*ret = total;
	return run->nr > 0;
}

static double work_of(const struct compare_interval *in, enum compare_work work)
{
	if (work == WORK_TIME)
		return (double)in->duration_ns;
	if (work == WORK_RCHAR)
		return (double)in->rchar_bytes;
	if (work == WORK_FAULTS)
		return (double)in->value[C_faults_major];
	return (double)in->value[C_read_bytes] +
	       (in->known[C_direct_read_bytes] ? (double)in->value[C_direct_read_bytes] : 0);
}

static bool work_known(const struct compare_interval *in, enum compare_work work)
{
	if (work == WORK_RCHAR)
		return in->rchar_known && in->rchar_bytes >= 0;
	if (work == WORK_FAULTS)
		return in->known[C_faults_major];
	return work == WORK_TIME || (in->known[C_read_bytes] && !is_partial(in));
}

/* Up to this difference, equal shares of the work are the same part of the job in both runs. */
#define SAME_WORK 1.1

/* Too few faults cannot divide a run: if readahead is always in time, they only occur at the
 * start. */
enum { FAULTS_MIN = 20 };

/* Bytes measure the work of a run that reads most of the time and gets most of its data by reads.
 * No byte count includes the pages that faults bring in. */
static bool work_fits(const struct compare_run *run, enum compare_work work)
{
	static const struct compare_sum mapped = {1, {C_prefetched_mmap_around}};
	double around = 0;
	double sum = 0;
	size_t busy = 0;

	for (size_t i = 0; i < run->nr; i++) {
		if (!work_known(&run->intervals[i], work))
			return false;
		sum += work_of(&run->intervals[i], work);
		busy += work_of(&run->intervals[i], work) > 0;
	}
	if (work == WORK_TIME)
		return true;
	if (work == WORK_FAULTS && sum < FAULTS_MIN)
		return false;
	if (work != WORK_FAULTS && compare_sum(run, &mapped, &around) &&
	    around * run->page_bytes > sum)
		return false;
	return busy > 0 && busy * 2 >= run->nr;
}

/* Major faults show how far a job is, not how much it does: advice on a mapping changes their
 * number. Minor faults show less: most belong to the start of the program. */
enum compare_work compare_choose_work(const struct compare_run *runs, size_t nr,
				      enum compare_per per)
{
	enum compare_work work = WORK_READ;

	for (size_t i = 0; i < nr && work < WORK_TIME;) {
		if ((work == WORK_FAULTS && per == PER_WORK) || !work_fits(&runs[i], work)) {
			work++;
			i = 0;
		} else {
			i++;
		}
	}
	return work;
}

/* whole: the divisor, which is the sum of the work for figures per job. */
static bool fill_column(const struct compare_run *run, const struct compare_sum *sum,
			enum compare_work work, double whole, double *ret, bool *partial)
{
	bool of_work = sum->nr == 1 && sum->term[0] == X_WORK;

	for (size_t i = 0; i < run->nr; i++) {
		const struct compare_interval *in = &run->intervals[i];

		if (of_work)
			ret[i] = work_of(in, work) / whole;
		else if (!interval_sum(in, sum, &ret[i])) {
			*partial = *partial || is_partial(in);
			return false;
		}
	}
	return true;
}

static void scale_test(struct paired *t, double scale)
{
	t->difference *= scale;
	t->spread_a *= scale;
	t->spread_b *= scale;
	t->error *= scale;
}

double compare_scale(const struct compare_result *r, const struct compare_metric *m)
{
	if (r->per == PER_JOB)
		return m->job_scale;
	return r->work == WORK_TIME ? m->time_scale : m->scale;
}

/* Scales the smallest relevant difference from per GiB or per second to the whole job. */
static double least_relevant(const struct compare_result *r, const struct compare_metric *m,
			     double page_bytes)
{
	const double of_unit[WORK_NR] = {
		[WORK_READ] = 1 / METRIC_GIB,
		[WORK_RCHAR] = 1 / METRIC_GIB,
		[WORK_FAULTS] = page_bytes / METRIC_GIB,
		[WORK_TIME] = 1e-9,
	};

	double least = m->relevant_least;

	if (m->relevant_of_gib > 0)
		least = page_bytes > 0 ? floor(m->relevant_of_gib * METRIC_GIB / page_bytes) : 0;
	if (r->per == PER_WORK || m->den.term[0] != X_WORK)
		return least;
	return least * r->work_a * of_unit[r->work];
}

double compare_relevant(const struct compare_result *r, const struct compare_row *row,
			double page_bytes)
{
	return fmax(row->metric->relevant_share * fabs(row->a),
		    least_relevant(r, row->metric, page_bytes));
}

/* Known fates cover only a part of the run, or too many pages have no known fate: there is no
 * share. */
static bool fates_unknown(const struct compare_run *run)
{
	static const struct compare_sum untracked = COMPARE_SUM(OPEN_fates_unknown);
	static const struct compare_sum fated = COMPARE_SUM(KNOWN_fates_unknown);
	double open = 0;
	double known = 0;

	return !compare_sum(run, &untracked, &open) || !compare_sum(run, &fated, &known) ||
	       counts_too_many_open(open, known);
}

bool compare_is_figure(const struct compare_run *run, const struct compare_metric *m, double ratio)
{
	if (m->share && !(ratio >= 0 && ratio <= 1))
		return false;
	return !m->of_fates || !fates_unknown(run);
}

/* cells: the number of cells of each run. */
static bool cut_runs(const struct compare_run *const run[2], const struct columns *c,
		     const struct compare_result *result, const size_t nr[2],
		     struct compare_row *row, double cells[2][CELLS_MAX])
{
	const struct compare_metric *m = row->metric;
	double ratio[2] = {0};

	for (int i = 0; i < 2; i++) {
		struct compare_series s = {c->num[i], c->den[i], c->work[i], run[i]->nr};
		double work = i ? result->work_b : result->work_a;
		double whole = result->per == PER_JOB ? work : 1;

		if (!fill_column(run[i], &m->num, result->work, whole, c->num[i], &row->partial) ||
		    !fill_column(run[i], &m->den, result->work, whole, c->den[i], &row->partial) ||
		    cells_values(&s, nr[i], cells[i], &ratio[i]) < 0 ||
		    !compare_is_figure(run[i], m, ratio[i]))
			return false;
	}
	row->a = ratio[0];
	row->b = ratio[1];
	return true;
}

/* The number of cells that a short run is worth: its last interval may be very short. Two
 * intervals of which one is half as long as the other still count as two. */
static size_t worth_cells(const struct compare_run *run)
{
	double sum = 0;
	double squares = 0;

	for (size_t i = 0; i < run->nr; i++) {
		double duration = (double)run->intervals[i].duration_ns;

		sum += duration;
		squares += duration * duration;
	}
	return squares > 0 ? (size_t)(sum * sum / squares + 0.25) : 0;
}

static double less_work(const struct compare_result *r, bool shorter)
{
	if (r->per == PER_JOB)
		return 1;
	return shorter ? r->work_a / r->work_b : r->work_b / r->work_a;
}

/* If both runs read equally many bytes, bytes show how far each run is. */
static bool same_shares(const struct compare_result *r)
{
	double ratio = r->work_a / r->work_b;

	return (r->work == WORK_READ || r->work == WORK_RCHAR) && ratio <= SAME_WORK &&
	       ratio * SAME_WORK >= 1;
}

/* Sums of equal shares of work may differ in their last digits. */
static double difference_of(const struct compare_row *row)
{
	double d = row->b - row->a;

	return fabs(d) <= 1e-12 * fmax(fabs(row->a), fabs(row->b)) ? 0 : d;
}

static struct paired test_row(const struct compare_run *const run[2], const struct columns *c,
			      const struct compare_result *result, struct compare_row *row)
{
	bool shorter = run[1]->nr < run[0]->nr;
	size_t nr[2] = {result->cells, result->cells};
	double cells[2][CELLS_MAX];
	struct paired t;

	if (result->test == TEST_LONE)
		nr[shorter] = worth_cells(run[shorter]);
	if (!nr[shorter] || !cut_runs(run, c, result, nr, row, cells))
		return (struct paired){.why = PAIRED_TOO_FEW};
	row->outcome = OUTCOME_UNTESTED;
	t = result->test == TEST_LONE ? paired_lone(cells[0], nr[0], cells[1], nr[1],
						    less_work(result, shorter), same_shares(result))
				      : paired_test(cells[0], cells[1], result->cells);
	/* A figure that is proportional to the work in every cell yields one value per run, as
	 * the work itself does. */
	if (result->per == PER_JOB && t.why == PAIRED_TESTED && !(t.error > 0))
		t.why = PAIRED_OF_WORK;
	t.difference = difference_of(row);
	return t;
}

static void compare_one(const struct compare_run *const run[2], const struct columns *c,
			const struct compare_result *result, struct compare_row *row)
{
	const struct compare_metric *m = row->metric;
	double scale = compare_scale(result, m);

	if (result->per == PER_WORK && result->work == WORK_TIME && !m->time_unit) {
		row->test.why = PAIRED_OF_WORK;
		return;
	}
	row->test = test_row(run, c, result, row);
	if (row->outcome == OUTCOME_UNKNOWN)
		return;
	row->a *= scale;
	row->b *= scale;
	scale_test(&row->test, scale);
	row->relevant = compare_relevant(result, row, run[0]->page_bytes);
	if (m->better != BETTER_NEITHER && row->test.why == PAIRED_TESTED)
		row->p_adjusted = row->test.p;
}

void compare_judge_row(struct compare_row *row)
{
	bool lower = row->test.difference < 0;

	if (isnan(row->p_adjusted))
		return;
	if (row->p_adjusted > COMPARE_LEVEL)
		row->outcome = OUTCOME_NOISE;
	else if (fabs(row->test.difference) < row->relevant)
		row->outcome = OUTCOME_SMALL;
	else
		row->outcome = lower == (row->metric->better == BETTER_LOWER) ? OUTCOME_BETTER
									      : OUTCOME_WORSE;
}

/* A stall below 1 % of the time does not matter, however it changed. */
void compare_relate_to_time(struct compare_result *r)
{
	double time = 0;

	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].metric->num.term[0] == X_DURATION_NS)
			time = r->rows[i].a;
	if (r->work == WORK_TIME)
		time = r->per == PER_JOB ? r->work_a * 1e-9 : 1;
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].metric->num.term[0] == C_stall_ns)
			r->rows[i].relevant = fmax(r->rows[i].relevant, 0.01 * time);
}

/* The test of runs that are far apart misses smaller changes, so it cannot show that there is no
 * difference. */
static void withdraw_apart(struct compare_row *row)
{
	if (!(row->test.log_error > 0) || row->p_adjusted <= COMPARE_LEVEL)
		return;
	row->test.why = PAIRED_TOO_ALIKE;
	row->test.log_error = 0;
	row->p_adjusted = NAN;
}

static void judge_all(struct compare_result *r)
{
	double p[r->nr_rows];

	for (size_t i = 0; i < r->nr_rows; i++)
		p[i] = r->rows[i].p_adjusted;
	for (size_t i = 0; i < r->nr_rows; i++)
		if (!isnan(p[i]))
			r->rows[i].test.detectable = paired_detectable(
				&r->rows[i].test, r->rows[i].a,
				stats_holm_level(p, r->nr_rows, i, COMPARE_LEVEL));
	stats_holm(p, r->nr_rows);
	for (size_t i = 0; i < r->nr_rows; i++) {
		r->rows[i].p_adjusted = p[i];
		withdraw_apart(&r->rows[i]);
		r->nr_tested += !isnan(r->rows[i].p_adjusted);
		compare_judge_row(&r->rows[i]);
	}
}

/* The time decides. If it has no verdict, its causes decide. "No difference" needs a test of
 * time or stall that found none. */
void compare_give_verdict(struct compare_result *r)
{
	r->verdict = VERDICT_UNTESTED;
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].metric->rank == 0 && !isnan(r->rows[i].p_adjusted))
			r->verdict = VERDICT_SAME;
	for (int rank = 0; rank <= 1; rank++) {
		bool better = false;
		bool worse = false;

		for (size_t i = 0; i < r->nr_rows; i++) {
			if (r->rows[i].metric->rank != rank)
				continue;
			better |= r->rows[i].outcome == OUTCOME_BETTER;
			worse |= r->rows[i].outcome == OUTCOME_WORSE;
		}
		if (!better && !worse)
			continue;
		r->rank = rank;
		r->verdict = better && worse ? VERDICT_MIXED
			     : better	     ? VERDICT_IMPROVED
					     : VERDICT_WORSE;
		return;
	}
}

double compare_total_work(const struct compare_run *run, enum compare_work work)
{
	double sum = 0;

	for (size_t i = 0; i < run->nr; i++)
		sum += work_of(&run->intervals[i], work);
	return sum;
}

double compare_duration(const struct compare_run *run)
{
	return compare_total_work(run, WORK_TIME) * 1e-9;
}

size_t compare_nr_metrics(void)
{
	size_t nr = 0;

	while (compare_metric(nr))
		nr++;
	return nr;
}

/* The short run has no more cells than intervals; the long run provides the error. */
static void choose_test(struct compare_result *r)
{
	size_t few = r->intervals_a < r->intervals_b ? r->intervals_a : r->intervals_b;
	size_t many = r->intervals_a < r->intervals_b ? r->intervals_b : r->intervals_a;

	if (few > 0 && few < PAIRED_CELLS_MIN && many >= PAIRED_CELLS_MIN)
		r->test = TEST_LONE;
	r->cells = cells_number(r->test == TEST_LONE ? many : few, many);
}

int compare_runs(const struct compare_run *a, const struct compare_run *b, enum compare_per per,
		 struct compare_result *ret)
{
	const struct compare_run *const run[2] = {a, b};
	struct columns c = {0};
	double *room = calloc(3 * (a->nr + b->nr) + 1, sizeof(*room));

	*ret = (struct compare_result){.nr_rows = compare_nr_metrics(),
				       .per = per,
				       .intervals_a = a->nr,
				       .intervals_b = b->nr,
				       .runs_a = 1,
				       .runs_b = 1};
	ret->longest_s = fmax(compare_duration(a), compare_duration(b));
	ret->shortest_s = fmin(compare_duration(a), compare_duration(b));
	choose_test(ret);
	ret->rows = calloc(ret->nr_rows, sizeof(*ret->rows));
	if (!room || !ret->rows) {
		free(room);
		return -ENOMEM;
	}
	for (int i = 0; i < 2; i++) {
		c.num[i] = room + (i ? 3 * a->nr : 0);
		c.den[i] = c.num[i] + run[i]->nr;
		c.work[i] = c.den[i] + run[i]->nr;
	}
	ret->work = compare_choose_work((struct compare_run[]){*a, *b}, 2, per);
	ret->work_a = compare_total_work(a, ret->work);
	ret->work_b = compare_total_work(b, ret->work);
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < run[i]->nr; k++)
			c.work[i][k] = work_of(&run[i]->intervals[k], ret->work);
	for (size_t i = 0; i < ret->nr_rows; i++) {
		ret->rows[i] = (struct compare_row){.metric = compare_metric(i), .p_adjusted = NAN};
		compare_one(run, &c, ret, &ret->rows[i]);
	}
	free(room);
	compare_relate_to_time(ret);
	judge_all(ret);
	compare_give_verdict(ret);
	return 0;
}

void compare_free(struct compare_result *result)
{
	free(result->rows);
	free(result->values);
	*result = (struct compare_result){0};
}
