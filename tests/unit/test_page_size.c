/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access m */
/* Runs on machines with pages of 16 or 64 KiB: each number of bytes uses the page size of that
 * machine. */
#include "fixtures/report/compare.h"

#include "cachemon/db/views.h"
#include "cachemon/report/run/report.h"

enum { PAGES_AROUND = 12000 };

static const int sizes[] = {4096, 16384, 65536};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void set_pages(struct fixture *f, int bytes)
{
	fixture_sql(f, "UPDATE run SET page_size_bytes = %d", bytes);
}

static const cJSON *at(const cJSON *in, const char *a, const char *b)
{
	const cJSON *found = cJSON_GetObjectItem(cJSON_GetObjectItem(in, a), b);

	assert_non_null(found);
	return found;
}

static cJSON *reported(struct fixture *f)
{
	struct report_options o = {.db = f->db, .run_id = 1, .format = REPORT_JSON};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *json;

	assert_non_null(out);
	if (report_show(&o, out, &err))
		fail_msg("%s", err.text);
	assert_int_equal(fclose(out), 0);
	json = cJSON_Parse(text);
	assert_non_null(json);
	free(text);
	return json;
}

static void a_report(void **state)
{
	struct fixture *f = *state;

	put_run(f, 1, "aaaa-1", "train");
	fixture_zero(f, "job");
	fixture_sql(f, "UPDATE job SET lookups = 5000, misses = 1000, prefetched_sync = 3000, "
		       "used = 2000, evicted_unused = 1000 WHERE slot = 1");
	for (int i = 0; i < SIZES; i++) {
		cJSON *json;

		set_pages(f, sizes[i]);
		json = reported(f);
		assert_true(at(json, "run", "page_size_bytes")->valuedouble == sizes[i]);
		assert_true(at(job_of(json), "totals", "waste_bytes")->valuedouble ==
			    1000.0 * sizes[i]);
		cJSON_Delete(json);
	}
}

/* With large pages, more is mapped than is read; and fewer of them are 0.1 % of a GiB. */
static void a_comparison(void **state)
{
	static const char *const works[SIZES] = {"read_bytes", "time", "time"};
	static const int few[SIZES] = {262, 65, 16};
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "UPDATE job_interval SET prefetched_mmap_around = %d, refaults = 1",
		    PAGES_AROUND);
	for (int i = 0; i < SIZES; i++) {
		cJSON *json;

		set_pages(f, sizes[i]);
		json = compared(f, "1", "2");
		assert_string_equal(text_of(job_of(json), "work"), works[i]);
		assert_true(number_of(metric(json, "refaults_per_work"), "relevant_difference") ==
			    few[i]);
		cJSON_Delete(json);
	}
}

/* Two files of equal size in bytes: the views use the page size of each run. */
static void pages_of_a_file(void **state)
{
	struct fixture *f = *state;

	put_run(f, 1, "aaaa-1", "train");
	fixture_sql(f,
		    "INSERT INTO directory (id, job_id, path, files) VALUES (1, 10, x'2f64', 1);"
		    "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen, "
		    "path, size_bytes) VALUES (1, 10, 1, 8, 1, 2, 1, x'2f642f66', 1000000)");
	for (int i = 0; i < SIZES; i++) {
		sqlite3 *db = NULL;
		const char *what = "";
		sqlite3_stmt *stmt = NULL;

		set_pages(f, sizes[i]);
		assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
		assert_int_equal(views_create(db, 1, &what), SQLITE_OK);
		assert_int_equal(
			sqlite3_prepare_v2(db, "SELECT size_pages FROM v_file", -1, &stmt, NULL),
			SQLITE_OK);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int64(stmt, 0),
				 (1000000 + sizes[i] - 1) / sizes[i]);
		sqlite3_finalize(stmt);
		sqlite3_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_report),
		TEST(a_comparison),
		TEST(pages_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
