/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: readaheadcheck advisor */
/* Traced files in a database: which ones get an answer, the sums with their intervals, the rows
 * for rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "advisor/analysis/fill.h"
#include "advisor/readahead/whatif_readahead.h"
#include "whatif_db.h"

static void settings_have_their_names(void **state)
{
	assert_int_equal(candidate("ra_kb=0"), 1);
	assert_int_equal(candidate("ra_kb=32"), 2);
	assert_int_equal(candidate("ra_kb=8192"), 10);
	assert_int_equal(candidate("random"), 11);
	assert_int_equal(candidate("sequential"), 12);
}

/* 4 KiB of every 1 MiB: windows that are never read; RANDOM wastes nothing and waits as often. */
static void random_is_best_for_random_reads(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum actual, random;

	add_file(db, 1, "random_64k", 1024, "NULL", "1.0");
	w = load(db);
	assert_int_equal(w.nr_judged, 1);
	assert_true(w.files[0].fidelity == 1);
	whatif_readahead_sum(&w, false, WHATIF_ACTUAL, &actual);
	whatif_readahead_sum(&w, false, (size_t)candidate("random"), &random);
	assert_true(actual.known && random.known);
	assert_true(random.figure[WHATIF_WASTED] == 0);
	assert_true(actual.figure[WHATIF_WASTED] >= 0);
	assert_true(random.error[WHATIF_MISSES] == 0);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* Larger pages give other windows and folios: no answer, with the reason. */
static void other_pages_are_refused(void **state)
{
	static const char *const sizes[] = {"UPDATE run SET page_size_bytes = 16384",
					    "UPDATE run SET page_size_bytes = 65536"};

	for (int i = 0; i < 2; i++) {
		sqlite3 *db = new_db("6.18.1");
		struct whatif_readahead w;

		add_file(db, 1, "seq_4k", 128, "NULL", "1.0");
		run(db, sizes[i]);
		w = load(db);
		assert_int_equal(w.nr_judged, 0);
		assert_string_equal(w.files[0].note, "the model handles only pages of 4 KiB");
		whatif_readahead_free(&w);
		sqlite3_close(db);
	}
}

static void larger_windows_are_best_for_a_scan(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;
	struct whatif_sum none, actual;
	int best;

	add_file(db, 1, "seq_4k", 128, "NULL", "1.0");
	w = load(db);
	whatif_readahead_sum(&w, false, (size_t)candidate("ra_kb=0"), &none);
	whatif_readahead_sum(&w, false, WHATIF_ACTUAL, &actual);
	assert_true(none.figure[WHATIF_STALLS] == 4097);
	assert_true(actual.figure[WHATIF_STALLS] == 1);
	assert_true(actual.figure[WHATIF_MISSES] + actual.figure[WHATIF_PREFETCHED] == 4097);
	/* It waits once with any window: the one with the fewest requests is best. */
	best = whatif_readahead_best(&w, false);
	assert_true(best > candidate("ra_kb=512"));
	for (size_t i = 0; i < WHATIF_CANDIDATES; i++) {
		const struct whatif_result *r = w.files[0].results;

		assert_true(r[best].figure[WHATIF_REQUESTS] <= r[i].figure[WHATIF_REQUESTS] ||
			    r[i].figure[WHATIF_STALLS] > 1);
	}
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

static int wasted_rows(sqlite3 *db)
{
	sqlite3_stmt *q;
	int ret;

	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT count(wasted) FROM temp.analysis_whatif_readahead",
				   -1, &q, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	ret = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	return ret;
}

/* The used pages of a mapping are not seen: no setting is said to waste any, and larger windows
 * are better for a file that is read to its end. */
static void mapped_use_is_not_known(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct errtext err = {0};
	struct whatif_readahead w;
	struct whatif_sum actual;

	add_file(db, 1, "mmap_seq", 128, "NULL", "1.0");
	w = load(db);
	whatif_readahead_sum(&w, true, WHATIF_ACTUAL, &actual);
	assert_true(actual.known && isnan(actual.figure[WHATIF_WASTED]));
	assert_true(actual.error[WHATIF_WASTED] < 0);
	assert_true(whatif_readahead_best(&w, true) > candidate("ra_kb=128"));
	assert_int_equal(fill_readahead(db, 1, &w, &err), 0);
	assert_int_equal(wasted_rows(db), 0);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* Fewer waits for a tenth more pages are better; for more pages than that they are not. */
static void larger_mapped_windows_have_a_price(void **state)
{
	struct whatif_file f = {.stratum = -1,
				.stands_for = 1,
				.counts_for = 1,
				.windows = 50,
				.judged = true,
				.counted = true,
				.mapped = true};
	struct whatif_readahead w = {.files = &f, .nr_files = 1, .nr_judged = 1};
	int larger = candidate("ra_kb=1024");

	(void)state;
	f.results[WHATIF_ACTUAL] = (struct whatif_result){true, {100, 900, 0, 50, 100}, 50};
	f.results[larger] = (struct whatif_result){true, {10, 1085, 0, 5, 10}, 5};
	assert_int_equal(whatif_readahead_best(&w, true), larger);
	f.results[larger].figure[WHATIF_PREFETCHED] = 1095;
	assert_int_equal(whatif_readahead_best(&w, true), WHATIF_ACTUAL);
}

static void mappings_have_larger_settings_alone(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;

	add_file(db, 1, "mmap_seq", 128, "NULL", "1.0");
	w = load(db);
	assert_true(w.files[0].judged);
	assert_true(w.files[0].mapped);
	assert_false(w.files[0].results[candidate("ra_kb=64")].known);
	assert_true(w.files[0].results[candidate("ra_kb=128")].known);
	assert_true(w.files[0].results[candidate("ra_kb=256")].known);
	assert_false(w.files[0].results[candidate("random")].known);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* One window, reproduced exactly: there is an answer, whatever the other files do. */
static void few_windows_have_an_answer(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;

	add_file(db, 1, "seq_4m", 1024, "5", "2.0");
	w = load(db);
	assert_true(w.files[0].windows > 0 && w.files[0].windows < 8);
	assert_true(w.files[0].fidelity == 1);
	assert_int_equal(w.nr_judged, 1);
	assert_true(w.files[0].results[candidate("ra_kb=128")].known);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* Without a window there is no answer, but the file counts: half of its stratum read nothing. */
static void cached_files_count_as_nothing(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_sum s;
	struct whatif_readahead w;

	add_file(db, 1, "seq_64k", 128, "3", "10.0");
	add_file(db, 2, "seq_64k", 128, "3", "10.0");
	run(db, "DELETE FROM trace_chunk WHERE traced_file_id = 2;"
		"UPDATE traced_file SET began = 'warm' WHERE id = 2");
	w = load(db);
	assert_int_equal(w.nr_judged, 1);
	assert_int_equal(w.files[1].reason, WHATIF_CACHED);
	assert_non_null(strstr(w.files[1].note, "in the cache"));
	whatif_readahead_sum(&w, false, WHATIF_ACTUAL, &s);
	assert_true(s.known);
	assert_true(s.figure[WHATIF_MISSES] + s.figure[WHATIF_PREFETCHED] == 10.0 * 4097);
	assert_true(s.error[WHATIF_PREFETCHED] > 4097);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

static void one_that_gave_way_is_counted_apart(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;

	add_file(db, 1, "seq_64k", 128, "3", "2.0");
	add_file(db, 2, "seq_64k", 128, "3", "NULL");
	run(db,
	    "UPDATE traced_file SET state = 'broken', reason = '" TRACE_GAVE_WAY "' WHERE id = 2");
	w = load(db);
	assert_int_equal(w.nr_judged, 1);
	assert_int_equal(w.nr_gave_way, 1);
	assert_int_equal(w.files[1].reason, WHATIF_GAVE_WAY);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

static void no_answer_has_a_reason(void **state)
{
	sqlite3 *db = new_db("6.12.3"); /* the recording is of 6.18 */
	struct whatif_readahead w;
	struct errtext err = {0};
	sqlite3_stmt *q;

	w = load(db);
	assert_int_equal(w.nr_files, 0);
	assert_true(w.absent[0]);
	add_file(db, 1, "seq_4k", 128, "NULL", "1.0");
	w = load(db);
	assert_int_equal(w.nr_judged, 0);
	assert_true(w.files[0].fidelity >= 0 && w.files[0].fidelity < WHATIF_LEAST_FIDELITY);
	assert_non_null(strstr(w.files[0].note, "95 %"));
	assert_int_equal(whatif_readahead_best(&w, false), -1);
	assert_int_equal(fill_readahead(db, 1, &w, &err), 0);
	whatif_readahead_free(&w);
	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "SELECT count(*), sum(actual), count(misses), count(note) "
				   "FROM temp.analysis_whatif_readahead",
				   -1, &q, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(q, 0), 1);
	assert_int_equal(sqlite3_column_int(q, 1), 1);
	assert_int_equal(sqlite3_column_int(q, 2), 0);
	assert_int_equal(sqlite3_column_int(q, 3), 1);
	sqlite3_finalize(q);

	run(db, "UPDATE run SET kernel = '6.7.1'");
	w = load(db);
	assert_non_null(strstr(w.files[0].note, "not modelled"));
	whatif_readahead_free(&w);
	run(db,
	    "UPDATE run SET kernel = '6.18.1'; UPDATE traced_file SET state = 'broken', reason = "
	    "'the ring was full'");
	w = load(db);
	assert_int_equal(w.nr_judged, 0);
	assert_non_null(strstr(w.files[0].note, "the ring was full"));
	whatif_readahead_free(&w);
	run(db, "UPDATE trace_chunk SET data = x'ffffffff'");
	w = load(db);
	assert_int_equal(w.nr_judged, 0);
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

/* Replaces the trace of file 1 with an open and one event. */
static void put_event(sqlite3 *db, const struct trace_event *e)
{
	struct trace_event open = {.kind = TRACE_OPEN, .pos = 1 << 24, .ra_pages = 32};
	struct trace_coder c = {0};
	uint8_t data[2 * TRACE_EVENT_BYTES];
	int n = trace_encode(&c, &open, sizeof(data), data);
	sqlite3_stmt *q;

	n += trace_encode(&c, e, sizeof(data) - (size_t)n, data + n);
	assert_int_equal(sqlite3_prepare_v2(db, "UPDATE trace_chunk SET events = 2, data = ?1", -1,
					    &q, NULL),
			 SQLITE_OK);
	sqlite3_bind_blob(q, 1, data, n, SQLITE_TRANSIENT);
	assert_int_equal(sqlite3_step(q), SQLITE_DONE);
	sqlite3_finalize(q);
}

/* Valid events that are impossible: no answer, and soon. */
static void impossible_events_are_no_trace(void **state)
{
	static const struct trace_event events[] = {
		{.kind = TRACE_READ, .pos = INT64_MAX, .len = 2},
		{.kind = TRACE_READ, .pos = 0, .len = UINT64_MAX},
		{.kind = TRACE_FAULT, .pos = UINT64_MAX},
		{.kind = TRACE_ADD, .pos = 0, .len = UINT64_MAX},
		{.kind = TRACE_ADD, .pos = UINT64_MAX, .len = 1},
		{.kind = TRACE_ADD, .pos = 0, .len = 1, .order = 64},
		{.kind = TRACE_ADD, .pos = 0, .len = 1 << 14, .order = 14, .flags = TRACE_BY_WRITE},
		{.kind = TRACE_ADD, .pos = 1ULL << 50, .len = 1, .flags = TRACE_BY_WRITE},
		{.kind = TRACE_REMOVE, .pos = 0, .len = 1ULL << 40},
		{.kind = TRACE_MAP, .pos = 0, .len = 1ULL << 40},
		{.kind = TRACE_SIZE, .pos = UINT64_MAX},
		{.kind = TRACE_SETTING, .ra_pages = UINT32_MAX},
		{.kind = TRACE_OPEN, .pos = 1 << 24, .ra = {.start = UINT64_MAX, .size = 1}},
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		static const char *const began[] = {"cold", "warm"};

		for (size_t j = 0; j < 2; j++) {
			sqlite3 *db = new_db("6.18.1");
			struct whatif_readahead w;
			char sql[64];

			add_file(db, 1, "seq_64k", 128, "NULL", "1.0");
			snprintf(sql, sizeof(sql), "UPDATE traced_file SET began = '%s'", began[j]);
			run(db, sql);
			put_event(db, &events[i]);
			w = load(db);
			assert_int_equal(w.nr_judged, 0);
			assert_int_equal(w.files[0].reason, WHATIF_UNREADABLE);
			whatif_readahead_free(&w);
			sqlite3_close(db);
		}
	}
}

/* Tables of another version, or modified ones. */
static void facts_that_are_missing_are_not_known(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct whatif_readahead w;

	add_file(db, 1, "seq_64k", 128, "NULL", "1.0");
	run(db, "UPDATE traced_file SET state = NULL, began = NULL");
	w = load(db);
	assert_int_equal(w.nr_files, 1);
	assert_int_equal(w.nr_judged, 0);
	whatif_readahead_free(&w);
	run(db, "UPDATE traced_file SET state = 'whole', began = 'cold', ra_pages = 1 << 40");
	w = load(db);
	assert_int_equal(w.nr_judged, 0);
	whatif_readahead_free(&w);
	run(db, "UPDATE traced_file SET ra_pages = 32; UPDATE run SET kernel = NULL");
	w = load(db);
	assert_int_equal(w.nr_judged, 0);
	assert_non_null(strstr(w.files[0].note, "does not name its kernel"));
	whatif_readahead_free(&w);
	sqlite3_close(db);
}

static void rows_are_filled(void **state)
{
	sqlite3 *db = new_db("6.18.1");
	struct errtext err = {0};
	struct whatif_readahead w;
	sqlite3_stmt *q;

	add_file(db, 1, "seq_64k", 128, "NULL", "1.0");
	w = load(db);
	assert_int_equal(fill_readahead(db, 1, &w, &err), 0);
	whatif_readahead_free(&w);
	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "SELECT count(*), sum(actual), min(misses + prefetched), "
				   "max(fidelity) FROM temp.analysis_whatif_readahead",
				   -1, &q, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	/* "ra_kb=128" is the setting in force, and is listed once. */
	assert_int_equal(sqlite3_column_int(q, 0), WHATIF_CANDIDATES - 1);
	assert_int_equal(sqlite3_column_int(q, 1), 1);
	assert_int_equal(sqlite3_column_int(q, 2), 4097);
	assert_true(sqlite3_column_double(q, 3) == 1);
	sqlite3_finalize(q);
	sqlite3_close(db);
}

int main(void)
{
	/* A hang is a failure. */
	alarm(60);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_have_their_names),
		cmocka_unit_test(random_is_best_for_random_reads),
		cmocka_unit_test(other_pages_are_refused),
		cmocka_unit_test(larger_windows_are_best_for_a_scan),
		cmocka_unit_test(mapped_use_is_not_known),
		cmocka_unit_test(larger_mapped_windows_have_a_price),
		cmocka_unit_test(mappings_have_larger_settings_alone),
		cmocka_unit_test(few_windows_have_an_answer),
		cmocka_unit_test(cached_files_count_as_nothing),
		cmocka_unit_test(one_that_gave_way_is_counted_apart),
		cmocka_unit_test(no_answer_has_a_reason),
		cmocka_unit_test(impossible_events_are_no_trace),
		cmocka_unit_test(facts_that_are_missing_are_not_known),
		cmocka_unit_test(rows_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
