/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Pages that left and were written again count as refaults, but nobody waited for them: no
 * verdict and no grade counts them as pages that came back. */
#include "fixtures/advisor/world.h"

#include "advisor/analysis/fill.h"
#include "cachemon/db/views.h"

static void text_of(struct fixture *f, const char *sql, char ret[256])
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(f->sql, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(f->sql), sql);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	snprintf(ret, 256, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

/* A log of 1000 pages in its own directory, written four times and dropped each time; that many
 * of its pages are read. */
static void put_log(struct fixture *f, int read_pages)
{
	static const char *const tables[] = {"job", "directory", "file"};

	fixture_zero(f, "job");
	fixture_sql(f, "INSERT INTO directory (id, job_id, path, files) VALUES (1, 1, x'2f6c', 1)");
	fixture_zero(f, "directory");
	fixture_sql(f,
		    "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen, "
		    "path) VALUES (1, 1, 1, 8, 0, 5, 1, x'2f6c2f6c')");
	fixture_zero(f, "file");
	for (int i = 0; i < 3; i++)
		fixture_sql(f,
			    "UPDATE %s SET written_pages = %d, evicted_dontneed = 4000, refaults = "
			    "3000, "
			    "demand_pages = %d",
			    tables[i], 4000 - read_pages, read_pages);
	fixture_sql(f, "INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, kind, call, "
		       "calls, pages_asked, pages_dropped, dropped_refaults, cached_pages) "
		       "VALUES (1, 8, 0, 5, 1, 'dontneed', 'fadvise', 4, 4000, 4000, 3000, 4000)");
}

static void fill(struct fixture *f)
{
	struct errtext err = {0};
	const char *what = "";

	if (views_create(f->sql, 1, &what) != SQLITE_OK)
		fail_msg("%s: %s", what, sqlite3_errmsg(f->sql));
	assert_int_equal(fill_verdict(f->sql, &err), 0);
	assert_int_equal(fill_grade(f->sql, &err), 0);
}

static void judged(struct fixture *f, const char *verdict, const char *grade)
{
	char text[256];

	fill(f);
	text_of(f, "SELECT verdict FROM temp.analysis_verdict", text);
	assert_string_equal(text, verdict);
	text_of(f,
		"SELECT grade || ' ' || formula FROM temp.analysis_grade WHERE kind = 'job' AND "
		"name = 'eviction'",
		text);
	if (text[0] != grade[0])
		fail_msg("eviction: %s", text);
}

static void written_anew(void **state)
{
	put_log(*state, 0);
	judged(*state, "helped", "A");
}

static void read_again(void **state)
{
	put_log(*state, 4000);
	judged(*state, "harmful", "F");
}

/* How much of it was read is not known: possibly everything. */
static void not_known(void **state)
{
	struct fixture *f = *state;
	char text[256];

	put_log(f, 0);
	fixture_sql(f, "UPDATE job SET demand_pages = NULL");
	fixture_sql(f, "UPDATE directory SET demand_pages = NULL");
	fixture_sql(f, "UPDATE file SET demand_pages = NULL");
	fill(f);
	text_of(f,
		"SELECT (SELECT count(*) FROM temp.analysis_verdict WHERE verdict = 'helped') "
		"|| (SELECT count(*) FROM temp.analysis_grade WHERE kind = 'job' AND name = "
		"'eviction' AND grade = "
		"'A')",
		text);
	assert_string_equal(text, "00");
}

/* A row that a file got late lacks some of its reads: those of the advice are complete. */
static void row_of_late(void **state)
{
	struct fixture *f = *state;

	put_log(f, 0);
	fixture_sql(f, "UPDATE file SET folded_before = 1");
	judged(f, "harmful", "A");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(written_anew, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(read_again, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(not_known, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(row_of_late, world_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
