/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access m */
/* A run compared with earlier runs of the job: what is usual, what is not, trends, and too few
 * runs. */
#include "fixtures/advisor/world.h"

#include <math.h>

#define S 1000000000LL

/* Adds a run that began before run 1. A test gives run 1 the number 1000, so id is below that. */
static void add_past(struct fixture *f, int id, double wall_s, int64_t misses, int64_t rchar)
{
	fixture_sql(f,
		    "INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, "
		    "duration_ns, state, writer_boot, writer_pidns, writer_pid, "
		    "writer_start_ticks, level, read_on_ns, advice_mode, interval_ns, "
		    "page_size_bytes, memory_bytes, map_bytes) SELECT %d, 'past-%d', cachemon, "
		    "host, kernel, "
		    "arch, started_ns - %d, duration_ns, state, 'b', 0, 1, 0, level, read_on_ns, "
		    "advice_mode, interval_ns, page_size_bytes, memory_bytes, map_bytes FROM run "
		    "WHERE id = 1;"
		    "INSERT INTO job (run_id, slot, name, selector, wall_ns, rchar_bytes, lookups, "
		    "misses) VALUES (%d, 1, 'train', 'command: train --again', %lld, %lld, 100000, "
		    "%lld)",
		    id, id, 10000 - id, id, (long long)(wall_s * 1e9), (long long)rchar,
		    (long long)misses);
}

static const struct series_history *history_of(const struct series_job *s, const char *metric)
{
	for (size_t i = 0; i < s->nr_history; i++)
		if (!strcmp(s->history[i].metric->name, metric))
			return &s->history[i];
	return NULL;
}

/* The newest run is analysed: ids of earlier ones are smaller. */
static struct analysis analyse_last(struct fixture *f, int64_t run_id)
{
	struct analysis_options options = {0};
	struct errtext err = {0};
	struct analysis a = {0};

	if (analysis_run(f->sql, run_id, &options, &a, &err))
		fail_msg("%s", err.text);
	return a;
}

static void history(void **state)
{
	static const double wall[] = {10.0, 10.4, 9.8, 10.2, 10.1, 9.9};
	struct fixture *f = *state;
	const struct series_history *h;
	const struct series_job *s;
	struct analysis a;

	fixture_zero(f, "job");
	for (int i = 0; i < 6; i++)
		add_past(f, 10 + i, wall[i], 5000 + 100 * (i % 3), 400000000);
	add_past(f, 20, 99, 90000, 900000000); /* read twice as much */
	add_past(f, 21, 99, 90000, 400000000);
	fixture_sql(f, "UPDATE run SET state = 'cut' WHERE id = 21");
	add_past(f, 22, 99, 90000, 400000000);
	fixture_sql(f, "UPDATE job SET selector = 'cgroup: /x' WHERE run_id = 22");
	add_past(f, 23, 99, 90000, 400000000);
	fixture_sql(f, "UPDATE run SET exit_status = 1 WHERE id = 23");
	add_past(f, 24, 99, 90000, 400000000);
	fixture_sql(f, "UPDATE job SET name = 'other' WHERE run_id = 24");
	add_past(f, 30, 10.3, 60000, 410000000);
	a = analyse_last(f, 30);
	s = &a.series[0];
	assert_null(s->history_absent);
	h = history_of(s, "wall_s");
	assert_non_null(h);
	assert_int_equal(h->runs, 6);
	assert_true(fabs(h->median - 10.05) < 1e-9);
	assert_true(h->value == 10.3 && !h->unusual && !h->trend_per_run.known);
	assert_true(h->low < 9.8 && h->low > 8 && h->high > 10.4 && h->high < 13);
	h = history_of(s, "misses");
	assert_true(h->unusual && h->value == 60000 && h->median == 5100);
	assert_true(h->high < 10000);
	h = history_of(s, "hit_ratio");
	assert_true(h->unusual && fabs(h->value - 0.4) < 1e-12);
	/* Not measured in the earlier ones. */
	assert_null(history_of(s, "refaults"));
	analysis_free(&a);
}

/* As in a report, such a run has no hit ratio, so it is not compared in it. */
static void more_misses_than_lookups(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	fixture_zero(f, "job");
	for (int i = 0; i < 6; i++)
		add_past(f, 10 + i, 10, 5000 + i, 400000000);
	add_past(f, 30, 10, 100001, 400000000);
	a = analyse_last(f, 30);
	assert_non_null(history_of(&a.series[0], "misses"));
	assert_null(history_of(&a.series[0], "hit_ratio"));
	analysis_free(&a);
}

static void a_trend_is_known(void **state)
{
	struct fixture *f = *state;
	const struct series_history *h;
	struct analysis a;

	fixture_zero(f, "job");
	for (int i = 0; i < 9; i++)
		add_past(f, 10 + i, 10 + 0.5 * i, 5000, 400000000);
	add_past(f, 30, 14.5, 5000, 400000000);
	a = analyse_last(f, 30);
	h = history_of(&a.series[0], "wall_s");
	assert_true(h->trend_per_run.known && fabs(h->trend_per_run.value - 0.5) < 1e-9);
	assert_false(h->unusual);
	assert_false(history_of(&a.series[0], "misses")->trend_per_run.known);
	analysis_free(&a);
}

static void too_few_runs(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	fixture_zero(f, "job");
	for (int i = 0; i < 3; i++)
		add_past(f, 10 + i, 10, 5000, 400000000);
	add_past(f, 13, 10, 5000, 800000000);
	add_past(f, 30, 10, 5000, 400000000);
	a = analyse_last(f, 30);
	assert_string_equal(
		a.series[0].history_absent,
		"the database has 5 earlier runs, of which 3 completed the same command with as "
		"much data; at least 4 are needed");
	analysis_free(&a);
	fixture_sql(f, "UPDATE run SET state = 'open' WHERE id = 30");
	a = analyse_last(f, 30);
	assert_string_equal(a.series[0].history_absent,
			    "this run is still being recorded, or was cut short");
	analysis_free(&a);
	a = analyse_last(f, 1);
	assert_string_equal(a.series[0].history_absent,
			    "the amount of data that the job read is not known");
	analysis_free(&a);
	fixture_sql(f, "UPDATE job SET name = 'new', rchar_bytes = 5 WHERE run_id = 1");
	a = analyse_last(f, 1);
	assert_string_equal(a.series[0].history_absent,
			    "the database has no earlier run of this job");
	analysis_free(&a);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, world_begin, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(history),
		CASE(more_misses_than_lookups),
		CASE(a_trend_is_known),
		CASE(too_few_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
