/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access */
#include "fixtures/report/fixture.h"

#include <cjson/cJSON.h>

#include "advisor/pattern/pattern_file.h"

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_begin(f);
	fixture_run(f);
	fixture_sql(f, "INSERT INTO directory (id, job_id, path, files, lookups) VALUES "
		       "(1, 1, CAST('/data' AS BLOB), 3, 3000), "
		       "(2, 1, CAST('/small' AS BLOB), 400, 800), (3, 1, NULL, NULL, NULL)");
	*state = f;
	return 0;
}

static void put_file(struct fixture *f, int id, int directory, int pages, const char *sql)
{
	fixture_sql(f,
		    "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen, "
		    "size_bytes) VALUES (%d, 1, %d, 8, 1, %d, 0, %d)",
		    id, directory, 100 + id, pages * 4096);
	if (*sql)
		fixture_sql(f, "UPDATE file SET %s WHERE id = %d", sql, id);
}

/* On a read-only connection, as in every analysis. */
static void fill(struct fixture *f, sqlite3 **ret)
{
	struct errtext err = {0};

	assert_int_equal(sqlite3_open_v2(f->db, ret, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(*ret,
				      "CREATE TEMP TABLE analysis_scope AS SELECT 1 AS run_id",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	if (fill_pattern(*ret, &err))
		fail_msg("%s", err.text);
}

static char *value(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	char *ret = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		ret = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return ret;
}

static void expect(sqlite3 *db, const char *kind, int id, const char *want)
{
	char sql[128];
	char *got;

	snprintf(sql, sizeof(sql),
		 "SELECT name FROM analysis_pattern WHERE kind = '%s' AND subject_id = %d", kind,
		 id);
	got = value(db, sql);
	if (!got || strcmp(got, want) != 0)
		fail_msg("%s %d: expected %s, got %s", kind, id, want, got ? got : "nothing");
	free(got);
}

static void by_counters(void **state)
{
	struct fixture *f = *state;
	sqlite3 *db = NULL;
	char *text;
	cJSON *json;

	put_file(f, 1, 1, 1000,
		 "lookups = 1000, misses = 10, read_calls = 250, read_bytes = 4096000, "
		 "direct_read_bytes = 0, demand_pages = 10, prefetched_sync = 20, "
		 "prefetched_async = 970, windows_sync = 1, windows_async = 30, windows_forced = "
		 "0, faults_major = 0, faults_minor = 0, prefetched_mmap_around = 0");
	put_file(f, 2, 1, 1000,
		 "lookups = 0, misses = 0, read_calls = 0, read_bytes = 0, direct_read_bytes = "
		 "4096000");
	put_file(f, 3, 1, 1000, "");
	put_file(f, 4, 2, 2, "lookups = 2, misses = 2, demand_pages = 2");
	put_file(f, 5, 2, 3, "lookups = 3, misses = 3, demand_pages = 3");
	fill(f, &db);
	expect(db, "file", 1, "scan_once");
	expect(db, "file", 2, "direct");
	expect(db, "file", 3, "unknown");
	expect(db, "directory", 1, "mixed");
	expect(db, "directory", 2, "small_files");
	expect(db, "directory", 3, "unknown");
	text = value(db, "SELECT features FROM analysis_pattern WHERE kind = 'file' AND "
			 "subject_id = 1");
	json = cJSON_Parse(text);
	assert_non_null(json);
	assert_true(cJSON_GetObjectItem(json, "lookups_per_page")->valuedouble == 1);
	assert_null(cJSON_GetObjectItem(json, "reuse"));
	assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(json, "decided_by")) > 0);
	cJSON_Delete(json);
	free(text);
	/* Values that were not measured are not in the features: none is read as 0. */
	text = value(db, "SELECT features FROM analysis_pattern WHERE kind = 'file' AND "
			 "subject_id = 3");
	assert_string_equal(text, "{\"decided_by\":[]}");
	free(text);
	text = value(db, "SELECT count(*) FROM analysis_pattern WHERE confidence BETWEEN 0 AND 1");
	assert_string_equal(text, "8");
	free(text);
	sqlite3_close(db);
}

static void without_a_run(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {0};
	sqlite3 *db = NULL;
	char *text;

	fixture_sql(f, "DELETE FROM run");
	fill(f, &db);
	text = value(db, "SELECT count(*) FROM analysis_pattern");
	assert_string_equal(text, "0");
	free(text);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE analysis_scope", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_true(fill_pattern(db, &err) < 0);
	assert_non_null(strstr(err.text, "analysis_scope"));
	sqlite3_close(db);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, begin, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(by_counters), TEST(without_a_run)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
