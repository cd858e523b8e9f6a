/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: top report account access */
/* The queries of a session: the worst moment, the jobs of all runs, and only as many queries as
 * there are changes. */
#include "fixtures/report/top.h"

static struct top_session begun(struct fixture *f)
{
	struct top_session s;

	assert_int_equal(top_session_begin(f->sql, 1, false, &s), 0);
	return s;
}

static void load(struct top_session *s)
{
	struct errtext err;

	if (top_session_load(s, &err))
		fail_msg("%s", err.text);
}

static void the_worst_moment(void **state)
{
	struct fixture *f = *state;
	struct top_session s = begun(f);

	load(&s);
	s.view.worst = true;
	load(&s);
	ten_seconds(f);
	/* As many misses as in the fourth second, in half of the time. */
	fixture_sql(f, "UPDATE job_interval SET misses = 90 WHERE interval_id IN (4, 7);"
		       "UPDATE interval SET duration_ns = 500000000 WHERE id = 7;"
		       "UPDATE job_interval SET misses = NULL WHERE interval_id = 9");
	made_job(f, 2, 2, 10000, 10000, 0);
	load(&s);
	s.view.worst = true;
	s.view.pace = TOP_HOLD;
	load(&s);
	assert_int_equal(s.moment.history[0].start_ns, 6 * S);
	assert_false(s.view.worst);
	top_session_end(&s);
}

static void other_runs(void **state)
{
	struct fixture *f = *state;
	struct top_session s = begun(f);

	ten_seconds(f);
	fixture_sql(f,
		    "CREATE TEMP TABLE t AS SELECT * FROM run; UPDATE t SET id = 5, uuid = 'u-5'; "
		    "INSERT INTO main.run SELECT * FROM t");
	load(&s);
	assert_int_equal(s.moment.nr_history, 10);
	s.view.run_steps = 1;
	load(&s);
	assert_int_equal(s.moment.model.run.id, 5);
	assert_int_equal(s.moment.nr_history, 0);
	/* There is no run after it. */
	s.view.run_steps = 3;
	load(&s);
	assert_int_equal(s.moment.model.run.id, 5);
	s.view.run_steps = -1;
	load(&s);
	assert_int_equal(s.moment.model.run.id, 1);
	s.view.run_steps = -7;
	load(&s);
	assert_int_equal(s.moment.model.run.id, 1);
	top_session_end(&s);
}

static void jobs_of_all_runs(void **state)
{
	struct fixture *f = *state;
	struct top_session s = begun(f);

	ten_seconds(f);
	/* Two hundred runs, the seventh newest of which is still being written. */
	fixture_sql(f, "CREATE TEMP TABLE t AS SELECT * FROM run");
	for (int i = 2; i <= 200; i++)
		fixture_sql(
			f,
			"UPDATE t SET id = %d, uuid = 'u-%d', state = '%s', duration_ns = "
			"4000000000, page_size_bytes = 4096; INSERT INTO main.run SELECT * FROM t;"
			"INSERT INTO job (id, run_id, slot, name, selector, lookups, misses) "
			"VALUES (%d, %d, 1, 'job%d', 'pid: 1', 4000, %d)",
			i, i, i == 194 ? "open" : "complete", 1000 + i, i, i, 4 * i);
	s.view.level = TOP_RUNS;
	load(&s);
	assert_int_equal(s.frame.nr_rows, TOP_RUNS_MAX);
	assert_string_equal(s.frame.rows[0].name, "run 194, live: job194");
	assert_string_equal(s.frame.rows[1].name, "run 200: job200");
	/* Over the whole run, not only the moment. */
	assert_string_equal(shown(&s.moment, s.frame.rows[1].row, TOP_MISSES), "200");
	assert_string_equal(shown(&s.moment, s.frame.rows[1].row, TOP_LOOKUPS), "1.00k");
	s.view.cursor = 1;
	load(&s);
	for (int i = 0; i < 2; i++) {
		struct top_paper paper = {.columns = 80, .rows = 24};
		struct top_around around;

		top_session_around(&s, &paper, &around);
		top_view_key(&s.view, i ? TOP_KEY_BACKSPACE : 'z', &around);
		load(&s);
		assert_int_equal(s.moment.model.run.id, i ? 1 : 200);
		assert_int_equal(s.view.level, i ? TOP_RUNS : TOP_DIRECTORIES);
	}
	assert_int_equal(s.frame.cursor, 1);
	top_session_end(&s);
}

static int count_statement(unsigned int type, void *nr, void *statement, void *sql)
{
	/* Every refresh checks whether the database has changed. */
	if (!strstr(sql, "data_version"))
		++*(int *)nr;
	return 0;
}

static void only_what_changed_is_read(void **state)
{
	static const uint32_t keys[] = {TOP_KEY_DOWN, TOP_KEY_END,   's', 'r', '/',
					'a',	      TOP_KEY_ENTER, '?', 'x'};
	struct fixture *f = *state;
	struct top_session s = begun(f);
	struct top_paper paper = {.columns = 80, .rows = 24};
	struct top_around around;
	int nr = 0;

	ten_seconds(f);
	s.view.level = TOP_FILES;
	load(&s);
	sqlite3_trace_v2(f->sql, SQLITE_TRACE_STMT, count_statement, &nr);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		top_session_around(&s, &paper, &around);
		top_view_key(&s.view, keys[i], &around);
		load(&s);
		assert_int_equal(nr, 0);
	}
	assert_string_equal(s.view.filter, "a");
	s.view.level = TOP_JOBS;
	load(&s);
	assert_true(nr > 0);
	nr = 0;
	s.view.at_ns = 3 * S;
	load(&s);
	assert_true(nr > 0);
	assert_int_equal(s.moment.history[0].start_ns, 3 * S);
	nr = 0;
	load(&s);
	assert_int_equal(nr, 0);
	sqlite3_trace_v2(f->sql, 0, NULL, NULL);
	fixture_sql(f, "UPDATE job_interval SET misses = 77 WHERE interval_id = 4");
	load(&s);
	assert_string_equal(shown(&s.moment, &s.moment.jobs[0], TOP_MISSES), "77");
	top_session_end(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_worst_moment),
		TEST(other_runs),
		TEST(jobs_of_all_runs),
		TEST(only_what_changed_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
