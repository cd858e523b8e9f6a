/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: top report account access */
/* The values of a row over the time of a run: gaps, and that loading step by step gives the same
 * as loading at once. */
#include "fixtures/report/top.h"

static void series_have_gaps(void **state)
{
	struct fixture *f = *state;
	struct top_series *series = calloc(1, sizeof(*series));
	struct top_moment m;
	struct errtext err;

	assert_non_null(series);
	made_files(f);
	ten_seconds(f);
	made_file(f, 10, 1, 5, 1);
	made_file(f, 8, 1, 4, 2);
	made_file(f, 8, 2, 4, 2);
	m = moment_at(f, TOP_JOBS, TOP_NEWEST, 0);
	assert_int_equal(top_series_load(f->sql, &m, TOP_JOBS, 1, series, &err), 0);
	for (int i = 0; i < 10; i++) {
		assert_true(series->known[i]);
		assert_int_equal(series->counts[i].c[C_lookups], 100 * (10 - i));
	}
	assert_false(series->known[10]);
	assert_int_equal(top_series_load(f->sql, &m, TOP_FILES, 1, series, &err), 0);
	assert_true(series->known[0] && !series->known[1] && series->known[2]);
	assert_int_equal(series->counts[2].c[C_misses], 2);
	assert_int_equal(top_series_load(f->sql, &m, TOP_DIRECTORIES, 1, series, &err), 0);
	assert_int_equal(series->counts[2].c[C_misses], 4);
	top_moment_free(&m);
	/* For an earlier moment it ends there. */
	m = moment_at(f, TOP_JOBS, 7 * S, 0);
	assert_int_equal(top_series_load(f->sql, &m, TOP_FILES, 1, series, &err), 0);
	assert_true(series->known[0] && !series->known[1]);
	top_moment_free(&m);
	free(series);
}

/* Step by step gives the same as at once, also across a merge and for another row. */
static void series_go_on(void **state)
{
	struct fixture *f = *state;
	struct top_series *grown = calloc(1, sizeof(*grown));
	struct top_series *fresh = calloc(1, sizeof(*fresh));
	struct errtext err;

	assert_non_null(grown);
	assert_non_null(fresh);
	made_files(f);
	for (int i = 0; i < 300; i++) {
		enum top_level level = i / 50 % TOP_NR_LEVELS;
		struct top_moment m;

		made_interval(f, i + 1, i * S, S, S);
		made_job(f, i + 1, 1, 100 + i, 10, 1000);
		for (int file = 1; file <= 3; file++)
			if ((i + file) % 4)
				made_file(f, i + 1, file, 10 * i, i);
		if (i % 60 == 59)
			fixture_sql(
				f,
				"DELETE FROM interval WHERE id = %d; UPDATE interval SET "
				"duration_ns = 2000000000 WHERE id = %d; UPDATE file_interval SET "
				"misses = 5 WHERE interval_id = %d",
				i - 5, i - 6, i - 6);
		if (i % 3)
			continue;
		m = moment_at(f, level, i % 20 ? TOP_NEWEST : i / 2 * S, 0);
		*fresh = (struct top_series){0};
		assert_int_equal(top_series_load(f->sql, &m, level, 1, grown, &err), 0);
		assert_int_equal(top_series_load(f->sql, &m, level, 1, fresh, &err), 0);
		assert_memory_equal(grown->known, fresh->known, sizeof(grown->known));
		for (size_t k = 0; k < m.nr_history; k++)
			assert_memory_equal(grown->counts[k].c, fresh->counts[k].c,
					    sizeof(fresh->counts[k].c));
		top_moment_free(&m);
	}
	free(grown);
	free(fresh);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(series_have_gaps),
		TEST(series_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
