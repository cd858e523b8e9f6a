/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* The lengths of sleeps, of a job and of its files: added up, and removed where they are given up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>

#include "test_store_fixture.h"

static void write_sleeps(struct fixture *f, uint64_t n, uint64_t shortest, uint64_t longest)
{
	/* A file of both samples, and one that has no row. */
	const struct sample_wait waits[] = {
		{{.ino = 103, .dev = 259 << 20 | 3, .gen = 9}, {{shortest, 2}}},
		{{.ino = 103, .dev = 259 << 20 | 3, .gen = 8}, {{1}}},
	};
	struct test_sample t;

	test_sample(&t, n, 12);
	t.s.waits = waits;
	t.s.nr_waits = 2;
	t.s.jobs[JOB_WATCHED].sleeps[0] = shortest;
	t.s.jobs[JOB_WATCHED].sleeps[WAIT_BUCKETS - 1] = longest;
	ledger_apply(f->l, &t.s);
	assert_int_equal(store_write(f->st, f->l, &t.s, &f->err), 0);
}

/* Sums since the start of the run, without empty buckets; removed if stalls turns out unmeasured.
 */
static void test_lengths_of_sleeps(void **state)
{
	static const struct store_unmeasured now[] = {{"stalls", "the probe missed events"}};
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();
	struct store_measured measured;

	run.measured.counter[JOB_WATCHED][C_stalls] = true;
	measured = run.measured;
	begin(f, &run, NULL);
	write_sleeps(f, 0, 0, 5);
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram"), 1);
	write_sleeps(f, 1, 3, 7);
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram JOIN job ON job.id = job_id "
				 "WHERE slot = 1"),
			 2);
	assert_int_equal(ask(db, "SELECT sleeps FROM wait_histogram WHERE from_ns = 0 AND "
				 "to_ns = 2048"),
			 3);
	assert_int_equal(ask(db, "SELECT sleeps FROM wait_histogram WHERE from_ns = 8589934592 AND "
				 "to_ns IS NULL"),
			 7);
	/* The waits of a file are added up. */
	assert_int_equal(ask(db, "SELECT count(*) FROM file_wait JOIN file ON file.id = file_id "
				 "WHERE ino = 103 AND gen = 9"),
			 2);
	assert_int_equal(ask(db, "SELECT count(*) FROM file_wait"), 2);
	assert_int_equal(ask(db, "SELECT sleeps FROM file_wait WHERE from_ns = 2048 AND "
				 "to_ns = 4096"),
			 4);
	measured.counter[JOB_WATCHED][C_stalls] = false;
	end_ok(f,
	       &(struct store_end){.measured = &measured, .unmeasured = now, .nr_unmeasured = 1});
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram"), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM file_wait"), 0);
	assert_true(is_sound(db));
}

/* A row that the store did not write: if a later interval deletes the rows again, it is gone. */
static void leave_a_wait(const char *db)
{
	assert_int_equal(ask(db, "INSERT INTO wait_histogram SELECT id, 0, 2048, 1 FROM job WHERE "
				 "slot = 1 RETURNING 1"),
			 1);
}

/* The rows are deleted once, with the first interval that is written after the waits are given up.
 */
static void test_lengths_of_sleeps_are_dropped_once(void **state)
{
	bool gone[C_NR] = {[C_stalls] = true};
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct store_run run = test_run();
	sqlite3 *other;

	begin(f, &run, NULL);
	write_sleeps(f, 0, 1, 5);
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram"), 2);
	store_measure_no_more(f->st, f->l, gone, "they cost too much");
	assert_int_equal(sqlite3_open_v2(db, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(write_one(f, 1, 12), -EBUSY);
	sqlite3_close(other);
	write_ok(f, 2, 12);
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram"), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM file_wait"), 0);
	leave_a_wait(db);
	write_ok(f, 3, 12);
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram"), 1);
}

/* A run that never measured waits has nothing to delete. */
static void test_lengths_of_sleeps_never_measured(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct store_run run = test_run();

	run.measured.counter[JOB_WATCHED][C_stalls] = false;
	begin(f, &run, NULL);
	leave_a_wait(db);
	write_ok(f, 0, 12);
	assert_int_equal(ask(db, "SELECT count(*) FROM wait_histogram"), 1);
}

/* Each file of the sample has waits of every length. */
static void write_waiting_files(struct fixture *f, uint64_t n, uint64_t spread)
{
	struct sample_wait waits[SAMPLE_FILES] = {0};
	struct test_sample t;

	test_sample(&t, n, spread);
	for (int i = 0; i < SAMPLE_FILES; i++) {
		waits[i].file = t.files[i].key;
		for (int w = 0; w < WAIT_BUCKETS; w++)
			waits[i].row.sleeps[w] = 1;
	}
	t.s.waits = waits;
	t.s.nr_waits = SAMPLE_FILES;
	ledger_apply(f->l, &t.s);
	assert_int_equal(store_write(f->st, f->l, &t.s, &f->err), 0);
}

/* Few rows for many files: folded files leave the table, and all sums stay right. */
static void test_folded_files_leave(void **state)
{
	struct ledger_limits limits = ledger_limits_default();
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct store_run run = test_run();

	limits.files = 7;
	limits.directories = 4;
	limits.active = 3;
	begin(f, &run, &limits);
	for (uint64_t n = 0; n < 60; n++) {
		write_waiting_files(f, n, 200);
		assert_true(ask(db, "SELECT count(*) FROM file") <= 7);
		assert_in_range(ask(db, "SELECT count(*) FROM file_wait"), 1, 7 * WAIT_BUCKETS);
	}
	end_ok(f, &(struct store_end){0});
	assert_true(adds_up(db));
	assert_true(is_sound(db));
	assert_int_equal(ask(db, "SELECT misses FROM job WHERE slot = 1"), test_misses(60));
	assert_int_equal(ask(db, "SELECT sum(files) FROM directory"), 182);
	assert_int_equal(ask(db, "SELECT max(n) <= 3 FROM (SELECT count(*) AS n FROM "
				 "file_interval GROUP BY interval_id)"),
			 1);
	assert_int_equal(ask(db, "SELECT subdirectories FROM directory WHERE path = x'2f'"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_lengths_of_sleeps),
		STORE_TEST(test_lengths_of_sleeps_are_dropped_once),
		STORE_TEST(test_lengths_of_sleeps_never_measured),
		STORE_TEST(test_folded_files_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
