/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Merging old intervals keeps the sums and bounds the number of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_store_util.h"

struct fixture {
	struct scratch scratch;
	struct store *st;
	struct ledger *l;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->scratch = scratch_make();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->st);
	ledger_free(f->l);
	scratch_remove(&f->scratch);
	free(f);
	return 0;
}

static struct store_limits small_limits(void)
{
	struct store_limits limits = store_limits_default();

	limits.full_ns = 30 * SECOND_NS;
	limits.full_rows = 1000;
	limits.minute_ns = 10 * SECOND_NS;
	limits.keep_ns = 200 * SECOND_NS;
	limits.quarter_ns = 50 * SECOND_NS;
	return limits;
}

static void begin(struct fixture *f, const struct store_limits *limits, uint64_t interval_ns)
{
	const struct store_config c = {.path = f->scratch.db, .limits = limits};
	struct store_run run = test_run();
	struct errtext err;

	run.interval_ns = interval_ns;
	assert_int_equal(ledger_new(NULL, &f->l), 0);
	if (store_open(&c, &f->st, &err) || store_begin(f->st, &run, &err))
		fail_msg("%s", err.text);
}

static void write_one(struct fixture *f, uint64_t n, uint64_t spread, uint64_t step_ns)
{
	struct errtext err;
	struct test_sample t;

	test_sample(&t, n, spread);
	t.s.start_ns = n * step_ns;
	t.s.duration_ns = step_ns;
	t.s.read_on_ns = step_ns / 2;
	ledger_apply(f->l, &t.s);
	if (store_write(f->st, f->l, &t.s, &err))
		fail_msg("%s", err.text);
}

/* Four fine intervals become one of the length of the later ones, which becomes the run's
 * interval. */
static void test_fine_beginning(void **state)
{
	const uint64_t fine_ns = SECOND_NS / 4;
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct errtext err;
	struct test_sample t;

	begin(f, NULL, fine_ns);
	for (uint64_t n = 0; n < 480; n++)
		write_one(f, n, 20, fine_ns);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval"), 480);
	store_coarsen(f->st, SECOND_NS);
	for (uint64_t n = 480; n < 490; n++) {
		test_sample(&t, n, 20);
		t.s.start_ns = (n - 360) * SECOND_NS;
		t.s.duration_ns = SECOND_NS;
		ledger_apply(f->l, &t.s);
		assert_int_equal(store_write(f->st, f->l, &t.s, &err), 0);
	}
	/* Each interval merges some rows, in order. */
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 4"), 10);
	assert_int_equal(ask(db, "SELECT interval_ns FROM run"), SECOND_NS);
	assert_int_equal(store_end(f->st, f->l, &(struct store_end){0}, &err), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval"), 130);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 4 AND "
				 "start_ns % 1000000000 = 0 AND duration_ns = 1000000000"),
			 120);
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i "
				 "JOIN job ON job.id = job_id WHERE slot = 1"),
			 test_misses(490));
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file_interval"),
			 test_misses(490) - 2 * 490);
}

/* Marks add rows to the fine beginning faster than merging removes rows. */
static void test_crowded_beginning(void **state)
{
	const uint64_t fine_ns = SECOND_NS / 40, nr_fine = 120 * 40, nr = nr_fine + 1100;
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct errtext err;
	struct test_sample t;

	begin(f, NULL, SECOND_NS / 4);
	for (uint64_t n = 0; n < nr_fine; n++)
		write_one(f, n, 2, fine_ns);
	store_coarsen(f->st, SECOND_NS);
	for (uint64_t n = nr_fine; n < nr; n++) {
		test_sample(&t, n, 2);
		t.s.start_ns = (n - nr_fine + 120) * SECOND_NS;
		t.s.duration_ns = SECOND_NS;
		ledger_apply(f->l, &t.s);
		assert_int_equal(store_write(f->st, f->l, &t.s, &err), 0);
	}
	assert_int_equal(store_end(f->st, f->l, &(struct store_end){0}, &err), 0);
	assert_int_equal(ask(db, "SELECT sum(rolled) FROM interval"), nr);
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i "
				 "JOIN job ON job.id = job_id WHERE slot = 1"),
			 test_misses(nr));
}

static void test_sums_stay(void **state)
{
	const struct store_limits limits = small_limits();
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const uint64_t nr = 1000;

	begin(f, &limits, SECOND_NS);
	for (uint64_t n = 0; n < nr; n++) {
		write_one(f, n, 20, SECOND_NS);
		if (n % 50 == 49) {
			assert_int_equal(ask(db, "SELECT sum(rolled) FROM interval"), n + 1);
			assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i "
						 "JOIN job ON job.id = job_id WHERE slot = 1"),
					 test_misses(n + 1));
			/* All files of an interval fit: their rows stay too. */
			assert_int_equal(ask(db, "SELECT sum(misses) FROM file_interval"),
					 test_misses(n + 1) - 2 * ((int64_t)n + 1));
			assert_int_equal(ask(db, "SELECT sum(misses) FROM directory_interval"),
					 test_misses(n + 1));
		}
	}
	assert_int_equal(ask(db, "SELECT sum(duration_ns) FROM interval"), nr * SECOND_NS);
	assert_int_equal(ask(db, "SELECT sum(read_on_ns) FROM interval"), nr * SECOND_NS / 2);
	assert_int_equal(ask(db, "SELECT sum(cpu_ns) FROM job_interval"), nr * 1000);
	/* Full rows for the last 30 s, rows of 10 s up to 200 s, of 50 s before. */
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 1"), 30);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 10"), 17);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 50"), 16);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval"), 30 + 17 + 16);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled > 1 AND "
				 "start_ns % duration_ns != 0"),
			 0);
	/* No parts of the merged rows remain. */
	assert_int_equal(ask(db, "SELECT count(*) FROM job_interval"), 2 * (30 + 17 + 16));
	/* NULL (not measured) stays NULL through every merge. */
	assert_int_equal(ask(db, "SELECT count(delayed_hits) FROM job_interval"), 0);
	assert_true(is_sound(db));
}

static void test_merged_rows_keep_the_top_files(void **state)
{
	struct store_limits limits = small_limits();
	struct fixture *f = *state;
	const char *db = f->scratch.db;

	limits.file_rows = 8;
	limits.directory_rows = 2;
	begin(f, &limits, SECOND_NS);
	for (uint64_t n = 0; n < 400; n++)
		write_one(f, n, 100, SECOND_NS);
	assert_int_equal(ask(db, "SELECT max(n) FROM (SELECT count(*) AS n FROM file_interval "
				 "JOIN interval ON id = interval_id WHERE rolled = 10 AND "
				 "start_ns < 360000000000 GROUP BY interval_id)"),
			 8);
	assert_int_equal(ask(db, "SELECT max(n) FROM (SELECT count(*) AS n FROM file_interval "
				 "JOIN interval ON id = interval_id WHERE rolled = 50 AND "
				 "start_ns < 150000000000 GROUP BY interval_id)"),
			 8);
	assert_int_equal(ask(db, "SELECT max(n) FROM (SELECT count(*) AS n FROM directory_interval "
				 "JOIN interval ON id = interval_id WHERE rolled = 10 AND "
				 "start_ns < 360000000000 GROUP BY interval_id)"),
			 2);
	/* Rows of jobs are never trimmed. */
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i "
				 "JOIN job ON job.id = job_id WHERE slot = 1"),
			 test_misses(400));
}

/* As many processes as an interval keeps, each with the sum of its waits and reads. */
static void test_merged_rows_keep_the_top_processes(void **state)
{
	struct store_limits limits = small_limits();
	struct fixture *f = *state;
	const char *db = f->scratch.db;

	limits.process_rows = 2;
	begin(f, &limits, SECOND_NS);
	for (uint64_t n = 0; n < 200; n++) {
		const struct sample_process processes[] = {
			{.pid = 5, .row = {500, 5, 5000, 50, "five"}},
			{.pid = 4, .row = {400, 4, 4000, 40, "four"}},
			{.pid = 3, .row = {300, 3, 3000, 30, "three"}},
		};
		struct test_sample t;
		struct errtext err;

		test_sample(&t, n, 10);
		t.s.processes = processes;
		t.s.nr_processes = 3;
		ledger_apply(f->l, &t.s);
		assert_int_equal(store_write(f->st, f->l, &t.s, &err), 0);
	}
	assert_int_equal(ask(db, "SELECT count(*) FROM process_interval JOIN interval ON id = "
				 "interval_id WHERE rolled = 1 AND command = 'three' AND pid = 3"),
			 ask(db, "SELECT count(*) FROM interval WHERE rolled = 1"));
	assert_int_equal(ask(db, "SELECT max(n) FROM (SELECT count(*) AS n FROM process_interval "
				 "JOIN interval ON id = interval_id WHERE rolled = 10 AND "
				 "start_ns < 160000000000 GROUP BY interval_id)"),
			 2);
	assert_int_equal(ask(db, "SELECT sum(stall_ns) FROM process_interval WHERE pid = 5"),
			 200 * 500);
	assert_int_equal(ask(db, "SELECT sum(stalls) FROM process_interval WHERE pid = 4"),
			 200 * 4);
	assert_int_equal(ask(db, "SELECT sum(rchar_bytes) FROM process_interval WHERE pid = 5"),
			 200 * 5000);
	assert_int_equal(ask(db, "SELECT sum(syscr_calls) FROM process_interval WHERE pid = 4"),
			 200 * 40);
}

/* A timeline of short intervals is bounded by its rows, not by its time. */
static void test_short_intervals(void **state)
{
	struct store_limits limits = small_limits();
	struct fixture *f = *state;
	const char *db = f->scratch.db;

	limits.full_rows = 50;
	begin(f, &limits, SECOND_NS / 10);
	for (uint64_t n = 0; n < 600; n++)
		write_one(f, n, 20, SECOND_NS / 10);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 1"), 50);
	assert_int_equal(ask(db, "SELECT sum(rolled) FROM interval"), 600);
}

/* The second merge never overtakes the first, even if it is due at once. */
static void test_tiers_that_meet(void **state)
{
	struct store_limits limits = small_limits();
	struct fixture *f = *state;
	const char *db = f->scratch.db;

	limits.keep_ns = SECOND_NS;
	begin(f, &limits, SECOND_NS);
	for (uint64_t n = 0; n < 300; n++)
		write_one(f, n, 20, SECOND_NS);
	assert_int_equal(ask(db, "SELECT sum(rolled) FROM interval"), 300);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 50"), 5);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval WHERE rolled = 1"), 30);
	assert_int_equal(ask(db, "SELECT sum(i.misses) FROM job_interval AS i JOIN job ON "
				 "job.id = job_id WHERE slot = 1"),
			 test_misses(300));
	assert_true(is_sound(db));
}

/* Intervals longer than a bucket are not merged. */
static void test_long_intervals(void **state)
{
	const struct store_limits limits = small_limits();
	struct fixture *f = *state;

	begin(f, &limits, 60 * SECOND_NS);
	for (uint64_t n = 0; n < 50; n++)
		write_one(f, n, 20, 60 * SECOND_NS);
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM interval WHERE rolled = 1"), 50);
}

#define ROLLUP_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROLLUP_TEST(test_fine_beginning),
		ROLLUP_TEST(test_crowded_beginning),
		ROLLUP_TEST(test_sums_stay),
		ROLLUP_TEST(test_merged_rows_keep_the_top_files),
		ROLLUP_TEST(test_merged_rows_keep_the_top_processes),
		ROLLUP_TEST(test_short_intervals),
		ROLLUP_TEST(test_tiers_that_meet),
		ROLLUP_TEST(test_long_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
