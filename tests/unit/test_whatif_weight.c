/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: readaheadcheck advisor */
/* The weights of traced files: sums over a sample, compared with the counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "advisor/readahead/whatif_readahead.h"
#include "whatif_db.h"

#define COUNTERS                                                                                   \
	"demand_pages, prefetched_sync, prefetched_async, prefetched_willneed, "                   \
	"prefetched_readahead2, prefetched_mmap_around"

/* The counters of the job; the rows of its files follow. */
static void add_counters(sqlite3 *db, long pages)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "DROP TABLE job; CREATE TABLE job(id INTEGER PRIMARY KEY, run_id, " COUNTERS ");"
		 "CREATE TABLE file(job_id, dev_major, dev_minor, ino, gen, size_bytes, " COUNTERS
		 ");"
		 "INSERT INTO job VALUES(1, 1, 0, %ld, 0, 0, 0, 0);",
		 pages);
	run(db, sql);
}

/* Gets the inode number of a traced file. */
static void add_row(sqlite3 *db, int ino, const char *size_bytes, const char *pages)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "INSERT INTO file VALUES(1, 8, 1, %d, 0, %s, 0, %s, 0, 0, 0, 0)",
		 ino, size_bytes, pages);
	run(db, sql);
}

static double read_pages(const struct whatif_readahead *w, const char *setting,
			 struct whatif_sum *ret)
{
	whatif_readahead_sum(w, false, setting ? (size_t)candidate(setting) : WHATIF_ACTUAL, ret);
	assert_true(ret->known);
	return ret->figure[WHATIF_MISSES] + ret->figure[WHATIF_PREFETCHED];
}

/* Except the last bits: a machine with fused multiply-add rounds once. */
static bool no_doubt(const struct whatif_sum *s, int figure)
{
	return s->error[figure] >= 0 && s->error[figure] < 1e-6;
}

/* A stratum of about 30 files: their number is an estimate, so an error remains, whether or not
 * they are alike. */
static void numbers_of_files_leave_a_doubt(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum s;
	double alike;

	add_file(db, 1, "seq_64k", 128, "3", "10.0");
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_FILES);
	whatif_readahead_sum(&w, false, WHATIF_ACTUAL, &s);
	assert_true(s.error[WHATIF_PREFETCHED] < 0);
	whatif_readahead_free(&w);

	add_file(db, 2, "seq_64k", 128, "3", "10.0");
	w = load(db);
	assert_true(read_pages(&w, NULL, &s) == 20.0 * 4097);
	alike = s.error[WHATIF_PREFETCHED];
	assert_true(alike > 4097);
	whatif_readahead_free(&w);

	run(db, "UPDATE traced_file SET stands_for = 1");
	w = load(db);
	assert_true(read_pages(&w, NULL, &s) == 2.0 * 4097);
	assert_true(no_doubt(&s, WHATIF_PREFETCHED));
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* Two of a stratum's 25 files are traced, which are estimated as 20: the counters give the true
 * sum. */
static void what_was_brought_makes_the_sum(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum s;

	add_file(db, 1, "seq_64k", 128, "3", "10.0");
	add_file(db, 2, "seq_64k", 128, "3", "10.0");
	add_counters(db, 25 * 4097 + 7);
	for (int i = 1; i <= 25; i++)
		add_row(db, i, "16777316 >> 4", "4097");
	add_row(db, 26, "100", "7"); /* of another size */
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_SIZE);
	assert_true(w.files[0].stands_for == 10 && w.files[0].counts_for == 12.5);
	assert_true(read_pages(&w, NULL, &s) == 25.0 * 4097);
	assert_true(no_doubt(&s, WHATIF_PREFETCHED) && no_doubt(&s, WHATIF_STALLS));
	assert_true(read_pages(&w, "random", &s) == 25.0 * 4097);
	assert_true(no_doubt(&s, WHATIF_STALLS));
	whatif_readahead_free(&w);

	/* A different one that brought as much. */
	add_file(db, 3, "midfile", 128, "3", "10.0");
	w = load(db);
	read_pages(&w, NULL, &s);
	assert_true(s.error[WHATIF_PREFETCHED] > 0);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* A file that was chosen because it was read much represents only itself. */
static void files_read_much_are_not_of_the_sample(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum s;

	add_file(db, 1, "seq_64k", 128, "4", "2.0");
	add_file(db, 2, "seq_64k", 128, "NULL", "1.0");
	add_counters(db, 4 * 4097);
	for (int i = 1; i <= 4; i++)
		add_row(db, i, "16777316", "4097");
	w = load(db);
	assert_true(w.files[0].counts_for == 3 && w.files[1].counts_for == 1);
	assert_true(read_pages(&w, NULL, &s) == 4.0 * 4097);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* Most files have no row: the sample is scaled to the pages that the job brought; the only file
 * of a stratum counts as itself. */
static void jobs_of_many_files_have_their_sum(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum s;

	add_file(db, 1, "seq_64k", 128, "3", "10.0");
	add_file(db, 2, "seq_64k", 128, "3", "10.0");
	add_file(db, 3, "seq_64k", 128, "5", "1.0");
	add_counters(db, 31 * 4097);
	add_row(db, 2, "16777316 >> 4", "4097");
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_JOB);
	assert_true(w.files[0].counts_for == 15 && w.files[2].counts_for == 1);
	assert_true(read_pages(&w, NULL, &s) == 31.0 * 4097);
	assert_true(no_doubt(&s, WHATIF_PREFETCHED));
	whatif_readahead_free(&w);

	/* Without an answer its pages are unknown, so the sample cannot be compared with the
	 * counters. */
	run(db,
	    "UPDATE traced_file SET state = 'broken', reason = 'the ring was full' WHERE id = 1");
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_FILES);
	assert_true(read_pages(&w, NULL, &s) == 11.0 * 4097);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* A file without an answer is in no sum, and no other file represents its pages. */
static void others_do_not_stand_for_what_has_no_answer(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum s;

	add_file(db, 1, "seq_64k", 128, "3", "10.0");
	add_file(db, 2, "seq_64k", 128, "3", "10.0");
	add_counters(db, 30 * 4097);
	for (int i = 1; i <= 30; i++)
		add_row(db, i, "16777316 >> 4", "4097");
	run(db,
	    "UPDATE traced_file SET state = 'broken', reason = 'the ring was full' WHERE id = 2");
	w = load(db);
	assert_true(read_pages(&w, NULL, &s) == 15.0 * 4097);
	assert_true(s.error[WHATIF_PREFETCHED] > 0);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

static void counters_that_are_missing_scale_nothing(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;

	add_file(db, 1, "seq_64k", 128, "3", "10.0");
	add_counters(db, 4097);
	add_row(db, 1, "16777316", "4097");
	run(db, "UPDATE job SET prefetched_async = NULL");
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_FILES);
	assert_true(w.files[0].counts_for == 10);
	whatif_readahead_free(&w);
	run(db, "UPDATE job SET prefetched_async = 0; UPDATE file SET prefetched_sync = NULL");
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_FILES);
	whatif_readahead_free(&w);
	run(db, "UPDATE file SET prefetched_sync = 4097, ino = 9, size_bytes = NULL");
	w = load(db);
	assert_int_equal(w.scale, WHATIF_BY_FILES);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* A database may contain any values. */
static void a_stratum_that_there_is_not(void **state)
{
	static const char *const strata[] = {"8", "1 << 40", "-1"};

	for (int i = 0; i < 3; i++) {
		sqlite3 *db = new_db("6.18.1");
		struct whatif_readahead w;
		struct whatif_sum s;

		add_file(db, 1, "seq_64k", 128, strata[i], "2.0");
		add_counters(db, 4097);
		add_row(db, 1, "16777316", "4097");
		w = load(db);
		assert_int_equal(w.scale, WHATIF_BY_SIZE);
		assert_true(w.files[0].counts_for == 2);
		assert_true(read_pages(&w, NULL, &s) == 2.0 * 4097);
		whatif_readahead_free(&w);
		sqlite3_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_files_leave_a_doubt),
		cmocka_unit_test(what_was_brought_makes_the_sum),
		cmocka_unit_test(files_read_much_are_not_of_the_sample),
		cmocka_unit_test(jobs_of_many_files_have_their_sum),
		cmocka_unit_test(others_do_not_stand_for_what_has_no_answer),
		cmocka_unit_test(counters_that_are_missing_scale_nothing),
		cmocka_unit_test(a_stratum_that_there_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
