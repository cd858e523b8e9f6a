/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access m */
/* Changes, outliers and correlations over a job's intervals, from rows of a database whose
 * answers are known by construction. */
#include "fixtures/advisor/world.h"
#include "fixtures/chance.h"

#include <math.h>

#include "advisor/series/series_cells.h"

#define S 1000000000LL

static int add_interval(struct fixture *f, int64_t start_ns, int64_t duration_ns, int64_t rolled)
{
	fixture_sql(f,
		    "INSERT INTO interval (run_id, start_ns, duration_ns, read_on_ns, rolled) "
		    "VALUES (1, %lld, %lld, %lld, %lld)",
		    (long long)start_ns, (long long)duration_ns, (long long)duration_ns,
		    (long long)rolled);
	return (int)sqlite3_last_insert_rowid(f->sql);
}

static void add_reads(struct fixture *f, int interval, int64_t lookups, int64_t misses)
{
	fixture_sql(f,
		    "INSERT INTO job_interval (interval_id, job_id, cpu_ns, read_bytes, lookups, "
		    "misses, stall_ns, evicted_reclaim_kswapd) VALUES (%d, 1, 500000000, %lld, "
		    "%lld, %lld, 0, 0)",
		    interval, (long long)lookups * 4096, (long long)lookups, (long long)misses);
}

/* A job that is cold for that many seconds and then warm. */
static void add_warm_up(struct fixture *f, int cold, int all, bool backwards)
{
	uint64_t seed = 4;
	int64_t misses[200];

	assert_true(all <= 200);
	for (int i = 0; i < all; i++)
		misses[i] = (int64_t)((i < cold ? 8000 : 100) * (1 + 0.1 * uniform(&seed)));
	fixture_sql(f, "BEGIN");
	for (int k = 0; k < all; k++) {
		int i = backwards ? all - 1 - k : k;

		add_reads(f, add_interval(f, i * S, S, 1), 10000, misses[i]);
	}
	fixture_sql(f, "COMMIT");
	fixture_sql(f, "UPDATE run SET duration_ns = %lld WHERE id = 1", all * S);
}

static const struct series_change *change_of(const struct series_job *s, const char *metric)
{
	for (size_t i = 0; i < s->nr_changes; i++)
		if (!strcmp(s->changes[i].metric->name, metric))
			return &s->changes[i];
	return NULL;
}

static void a_warm_up_is_found(void **state)
{
	struct fixture *f = *state;
	const struct series_change *c;
	const struct series_job *s;
	struct analysis a;

	fixture_zero(f, "job");
	add_warm_up(f, 20, 60, false);
	a = world_analyse(f);
	s = analysis_series_of(&a, 1);
	assert_non_null(s);
	assert_null(s->absent);
	assert_int_equal(s->intervals, 60);
	assert_int_equal(s->interval_ns, S);
	assert_int_equal(s->from_ns, 0);
	/* Both metrics that change, and no other. */
	assert_int_equal(s->nr_changes, 2);
	c = change_of(s, "misses_per_s");
	assert_non_null(c);
	assert_int_equal(c->at_ns, 20 * S);
	assert_true(c->before >= 8000 && c->before <= 8800);
	assert_true(c->after >= 100 && c->after <= 110);
	assert_true(c->p > 0 && c->p < 1e-4);
	c = change_of(s, "hit_ratio");
	assert_non_null(c);
	assert_int_equal(c->at_ns, 20 * S);
	assert_true(c->before < 0.2 && c->after > 0.98);
	assert_int_equal(s->nr_anomalies + s->nr_links, 0);
	assert_null(analysis_series_of(&a, 2)); /* everybody else */
	analysis_free(&a);
}

/* The order of the rows in the database does not matter. */
static void the_order_of_rows_is_nothing(void **state)
{
	struct fixture *f = *state;
	struct analysis a, b;
	const struct series_job *x, *y;

	fixture_zero(f, "job");
	add_warm_up(f, 30, 90, false);
	a = world_analyse(f);
	fixture_sql(f, "DELETE FROM job_interval; DELETE FROM interval");
	add_warm_up(f, 30, 90, true);
	b = world_analyse(f);
	x = analysis_series_of(&a, 1);
	y = analysis_series_of(&b, 1);
	assert_true(x->nr_changes > 0);
	assert_int_equal(x->nr_changes, y->nr_changes);
	for (size_t i = 0; i < x->nr_changes; i++) {
		assert_ptr_equal(x->changes[i].metric, y->changes[i].metric);
		assert_int_equal(x->changes[i].at_ns, y->changes[i].at_ns);
		assert_true(x->changes[i].p == y->changes[i].p);
		assert_true(x->changes[i].before == y->changes[i].before);
	}
	analysis_free(&a);
	analysis_free(&b);
}

/* One second in which everything is read again. */
static void an_outlier_is_found(void **state)
{
	struct fixture *f = *state;
	const struct series_job *s;
	struct analysis a;

	fixture_zero(f, "job");
	add_warm_up(f, 0, 100, false);
	fixture_sql(f, "UPDATE job_interval SET misses = 5000 WHERE interval_id = "
		       "(SELECT id FROM interval WHERE start_ns = 40000000000)");
	a = world_analyse(f);
	s = analysis_series_of(&a, 1);
	assert_int_equal(s->nr_changes, 0);
	assert_int_equal(s->nr_anomalies, 2); /* misses and hit ratio */
	assert_int_equal(s->more_anomalies, 0);
	for (size_t i = 0; i < 2; i++) {
		const struct series_anomaly *o = &s->anomalies[i];

		assert_int_equal(o->start_ns, 40 * S);
		assert_int_equal(o->duration_ns, S);
		if (!strcmp(o->metric->name, "misses_per_s"))
			assert_true(o->value == 5000 && o->low >= 0 && o->high > 110 &&
				    o->high < 1000);
		else
			assert_true(o->value == 0.5 && o->low > 0.5 && o->high <= 1);
		assert_true(o->score >= 6);
	}
	analysis_free(&a);
}

/* Waiting seconds grow with the misses of two seconds before: known lag, known sign. */
static void a_link_is_found(void **state)
{
	struct fixture *f = *state;
	const struct series_job *s;
	uint64_t seed = 8;
	int64_t misses[120];
	struct analysis a;

	fixture_zero(f, "job");
	fixture_sql(f, "BEGIN");
	for (int i = 0; i < 120; i++) {
		int interval = add_interval(f, i * S, S, 1);

		misses[i] = (int64_t)(2000 + 4000 * uniform(&seed));
		add_reads(f, interval, 10000, misses[i]);
		fixture_sql(f, "UPDATE job_interval SET stall_ns = %lld WHERE interval_id = %d",
			    (long long)(i < 2 ? 300000000 : misses[i - 2] * 100000), interval);
	}
	fixture_sql(f, "COMMIT");
	a = world_analyse(f);
	s = analysis_series_of(&a, 1);
	assert_int_equal(s->nr_links, 2); /* and the hit ratio, inversely */
	for (size_t i = 0; i < 2; i++) {
		const struct series_link *l = &s->links[i];
		bool ratio = !strcmp(l->a->name, "hit_ratio");

		assert_string_equal(l->b->name, "stall_share");
		assert_int_equal(l->lag_ns, 2 * S);
		assert_true(ratio ? l->rho < -0.9 : l->rho > 0.9);
		assert_true(l->p < 0.001);
		assert_true(l->intervals > 100 && l->intervals < 120);
	}
	assert_int_equal(s->nr_changes + s->nr_anomalies, 0);
	analysis_free(&a);
}

static void too_short(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	fixture_zero(f, "job");
	add_warm_up(f, 5, 19, false);
	a = world_analyse(f);
	assert_string_equal(
		analysis_series_of(&a, 1)->absent,
		"only 19 intervals had activity; at least 20 are needed to find what is "
		"usual");
	assert_string_equal(analysis_series_of(&a, 1)->history_absent,
			    "the amount of data that the job read is not known");
	analysis_free(&a);
}

static bool has_metric(const struct series_job *s, const char *name)
{
	for (size_t i = 0; i < s->nr_metrics; i++)
		if (strcmp(s->metrics[i]->name, name) == 0)
			return true;
	return false;
}

/* Only measured metrics are analysed; an interval in which reads were not watched throughout has
 * no metrics of reads. */
static void what_was_not_measured(void **state)
{
	struct fixture *f = *state;
	const struct series_job *s;
	struct analysis a;

	fixture_zero(f, "job");
	add_warm_up(f, 20, 60, false);
	fixture_sql(f, "UPDATE interval SET read_on_ns = duration_ns / 2");
	a = world_analyse(f);
	s = analysis_series_of(&a, 1);
	for (size_t i = 0; i < s->nr_metrics; i++) {
		assert_string_not_equal(s->metrics[i]->name, "hit_ratio");
		assert_string_not_equal(s->metrics[i]->name, "refaults_per_s"); /* NULL */
	}
	assert_non_null(change_of(s, "misses_per_s"));
	assert_null(change_of(s, "hit_ratio"));
	assert_true(has_metric(s, "stall_share"));
	analysis_free(&a);
	/* A version without a budget saw waits only while the hook was on. */
	fixture_sql(f, "UPDATE run SET sliced = 1");
	a = world_analyse(f);
	assert_false(has_metric(analysis_series_of(&a, 1), "stall_share"));
	analysis_free(&a);
}

/* An hour and a half: first minutes, then 15 minutes of seconds. All of it is analysed in
 * minutes. */
static void rolled_up(void **state)
{
	struct fixture *f = *state;
	const struct series_job *s;
	struct analysis a;

	fixture_zero(f, "job");
	fixture_sql(f, "BEGIN");
	for (int i = 0; i < 75; i++)
		add_reads(f, add_interval(f, i * 60 * S, 60 * S, 60), 600000,
			  i < 40 ? 480000 + i % 7 * 1000 : 6000 + i % 7 * 100);
	for (int i = 0; i < 900; i++)
		add_reads(f, add_interval(f, (4500 + i) * S, S, 1), 10000, 100 + i % 7 * 2);
	fixture_sql(f, "UPDATE job_interval SET cpu_ns = (SELECT duration_ns / 2 FROM interval "
		       "WHERE id = interval_id); COMMIT");
	a = world_analyse(f);
	s = analysis_series_of(&a, 1);
	assert_int_equal(s->interval_ns, 60 * S);
	assert_int_equal(s->intervals, 90);
	assert_int_equal(s->from_ns, 0);
	assert_non_null(change_of(s, "misses_per_s"));
	assert_int_equal(change_of(s, "misses_per_s")->at_ns, 40 * 60 * S);
	/* The border of the merged rows is not a change. */
	assert_int_equal(s->nr_changes, 2);
	analysis_free(&a);
}

/* Twenty minutes: the five that are in minutes are too few, and left out. */
static void rolled_up_too_coarsely(void **state)
{
	struct fixture *f = *state;
	const struct series_job *s;
	struct analysis a;

	fixture_zero(f, "job");
	fixture_sql(f, "BEGIN");
	for (int i = 0; i < 5; i++)
		add_reads(f, add_interval(f, i * 60 * S, 60 * S, 60), 600000, 480000);
	for (int i = 0; i < 900; i++)
		add_reads(f, add_interval(f, (300 + i) * S, S, 1), 10000,
			  i < 450 ? 5000 + i % 7 * 20 : 100 + i % 7 * 2);
	fixture_sql(f, "COMMIT");
	a = world_analyse(f);
	s = analysis_series_of(&a, 1);
	assert_int_equal(s->interval_ns, S);
	assert_int_equal(s->intervals, 900);
	assert_int_equal(s->from_ns, 300 * S);
	assert_int_equal(change_of(s, "misses_per_s")->at_ns, 750 * S);
	analysis_free(&a);
}

static void bound_pairs(void **state)
{
	(void)state;
	for (int a = 0; a < FIGURE_NR; a++) {
		assert_null(series_bound(a, a));
		for (int b = 0; b < FIGURE_NR; b++)
			assert_ptr_equal(series_bound(a, b), series_bound(b, a));
	}
	assert_non_null(series_bound(FIGURE_HIT_RATIO, FIGURE_MISSES));
	assert_null(series_bound(FIGURE_MISSES, FIGURE_STALL));
}

/* A lost interval is a gap, not a cell, and no increment spans it. */
static void lost_intervals(void **state)
{
	struct series_row rows[60];
	struct series_cells c;
	struct arena arena = {0};

	(void)state;
	for (int i = 0; i < 60; i++) {
		rows[i] =
			(struct series_row){.start_ns = (i < 30 ? i : i + 5) * S, .duration_ns = S};
		for (int k = 0; k < INPUT_NR; k++)
			rows[i].v[k] = k < INPUT_SUMS ? 1000 : i < 30 ? i * 1e6 : i * 1e9;
		rows[i].v[INPUT_REFAULTS] = NAN;
	}
	rows[8].v[INPUT_MISSES] = 1001;
	assert_int_equal(series_cells_make(rows, 60, &arena, &c), 0);
	assert_int_equal(c.nr, 60);
	assert_int_equal(c.end_ns[29], 30 * S);
	assert_int_equal(c.start_ns[30], 35 * S);
	assert_true(isnan(c.v[FIGURE_AVAILABLE][0]) && isnan(c.v[FIGURE_AVAILABLE][30]));
	assert_true(c.v[FIGURE_AVAILABLE][29] == 1e6 && c.v[FIGURE_AVAILABLE][31] == 1e9);
	assert_true(c.v[FIGURE_MISSES][7] == 1000 && c.v[FIGURE_HIT_RATIO][7] == 0);
	assert_true(isnan(c.v[FIGURE_REFAULTS][7]));
	assert_true(isnan(c.v[FIGURE_HIT_RATIO][8]) && c.v[FIGURE_MISSES][8] == 1001);
	arena_free(&arena);
}

/* A day with too many rows is folded; a rest of at least half a cell becomes a cell. */
static void many_rows(void **state)
{
	enum { ROWS = 86400 };
	struct series_row *rows = calloc(ROWS, sizeof(*rows));
	struct series_cells c;
	struct arena arena = {0};
	double sum = 0;

	(void)state;
	assert_non_null(rows);
	for (int i = 0; i < ROWS; i++) {
		rows[i] = (struct series_row){.start_ns = i * S, .duration_ns = S};
		for (int k = 0; k < INPUT_SUMS; k++)
			rows[i].v[k] = 500;
	}
	assert_int_equal(series_cells_make(rows, ROWS, &arena, &c), 0);
	assert_true(c.nr <= SERIES_MAX && c.nr > SERIES_MAX / 2);
	assert_int_equal(c.length_ns, 43 * S);
	for (size_t i = 0; i < c.nr; i++)
		sum += c.v[FIGURE_MISSES][i];
	assert_true(sum == 500.0 * (double)c.nr);
	arena_free(&arena);
	free(rows);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, world_begin, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_warm_up_is_found),
		CASE(the_order_of_rows_is_nothing),
		CASE(an_outlier_is_found),
		CASE(a_link_is_found),
		CASE(too_short),
		CASE(what_was_not_measured),
		CASE(rolled_up),
		CASE(rolled_up_too_coarsely),
		cmocka_unit_test(bound_pairs),
		cmocka_unit_test(lost_intervals),
		cmocka_unit_test(many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
