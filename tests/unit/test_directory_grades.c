/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access m */
/* Directory grades from the counters of a database, compared with the formulas by hand. */
#include "fixtures/advisor/world.h"

#include <math.h>

enum { WELL = 1, BADLY, UNKNOWN, WRITTEN };

static void put_directory(struct fixture *f, int id, const char *name)
{
	fixture_sql(f,
		    "INSERT INTO directory (id, job_id, path, files) VALUES (%d, 1, CAST('%s' AS "
		    "BLOB), 1)",
		    id, name);
}

static void zero(struct fixture *f, int id)
{
	for (int c = 0; c < C_NR; c++)
		fixture_sql(f, "UPDATE directory SET %s = 0 WHERE id = %d", counter_name(c), id);
}

/* Four directories of a job of 10 s that slept for 3 s; one of them was not measured. */
static void put_job(struct fixture *f)
{
	fixture_zero(f, "job");
	put_directory(f, WELL, "/well");
	put_directory(f, BADLY, "/badly");
	put_directory(f, UNKNOWN, "/unknown");
	put_directory(f, WRITTEN, "/written");
	zero(f, WELL);
	zero(f, BADLY);
	zero(f, WRITTEN);
	fixture_sql(f,
		    "UPDATE directory SET lookups = 1000, misses = 20, demand_pages = 20, "
		    "prefetched_async = 180, used = 150, used_late = 30, stall_ns = 200000000 "
		    "WHERE id = %d",
		    WELL);
	fixture_sql(f,
		    "UPDATE directory SET lookups = 1000, misses = 600, demand_pages = 600, "
		    "prefetched_async = 200, used = 0, used_late = 50, evicted_unused = 150, "
		    "refaults = 500, stall_ns = 2800000000 WHERE id = %d",
		    BADLY);
	fixture_sql(f, "UPDATE directory SET written_pages = 100 WHERE id = %d", WRITTEN);
	fixture_sql(f, "UPDATE job SET lookups = 2000, misses = 620, stall_ns = 3000000000, "
		       "wall_ns = 10000000000, cpu_ns = 1000000000 WHERE id = 1");
}

static void assert_grade(const struct analysis *a, int64_t id, enum grade_kind kind, double want,
			 char letter)
{
	const struct analysis_directory *d = analysis_directory_of(a, id);
	const struct analysis_grade *g;

	assert_non_null(d);
	g = &d->grades[kind];
	if (!g->score.known || fabs(g->score.value - want) > 1e-9)
		fail_msg("%s of %lld: %f instead of %f: %s", grade_names[kind], (long long)id,
			 g->score.value, want, g->formula);
	assert_non_null(g->letter);
	assert_int_equal(g->letter[0], letter);
}

static void assert_none(const struct analysis *a, int64_t id, enum grade_kind kind, const char *why)
{
	const struct analysis_grade *g = &analysis_directory_of(a, id)->grades[kind];

	assert_null(g->letter);
	assert_false(g->score.known);
	if (!strstr(g->formula, why))
		fail_msg("%s of %lld: %s", grade_names[kind], (long long)id, g->formula);
}

static void test_by_hand(void **state)
{
	const double prefetch = 1.0 * (0.6 + 0.4 * 150 / 180) * (0.8 + 0.2 * 180 / 200);
	/* 650 of 1000 were fetched; 150 of those were new. */
	const double bad_hits = 1 - (0.65 - 0.15) / (1 - 0.15);
	const double bad_prefetch = 50.0 / 200 * 0.6 * (0.8 + 0.2 * 50 / 650);
	const double bad_eviction = 1 - 500.0 / 800;
	struct analysis a;

	put_job(*state);
	a = world_analyse(*state);
	assert_int_equal(a.nr_directories, 4);
	/* Everything that was fetched was fetched for the first time. */
	assert_grade(&a, WELL, GRADE_HITS, 1, 'A');
	assert_grade(&a, WELL, GRADE_PREFETCH, prefetch, 'A');
	assert_grade(&a, WELL, GRADE_EVICTION, 1, 'A');
	assert_grade(&a, WELL, GRADE_STALL, 1 - 0.2 / 10, 'A');
	assert_grade(&a, WELL, GRADE_OVERALL, 0.2 + 0.2 * prefetch + 0.2 + 0.4 * 0.98, 'A');
	assert_grade(&a, BADLY, GRADE_HITS, bad_hits, 'E');
	assert_grade(&a, BADLY, GRADE_PREFETCH, bad_prefetch, 'F');
	assert_grade(&a, BADLY, GRADE_EVICTION, bad_eviction, 'E');
	assert_grade(&a, BADLY, GRADE_STALL, 0.72, 'C');
	assert_grade(&a, BADLY, GRADE_OVERALL,
		     0.2 * bad_hits + 0.2 * bad_prefetch + 0.2 * bad_eviction + 0.4 * 0.72, 'E');
	assert_non_null(strstr(analysis_directory_of(&a, BADLY)->grades[GRADE_STALL].formula,
			       "stall 2.800 s / the larger of wall time 10.000 s"));
	/* The losses of the two directories add up to the loss of the job. */
	assert_true(fabs(a.jobs[0].grades[GRADE_STALL].score.value - (0.98 + 0.72 - 1)) < 1e-9);
	analysis_free(&a);
}

static void test_absent_is_no_grade(void **state)
{
	struct analysis a;

	put_job(*state);
	a = world_analyse(*state);
	for (enum grade_kind k = 0; k < GRADE_NR; k++)
		assert_none(&a, UNKNOWN, k, "");
	assert_none(&a, UNKNOWN, GRADE_STALL, "not measured");
	assert_none(&a, UNKNOWN, GRADE_HITS, "not measured");
	/* Only written: no reads, so no waits and no hits. */
	assert_none(&a, WRITTEN, GRADE_STALL, "nothing could stall");
	assert_none(&a, WRITTEN, GRADE_HITS, "no page was requested");
	assert_none(&a, WRITTEN, GRADE_PREFETCH, "no prefetched page");
	assert_grade(&a, WRITTEN, GRADE_EVICTION, 1, 'A');
	assert_null(analysis_directory_of(&a, 99));
	analysis_free(&a);
}

/* An unknown counter removes only the grades that need it. */
static void test_one_is_absent(void **state)
{
	struct analysis a;

	put_job(*state);
	fixture_sql(*state, "UPDATE directory SET refaults = NULL, stall_ns = NULL WHERE id = %d",
		    BADLY);
	a = world_analyse(*state);
	assert_none(&a, BADLY, GRADE_HITS, "refaults were not measured");
	assert_none(&a, BADLY, GRADE_EVICTION, "not measured");
	assert_none(&a, BADLY, GRADE_STALL, "not measured");
	assert_grade(&a, BADLY, GRADE_OVERALL, 50.0 / 200 * 0.6 * (0.8 + 0.2 * 50 / 650), 'F');
	analysis_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_hand, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_absent_is_no_grade, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_one_is_absent, world_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
