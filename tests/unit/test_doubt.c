/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Findings of which one condition is not known: listed as not judged, and never followed by
 * praise. */
#include "fixtures/advisor/world.h"

/* A site rule that is in doubt about files whose name ends with '?', and sure of the others. */
static const char doubts[] = RULE_HEAD(
	"doubts") "WITH f AS (SELECT *, CAST(path AS TEXT) LIKE '%?' AS doubt FROM v_file)\n"
		  "SELECT job_id, 'file' AS subject_kind, path AS subject, 'low' AS severity, "
		  "iif(doubt, NULL, 0.5) AS confidence, iif(doubt, NULL, json_array(json_object("
		  "'metric', 'm', 'value', 1, 'unit', 'pages', 'scope', 'file'))) AS evidence, "
		  "iif(doubt, 'nobody knows ' || CAST(path AS TEXT), NULL) AS not_judged FROM f";

static void put_file(struct fixture *f, int id, const char *path)
{
	fixture_sql(f,
		    "INSERT INTO directory (id, job_id, path, files) VALUES (%d, 1, "
		    "CAST('/d%d' AS BLOB), 1); INSERT INTO file (id, job_id, directory_id, "
		    "dev_major, dev_minor, ino, gen, size_bytes, path) VALUES (%d, 1, %d, 8, 0, "
		    "%d, 1, 1 << 26, CAST('%s' AS BLOB))",
		    id, id, id, id, id, path);
}

static void test_doubt(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	world_write(f, "doubts.sql", doubts);
	put_file(f, 1, "/a?");
	a = world_analyse(f);
	assert_int_equal(a.rules.nr_problems, 0);
	assert_null(world_finding(&a, "doubts"));
	assert_string_equal(world_unjudged(&a, "doubts"), "nobody knows /a?");
	analysis_free(&a);

	put_file(f, 2, "/b?");
	put_file(f, 3, "/c?");
	a = world_analyse(f);
	assert_string_equal(world_unjudged(&a, "doubts"), "nobody knows /a?; and 2 more errors");
	analysis_free(&a);

	/* Found elsewhere, so it could be judged. */
	put_file(f, 4, "/d");
	a = world_analyse(f);
	assert_non_null(world_finding(&a, "doubts"));
	assert_null(world_unjudged(&a, "doubts"));
	analysis_free(&a);
}

/* A job that is served well, except for a file of which every second lookup misses. */
static void put_job(struct fixture *f, int misses, int stall_ms)
{
	fixture_zero(f, "job");
	fixture_zero(f, "directory");
	fixture_zero(f, "file");
	for (const char *const *t = (const char *const[]){"job", "directory", "file", NULL}; *t;
	     t++)
		fixture_sql(f,
			    "UPDATE %s SET lookups = 50000, misses = %d, demand_pages = %d, "
			    "stall_ns = %d, read_calls = 25000, read_bytes = 204800000 "
			    "WHERE id = 1",
			    *t, misses, misses, stall_ms * 1000000);
	fixture_sql(f, "UPDATE job SET wall_ns = 10000000000, cpu_ns = 1000000000 WHERE id = 1");
}

static void test_no_praise_over_a_doubt(void **state)
{
	struct fixture *f = *state;
	const char *reason;
	struct analysis a;

	put_file(f, 1, "/d1/file");
	put_job(f, 30000, 1000);
	a = world_analyse(f);
	reason = world_unjudged(&a, "stride-defeats-readahead");
	assert_non_null(reason);
	assert_non_null(strstr(reason, "/d1/file"));
	assert_non_null(strstr(reason, "of 0.60 needed"));
	assert_null(world_finding(&a, "nothing-wrong"));
	reason = world_unjudged(&a, "nothing-wrong");
	assert_non_null(reason);
	assert_non_null(strstr(reason, "stride-defeats-readahead"));
	analysis_free(&a);

	/* A fix would gain less than the floor, so there is no doubt. */
	put_job(f, 30000, 1);
	a = world_analyse(f);
	assert_null(world_unjudged(&a, "stride-defeats-readahead"));
	assert_non_null(world_finding(&a, "nothing-wrong"));
	analysis_free(&a);

	/* No condition holds: judged, whatever the pattern. */
	put_job(f, 100, 1);
	a = world_analyse(f);
	assert_null(world_unjudged(&a, "stride-defeats-readahead"));
	assert_null(world_unjudged(&a, "nothing-wrong"));
	assert_non_null(world_finding(&a, "nothing-wrong"));
	analysis_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_doubt, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_no_praise_over_a_doubt, world_begin,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
