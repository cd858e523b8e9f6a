/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access */
/* The rows of a curve that rules read, from databases with a known sample. */
#include "fixtures/report/fixture.h"

#include "advisor/analysis/fill.h"

enum { PAGES = 200, EPOCHS = 12 };

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	fixture_begin(f);
	fixture_sql(f,
		    "INSERT INTO run(id, uuid, cachemon, host, kernel, arch, started_ns, "
		    "duration_ns, state, writer_boot, writer_pidns, writer_pid, "
		    "writer_start_ticks, level, advice_mode, interval_ns, page_size_bytes, "
		    "memory_bytes, map_bytes) VALUES (1, 'u', '0', 'h', 'k', 'x', 0, 1, "
		    "'complete', 'b', 0, 1, 1, 'full', 'effects', 1, 4096, 1073741824, 0);"
		    "INSERT INTO job(id, run_id, slot, name, selector) VALUES (1, 1, 1, 'j', 's');"
		    "INSERT INTO interval(id, run_id, start_ns, duration_ns, read_on_ns) "
		    "VALUES (1, 1, 0, 1, 1)");
	*state = f;
	return 0;
}

/* A cyclic scan with every page in the sample. */
static void refer(struct fixture *f, const char *kind)
{
	fixture_sql(f,
		    "INSERT INTO reference_sample VALUES (1, '%s', nullif('%s', 'whole'), "
		    "4294967296, %d, %d, %d, %d, 0)",
		    kind, kind, PAGES, PAGES * EPOCHS, PAGES * EPOCHS, PAGES);
	fixture_sql(f,
		    "WITH RECURSIVE p(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM p WHERE n < %d) "
		    "INSERT INTO reference_page SELECT 1, n, 8, 1, 7, 0, n, n * 21474836 FROM p",
		    PAGES - 1);
	for (int e = 0; e < EPOCHS; e++) {
		char hex[PAGES * 4 + 1];
		char *at = hex;

		for (unsigned int n = 0; n < PAGES; n++) {
			unsigned int v = n << 1;

			if (v >= 128)
				at += sprintf(at, "%02x%02x", (v & 127) | 128, v >> 7);
			else
				at += sprintf(at, "%02x", v);
		}
		fixture_sql(f, "INSERT INTO reference_chunk VALUES (1, %d, %d, %d, %d, x'%s')", e,
			    e, PAGES * (e + 1), PAGES, hex);
	}
}

/* All lookups missed; half of the pages are cached. */
static void count(struct fixture *f, int misses)
{
	static const char *const zero[] = {"used",
					   "used_late",
					   "untracked",
					   "written_pages",
					   "other_added_pages",
					   "prefetched_sync",
					   "prefetched_async",
					   "prefetched_willneed",
					   "prefetched_readahead2",
					   "prefetched_mmap_around",
					   "evicted_reclaim_kswapd",
					   "evicted_reclaim_direct",
					   "evicted_dontneed",
					   "evicted_drop_caches",
					   "evicted_truncate",
					   "evicted_direct_io",
					   "evicted_other",
					   "refaults",
					   "refault_distance_pages"};

	fixture_sql(f, "INSERT INTO job_interval(interval_id, job_id) VALUES (1, 1)");
	for (int i = 0; i < 2; i++) {
		const char *table = i ? "job" : "job_interval";

		for (size_t c = 0; c < sizeof(zero) / sizeof(zero[0]); c++)
			fixture_sql(f, "UPDATE %s SET %s = 0", table, zero[c]);
		fixture_sql(f,
			    "UPDATE %s SET lookups = %d, misses = %d, demand_pages = %d, "
			    "evicted_reclaim_memcg = %d",
			    table, PAGES * EPOCHS, misses, misses, misses - PAGES / 2);
	}
}

static double ask(struct fixture *f, const char *what)
{
	sqlite3_stmt *stmt = NULL;
	char sql[256];
	double ret = -1;

	snprintf(sql, sizeof(sql), "SELECT %s FROM temp.analysis_curve_fact", what);
	assert_int_equal(sqlite3_prepare_v2(f->sql, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		ret = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	return ret;
}

static void fill(struct fixture *f)
{
	struct errtext err = {0};
	struct job_curve c = {0};

	if (job_curve_load(f->sql, 1, &c, &err) < 0 || fill_curve(f->sql, 1, &c, &err) < 0)
		fail_msg("%s", err.text);
	job_curve_free(&c);
}

static void a_cliff(void **state)
{
	struct fixture *f = *state;

	refer(f, "whole");
	count(f, PAGES * EPOCHS);
	fill(f);
	fill(f); /* a second fill changes nothing */
	assert_float_equal(ask(f, "count(*)"), 1, 0);
	assert_float_equal(ask(f, "absent"), -1, 0);
	assert_float_equal(ask(f, "present_pages"), PAGES / 2, 0);
	assert_float_equal(ask(f, "present_miss_ratio"), 1, 1e-9);
	assert_float_equal(ask(f, "measured_miss_ratio"), 1, 1e-9);
	assert_float_equal(ask(f, "floor"), 1.0 / EPOCHS, 1e-9);
	assert_float_equal(ask(f, "for90_pages"), PAGES, 0);
	assert_float_equal(ask(f, "memory_pages"), 262144, 0);
	assert_float_equal(ask(f, "limit_pages"), -1, 0);
	assert_float_equal(ask(f, "uncertain"), 0, 0);
	/* No refaults were counted, so no second opinion exists. */
	assert_float_equal(ask(f, "second_opinion = 'none'"), 1, 0);
	assert_float_equal(ask(f, "reread_order = 'same'"), 1, 0);
	assert_float_equal(
		ask(f, "(SELECT count(*) FROM temp.analysis_curve WHERE miss_ratio < 0.9)"), 1, 0);
	assert_float_equal(ask(f, "(SELECT max(opt_miss_ratio <= miss_ratio + 1e-9) FROM "
				  "temp.analysis_curve)"),
			   1, 0);
}

/* A page that two readers fetch at once, or a fault, is fetched more often than looked up: a ratio
 * above 1 is not outside of a curve that predicts 1. */
static void more_fetched_than_looked_up(void **state)
{
	struct fixture *f = *state;

	refer(f, "whole");
	count(f, PAGES * EPOCHS + 1);
	fill(f);
	assert_float_equal(ask(f, "measured_miss_ratio"), 1, 0);
	assert_float_equal(ask(f, "uncertain"), 0, 0);
}

/* The measured ratio is not on the curve: there is no prediction. */
static void off_the_curve(void **state)
{
	struct fixture *f = *state;

	refer(f, "whole");
	count(f, PAGES * EPOCHS / 2);
	fill(f);
	assert_float_equal(ask(f, "uncertain"), 1, 0);
	assert_float_equal(ask(f, "for90_pages"), -1, 0);
	assert_float_equal(ask(f, "length(reason) > 20"), 1, 0);
}

static void broken(void **state)
{
	struct fixture *f = *state;

	refer(f, "broken");
	fill(f);
	assert_float_equal(ask(f, "broken"), 1, 0);
	assert_float_equal(ask(f, "reason = 'broken'"), 1, 0);
	/* Not measured: NULL, and no judgement. */
	assert_float_equal(ask(f, "measured_miss_ratio"), -1, 0);
	assert_float_equal(ask(f, "uncertain"), 0, 0);
}

/* A recording that ended at once has only its reason left. */
static void broken_at_once(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "INSERT INTO reference_sample VALUES (1, 'broken', 'pages came too fast', "
		       "4294967296, 0, 0, 0, 0, 0)");
	fill(f);
	assert_float_equal(
		ask(f,
		    "absent LIKE 'The recording of references ended early: pages came too fast.%'"),
		1, 0);
	assert_float_equal(ask(f, "absent LIKE '%0 %'"), 0, 0);
}

/* Numbers of a reason are written as everywhere else. */
static void reasons_have_separators(void **state)
{
	struct fixture *f = *state;

	refer(f, "whole");
	fixture_sql(f, "DELETE FROM reference_chunk; DELETE FROM reference_page; UPDATE "
		       "reference_sample SET pages = 0, refs = 0, lookups = 1234567");
	fill(f);
	assert_float_equal(ask(f, "absent LIKE '% 1,234,567 lookups; at least 64 and 1,000 %'"), 1,
			   0);
}

static void absent(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "INSERT INTO reference_absent VALUES (1, 'no ring')");
	fill(f);
	assert_float_equal(ask(f, "absent = 'No references were recorded: no ring.'"), 1, 0);
	assert_float_equal(ask(f, "for90_pages"), -1, 0);
	fixture_sql(f, "UPDATE run SET level = 'cold'");
	fill(f);
	assert_float_equal(ask(f, "absent LIKE '%level cold%'"), 1, 0);
	assert_float_equal(ask(f, "(SELECT count(*) FROM temp.analysis_curve)"), 0, 0);
}

/* Damaged counters give no cache size. */
static void sizes_that_no_machine_has(void **state)
{
	struct fixture *f = *state;

	refer(f, "whole");
	count(f, PAGES * EPOCHS);
	fixture_sql(f, "UPDATE job_interval SET demand_pages = 9000000000000000000;"
		       "UPDATE run SET memory_bytes = 9000000000000000000");
	fill(f);
	assert_float_equal(ask(f, "absent"), -1, 0);
	assert_float_equal(ask(f, "present_pages"), -1, 0);
	fixture_sql(f, "PRAGMA ignore_check_constraints = ON;"
		       "UPDATE run SET page_size_bytes = 0");
	fill(f);
	assert_float_equal(ask(f, "memory_pages"), -1, 0);
}

static void nothing_recorded(void **state)
{
	struct fixture *f = *state;

	fill(f);
	assert_float_equal(ask(f, "absent LIKE 'No references%'"), 1, 0);
	assert_float_equal(ask(f, "absent LIKE '%interval%'"), 0, 0);
	assert_float_equal(ask(f, "absent LIKE '%.'"), 1, 0);
}

static void damaged(void **state)
{
	struct fixture *f = *state;

	refer(f, "whole");
	fixture_sql(f, "UPDATE reference_chunk SET data = x'ffff' WHERE seq = 3");
	fill(f);
	assert_float_equal(ask(f, "absent LIKE 'The recorded references%damaged%'"), 1, 0);
}

static void no_such_job(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {0};
	struct job_curve c = {0};

	assert_true(job_curve_load(f->sql, 99, &c, &err) < 0);
	assert_true(err.text[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_cliff, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(more_fetched_than_looked_up, begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(off_the_curve, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(broken, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(sizes_that_no_machine_has, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(nothing_recorded, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(damaged, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(broken_at_once, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(reasons_have_separators, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(absent, begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(no_such_job, begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
