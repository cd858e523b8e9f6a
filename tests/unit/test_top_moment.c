/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: top report account access */
/* The values read for a moment of a run: which intervals, rates, absent values, estimates,
 * bounds. */
#include "fixtures/report/top.h"

static const struct top_row *row_of(const struct top_moment *m, const char *name)
{
	for (size_t i = 0; i < m->nr_rows; i++)
		if (bytes_is(&m->rows[i].name, name) || !strcmp(m->rows[i].lead, name))
			return &m->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void expect_shown(const struct top_moment *m, const char *name, enum top_column c,
			 const char *text)
{
	const char *is = shown(m, row_of(m, name), c);

	if (strcmp(is, text) != 0)
		fail_msg("%s, %s: '%s', not '%s'", name, top_column_info(c)->heading, is, text);
}

static void no_interval_yet(void **state)
{
	struct top_moment m = moment_at(*state, TOP_FILES, TOP_NEWEST, 0);

	assert_int_equal(m.nr_history, 0);
	assert_int_equal(m.nr_rows, 0);
	assert_true(m.newest);
	top_moment_free(&m);
	m = moment_at(*state, TOP_JOBS, 5 * S, -3);
	assert_int_equal(m.nr_rows, 0);
	top_moment_free(&m);
}

static void no_such_run(void **state)
{
	struct top_ask ask = {.run_id = 7, .at_ns = TOP_NEWEST};
	struct fixture *f = *state;
	struct top_moment m;
	struct errtext err = {""};

	assert_true(top_moment_load(f->sql, &ask, &m, &err) < 0);
	assert_non_null(strstr(err.text, "no run 7"));
}

static void moments_are_found(void **state)
{
	static const struct {
		int64_t at_ns;
		int steps;
		int64_t start;
		bool newest;
	} asked[] = {
		{TOP_NEWEST, 0, 9, true}, {TOP_NEWEST, -1, 8, false}, {TOP_NEWEST, -100, 0, false},
		{TOP_NEWEST, 5, 9, true}, {0, 0, 0, false},	      {S - 1, 0, 0, false},
		{S, 0, 1, false},	  {3 * S, 1, 4, false},	      {3 * S, -1, 2, false},
		{3 * S, 100, 9, true},	  {3 * S, -100, 0, false},    {1000 * S, 0, 9, true},
		{1000 * S, -1, 8, false},
	};

	ten_seconds(*state);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct top_moment m = moment_at(*state, TOP_JOBS, asked[i].at_ns, asked[i].steps);

		assert_int_equal(m.history[0].start_ns, asked[i].start * S);
		assert_int_equal(m.nr_history, asked[i].start + 1);
		assert_int_equal(m.newest, asked[i].newest);
		assert_int_equal(m.nr_window, 1);
		assert_int_equal(top_moment_end_ns(&m), (asked[i].start + 1) * S);
		top_moment_free(&m);
	}
}

static void figures_are_rates(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_interval(f, 1, 0, 4 * S, 4 * S);
	made_job(f, 1, 1, 800, 200, 1000);
	made_job(f, 1, 2, 1, 0, 0);
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	expect_shown(&m, "train", TOP_LOOKUPS, "200");
	expect_shown(&m, "train", TOP_MISSES, "50");
	expect_shown(&m, "train", TOP_HITS, "75.0 %");
	expect_shown(&m, "train", TOP_CPU, "0.12");
	/* Not measured is not 0. */
	expect_shown(&m, "train", TOP_EVICTED, "-");
	expect_shown(&m, "train", TOP_ACCURACY, "-");
	/* A quarter per second is more than 0, and 0 is 0. */
	expect_shown(&m, "(others)", TOP_LOOKUPS, "<1");
	expect_shown(&m, "(others)", TOP_MISSES, "0");
	top_moment_free(&m);
}

static void job_without_a_row(void **state)
{
	struct top_moment m;

	made_interval(*state, 1, 0, S, S);
	m = moment_at(*state, TOP_JOBS, TOP_NEWEST, 0);
	/* A missing row does not mean that it did nothing. */
	expect_shown(&m, "train", TOP_LOOKUPS, "-");
	expect_shown(&m, "train", TOP_CPU, "-");
	top_moment_free(&m);
}

static void short_intervals_are_one(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	/* The maps filled at 1.3 and 1.6: the interval that ends at 2 counts as the whole
	 * second. */
	made_interval(f, 1, 0, S, S);
	made_interval(f, 2, S, 3 * S / 10, 3 * S / 10);
	made_interval(f, 3, 13 * S / 10, 3 * S / 10, 3 * S / 10);
	made_interval(f, 4, 16 * S / 10, 4 * S / 10, 4 * S / 10);
	for (int i = 1; i <= 4; i++)
		made_job(f, i, 1, 10, 1, 1000);
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	assert_int_equal(m.nr_window, 3);
	assert_int_equal(m.duration_ns, S);
	expect_shown(&m, "train", TOP_LOOKUPS, "30");
	expect_shown(&m, "train", TOP_MISSES, "3");
	top_moment_free(&m);
}

static void sliced(struct fixture *f)
{
	fixture_sql(f, "UPDATE run SET level = 'auto', sliced = 1");
	/* On for a tenth of a second, in which a quarter of the bytes was read. */
	made_interval(f, 1, 0, S, S);
	made_interval(f, 2, S, 9 * S / 10, 0);
	made_interval(f, 3, 19 * S / 10, S / 10, S / 10);
	made_job(f, 1, 1, 500, 50, 1000);
	made_job(f, 2, 1, 0, 60, 3000);
	made_job(f, 3, 1, 100, 20, 1000);
}

/* Values that only the hook measures are unknown if it was off at any time of the moment. */
static void sliced_is_absent(void **state)
{
	struct top_moment m;

	sliced(*state);
	m = moment_at(*state, TOP_JOBS, TOP_NEWEST, 0);
	assert_int_equal(m.nr_window, 2);
	/* Misses are exact: 80. */
	expect_shown(&m, "train", TOP_MISSES, "80");
	expect_shown(&m, "train", TOP_LOOKUPS, "-");
	expect_shown(&m, "train", TOP_HITS, "-");
	top_moment_free(&m);
	/* In the first second the hook was on throughout. */
	m = moment_at(*state, TOP_JOBS, 0, 0);
	expect_shown(&m, "train", TOP_LOOKUPS, "500");
	top_moment_free(&m);
}

static void never_seen_is_absent(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	fixture_sql(f, "UPDATE run SET level = 'auto', sliced = 1");
	for (int i = 0; i < 20; i++) {
		made_interval(f, i + 1, i * S, S, 0);
		made_job(f, i + 1, 1, 0, 5, 1000);
	}
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	expect_shown(&m, "train", TOP_MISSES, "5");
	expect_shown(&m, "train", TOP_LOOKUPS, "-");
	expect_shown(&m, "train", TOP_HITS, "-");
	top_moment_free(&m);
}

static void merged_slices_are_absent(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	fixture_sql(f, "UPDATE run SET level = 'auto', sliced = 1");
	made_interval(f, 1, 0, 60 * S, 6 * S);
	made_job(f, 1, 1, 100, 60, 1000);
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	expect_shown(&m, "train", TOP_MISSES, "1");
	expect_shown(&m, "train", TOP_LOOKUPS, "-");
	top_moment_free(&m);
}

static void files_and_their_rest(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_files(f);
	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 100, 30, 1000);
	made_file(f, 1, 1, 40, 10);
	made_file(f, 1, 2, 30, 5);
	made_file(f, 1, 3, 20, 5);
	made_file(f, 1, 99, 1, 0);
	m = moment_at(f, TOP_FILES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 5);
	expect_shown(&m, "/a/one", TOP_LOOKUPS, "40");
	expect_shown(&m, "[no name, inode 13 on device 8:1]", TOP_MISSES, "5");
	expect_shown(&m, "[file no longer listed]", TOP_LOOKUPS, "1");
	expect_shown(&m, "[all other files]", TOP_LOOKUPS, "9");
	expect_shown(&m, "[all other files]", TOP_MISSES, "10");
	top_moment_free(&m);
	/* Each directory may contain other files. */
	m = moment_at(f, TOP_DIRECTORIES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 4);
	expect_shown(&m, "/a", TOP_LOOKUPS, ">=70");
	expect_shown(&m, "/a", TOP_MISSES, ">=15");
	expect_shown(&m, "/b", TOP_MISSES, ">=5");
	expect_shown(&m, "[all other files]", TOP_MISSES, "10");
	top_moment_free(&m);
}

/* Sums of directories are exact, whatever rows the files have. */
static void directories_are_exact(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_files(f);
	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 1000, 300, 1000);
	made_file(f, 1, 1, 40, 10);
	made_directory(f, 1, 1, 600, 200);
	made_directory(f, 1, 2, 390, 95);
	m = moment_at(f, TOP_DIRECTORIES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 3);
	expect_shown(&m, "/a", TOP_LOOKUPS, "600");
	expect_shown(&m, "/a", TOP_MISSES, "200");
	expect_shown(&m, "/b", TOP_MISSES, "95");
	expect_shown(&m, "[all other directories]", TOP_LOOKUPS, "10");
	expect_shown(&m, "[all other directories]", TOP_MISSES, "5");
	top_moment_free(&m);
	/* The course of a directory has the same sums. */
	m = moment_at(f, TOP_DIRECTORIES, TOP_NEWEST, 0);
	{
		static struct top_series series;
		struct errtext err;

		assert_int_equal(top_series_load(f->sql, &m, TOP_DIRECTORIES, 1, &series, &err), 0);
		assert_int_equal(counts_get(&series.counts[0], C_misses).value, 200);
	}
	top_moment_free(&m);
}

/* Of a directory of many small files, those without a row are one row. */
static void other_files_of_a_directory(void **state)
{
	struct top_ask ask = {.run_id = 1, .level = TOP_FILES, .at_ns = TOP_NEWEST, .directory = 1};
	struct fixture *f = *state;
	struct top_moment m;
	struct errtext err;

	made_files(f);
	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 1000, 300, 1000);
	made_file(f, 1, 1, 40, 10);
	made_file(f, 1, 2, 30, 5);
	made_directory(f, 1, 1, 600, 200);
	assert_int_equal(top_moment_load(f->sql, &ask, &m, &err), 0);
	assert_int_equal(m.nr_rows, 4);
	expect_shown(&m, "/a/[all other files]", TOP_LOOKUPS, "530");
	expect_shown(&m, "/a/[all other files]", TOP_MISSES, "185");
	expect_shown(&m, "[all other files]", TOP_MISSES, "285");
	top_moment_free(&m);
	/* One without a row in the interval, and one whose files all have rows. */
	ask.directory = 2;
	assert_int_equal(top_moment_load(f->sql, &ask, &m, &err), 0);
	assert_int_equal(m.nr_rows, 3);
	top_moment_free(&m);
	ask.directory = 1;
	fixture_sql(f, "UPDATE directory_interval SET lookups = 70, misses = 15");
	assert_int_equal(top_moment_load(f->sql, &ask, &m, &err), 0);
	assert_int_equal(m.nr_rows, 3);
	top_moment_free(&m);
}

/* In an old database without the table of directory sums, the sums come from its files. */
static void directories_of_before(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_files(f);
	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 100, 30, 1000);
	made_file(f, 1, 1, 40, 10);
	fixture_sql(f, "DROP TABLE directory_interval");
	m = moment_at(f, TOP_DIRECTORIES, TOP_NEWEST, 0);
	expect_shown(&m, "/a", TOP_MISSES, ">=10");
	expect_shown(&m, "[all other files]", TOP_MISSES, "20");
	top_moment_free(&m);
}

/* Processes with rows, and the time that the job waited in other processes; nothing else is known
 * about these. */
static void processes(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 100, 30, 1000);
	fixture_sql(f, "UPDATE job_interval SET stall_ns = 900000000, stalls = 90");
	m = moment_at(f, TOP_PROCESSES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 1);
	expect_shown(&m, "[not recorded]", TOP_WAITED, "900 ms");
	top_moment_free(&m);
	made_process(f, 1, 12, 600000000, 60);
	made_process(f, 1, 13, 200000000, 20);
	m = moment_at(f, TOP_PROCESSES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 3);
	expect_shown(&m, "12 worker", TOP_WAITED, "600 ms");
	expect_shown(&m, "12 worker", TOP_WAITS, "60");
	expect_shown(&m, "12 worker", TOP_MISSES, "-");
	expect_shown(&m, "12 worker", TOP_READ, "-");
	expect_shown(&m, "12 worker", TOP_CALLS, "-");
	expect_shown(&m, "13 worker", TOP_WAITED, "200 ms");
	expect_shown(&m, "[all other processes]", TOP_WAITED, "100 ms");
	expect_shown(&m, "[all other processes]", TOP_WAITS, "10");
	expect_shown(&m, "[all other processes]", TOP_READ, "-");
	expect_shown(&m, "[all other processes]", TOP_CALLS, "-");
	top_moment_free(&m);
	/* Reads of anything, which need no hook of the page cache. */
	made_process_reads(f, 12, 5 << 20, 80);
	made_process_reads(f, 13, 0, 0);
	fixture_sql(f, "UPDATE run SET level = 'auto', sliced = 1;"
		       "UPDATE interval SET read_on_ns = 0");
	m = moment_at(f, TOP_PROCESSES, TOP_NEWEST, 0);
	expect_shown(&m, "12 worker", TOP_READ, "5.00 MiB");
	expect_shown(&m, "12 worker", TOP_CALLS, "80");
	expect_shown(&m, "13 worker", TOP_READ, "0 B");
	expect_shown(&m, "13 worker", TOP_CALLS, "0");
	top_moment_free(&m);
	/* Databases of older versions, and a run without the hook. */
	fixture_sql(f, "ALTER TABLE process_interval DROP COLUMN rchar_bytes;"
		       "ALTER TABLE process_interval DROP COLUMN syscr_calls");
	m = moment_at(f, TOP_PROCESSES, TOP_NEWEST, 0);
	expect_shown(&m, "13 worker", TOP_READ, "-");
	top_moment_free(&m);
	fixture_sql(f, "UPDATE run SET level = 'full', sliced = 0;"
		       "UPDATE interval SET read_on_ns = duration_ns");
	fixture_sql(f, "DROP TABLE process_interval");
	m = moment_at(f, TOP_PROCESSES, TOP_NEWEST, 0);
	expect_shown(&m, "[not recorded]", TOP_WAITED, "900 ms");
	top_moment_free(&m);
	fixture_sql(f, "UPDATE job_interval SET stall_ns = NULL, stalls = NULL");
	m = moment_at(f, TOP_PROCESSES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 0);
	top_moment_free(&m);
}

static void all_files_have_rows(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_files(f);
	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 70, 15, 1000);
	made_file(f, 1, 1, 40, 10);
	made_file(f, 1, 2, 30, 5);
	m = moment_at(f, TOP_DIRECTORIES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 1);
	expect_shown(&m, "/a", TOP_MISSES, "15");
	top_moment_free(&m);
}

static void files_of_a_window_are_added_up(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_files(f);
	sliced(f);
	made_file(f, 2, 1, 0, 30);
	made_file(f, 2, 2, 0, 30);
	made_file(f, 3, 1, 100, 20);
	m = moment_at(f, TOP_FILES, TOP_NEWEST, 0);
	assert_int_equal(m.nr_rows, 2);
	expect_shown(&m, "/a/one", TOP_MISSES, "50");
	expect_shown(&m, "/a/two", TOP_MISSES, "30");
	expect_shown(&m, "/a/one", TOP_LOOKUPS, "-");
	expect_shown(&m, "/a/two", TOP_LOOKUPS, "-");
	top_moment_free(&m);
}

static void losses_are_lower_bounds(void **state)
{
	struct fixture *f = *state;
	struct top_moment m;

	made_files(f);
	made_interval(f, 1, 0, S, S);
	made_job(f, 1, 1, 70, 15, 1000);
	made_file(f, 1, 1, 70, 15);
	fixture_sql(f, "UPDATE run SET loss_map_full = 1");
	m = moment_at(f, TOP_FILES, TOP_NEWEST, 0);
	expect_shown(&m, "/a/one", TOP_MISSES, ">=15");
	top_moment_free(&m);
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	expect_shown(&m, "train", TOP_MISSES, "15");
	top_moment_free(&m);
	fixture_sql(f, "UPDATE run SET loss_state_drops = 1");
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	expect_shown(&m, "train", TOP_MISSES, ">=15");
	top_moment_free(&m);
}

static void an_open_run_goes_first(void **state)
{
	struct fixture *f = *state;
	int64_t run = 0;
	bool open = true;
	struct errtext err;

	assert_int_equal(top_session_find_run(f->sql, &run, &open, &err), 0);
	assert_int_equal(run, 1);
	assert_false(open);
	fixture_sql(
		f,
		"CREATE TEMP TABLE t AS SELECT * FROM run; UPDATE t SET id = 2, uuid = 'u-2'; "
		"INSERT INTO main.run SELECT * FROM t; UPDATE run SET state = 'open' WHERE id = 1");
	assert_int_equal(top_session_find_run(f->sql, &run, &open, &err), 0);
	assert_int_equal(run, 1);
	assert_true(open);
	fixture_sql(f, "DELETE FROM run");
	assert_true(top_session_find_run(f->sql, &run, &open, &err) < 0);
	assert_non_null(strstr(err.text, "no run yet"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_interval_yet),
		TEST(no_such_run),
		TEST(moments_are_found),
		TEST(figures_are_rates),
		TEST(job_without_a_row),
		TEST(short_intervals_are_one),
		TEST(sliced_is_absent),
		TEST(never_seen_is_absent),
		TEST(merged_slices_are_absent),
		TEST(files_and_their_rest),
		TEST(other_files_of_a_directory),
		TEST(directories_are_exact),
		TEST(files_of_a_window_are_added_up),
		TEST(directories_of_before),
		TEST(files_of_a_window_are_added_up),
		TEST(processes),
		TEST(all_files_have_rows),
		TEST(files_of_a_window_are_added_up),
		TEST(losses_are_lower_bounds),
		TEST(an_open_run_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
