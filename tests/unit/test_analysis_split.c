/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* The results do not depend on how a run is cut into intervals. */
#include "fixtures/advisor/world.h"
#include "cachemon/db/views.h"

enum { SECONDS = 120 };

/* The events of a second of the run, the same for each length of interval. */
static int64_t in_second(int second, int counter)
{
	return (second * 7919 + counter * 104729) % 997 + (counter == C_lookups ? 1000 : 0);
}

/* The run with that many intervals; the last may be shorter. */
static void put_run(struct fixture *f, int intervals)
{
	int each = (SECONDS + intervals - 1) / intervals;

	fixture_sql(f, "DELETE FROM job_interval; DELETE FROM interval; DELETE FROM directory");
	fixture_zero(f, "job");
	for (int c = 0; c < C_NR; c++) {
		int64_t sum = 0;

		for (int s = 0; s < SECONDS; s++)
			sum += in_second(s, c);
		fixture_sql(f, "UPDATE job SET %s = %lld WHERE id = 1", counter_name(c),
			    (long long)sum);
	}
	fixture_sql(f, "UPDATE job SET wall_ns = %d * 1000000000, cpu_ns = 1000000000 WHERE id = 1",
		    SECONDS);
	for (int start = 0, id = 1; start < SECONDS; start += each, id++) {
		int end = start + each < SECONDS ? start + each : SECONDS;

		fixture_sql(f,
			    "INSERT INTO interval VALUES (%d, 1, %d * 1000000000, %d * 1000000000, "
			    "%d * 1000000000, %d)",
			    id, start, end - start, end - start, end - start);
		fixture_sql(f, "INSERT INTO job_interval (interval_id, job_id) VALUES (%d, 1)", id);
		for (int c = 0; c < C_NR; c++) {
			int64_t sum = 0;

			for (int s = start; s < end; s++)
				sum += in_second(s, c);
			fixture_sql(f, "UPDATE job_interval SET %s = %lld WHERE interval_id = %d",
				    counter_name(c), (long long)sum, id);
		}
	}
	fixture_sql(
		f,
		"INSERT INTO directory (id, job_id, path, files, %s) SELECT 1, id, x'2f64', 9, "
		"%s FROM job WHERE id = 1",
		"lookups, misses, used, used_late, evicted_unused, untracked, refaults, stall_ns",
		"lookups, misses, used, used_late, evicted_unused, untracked, refaults, stall_ns");
}

static int64_t sum_of(struct fixture *f, const char *column)
{
	sqlite3_stmt *stmt = NULL;
	char sql[128];
	int64_t v;

	snprintf(sql, sizeof(sql), "SELECT sum(%s) FROM v_interval", column);
	assert_int_equal(sqlite3_prepare_v2(f->sql, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	v = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return v;
}

static void assert_sums(struct fixture *f)
{
	static const char *const columns[] = {"lookups",  "misses",	 "prefetched_pages",
					      "used",	  "refaults",	 "evicted_pages",
					      "stall_ns", "duration_ns", "evicted_reclaim"};
	static int64_t want[sizeof(columns) / sizeof(columns[0])];
	const char *what = "";

	fixture_sql(f, "BEGIN");
	assert_int_equal(views_create(f->sql, 1, &what), SQLITE_OK);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		int64_t got = sum_of(f, columns[i]);

		if (!want[i])
			want[i] = got;
		assert_true(got > 0);
		assert_int_equal(got, want[i]);
	}
	fixture_sql(f, "ROLLBACK");
}

static void assert_same(const struct analysis *a, const struct analysis *b)
{
	const struct analysis_job *x = &a->jobs[0];
	const struct analysis_job *y = &b->jobs[0];

	for (int k = 0; k < GRADE_NR; k++)
		assert_string_equal(x->grades[k].formula, y->grades[k].formula);
	assert_true(x->ceiling.overall.known);
	assert_true(x->ceiling.overall.value == y->ceiling.overall.value);
	assert_int_equal(x->nr_findings, y->nr_findings);
	for (size_t i = 0; i < x->nr_findings; i++) {
		assert_string_equal(x->findings[i].rule->id, y->findings[i].rule->id);
		assert_string_equal(x->findings[i].summary, y->findings[i].summary);
		assert_true(x->findings[i].gain.value == y->findings[i].gain.value);
	}
	assert_int_equal(a->nr_unjudged, b->nr_unjudged);
}

static void test_split(void **state)
{
	static const int cuts[] = {2, 3, 7, 40, SECONDS};
	struct fixture *f = *state;
	struct analysis whole;

	put_run(f, 1);
	assert_sums(f);
	whole = world_analyse(f);
	assert_true(whole.jobs[0].nr_findings > 0);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct analysis cut;

		put_run(f, cuts[i]);
		assert_sums(f);
		cut = world_analyse(f);
		assert_same(&whole, &cut);
		analysis_free(&cut);
	}
	analysis_free(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_split, world_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
