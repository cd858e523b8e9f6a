/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor model account access */
/*
 * Each figure has one value, computed by the views in SQL or by a report in C. Random counters:
 * more misses than lookups, zeros, not measured, and sliced runs. If a report has an estimate or a
 * bound, the view has NULL.
 */
#include "fixtures/advisor/world.h"
#include "fixtures/chance.h"

#include <cjson/cJSON.h>

#include "cachemon/db/views.h"
#include "cachemon/figures/counts.h"
#include "cachemon/model/model_rows.h"

enum { JOBS = 400, PAGE_SIZE = 16384 };

static const char *const tables[] = {"job", "directory", "file", "filesystem", "job_interval"};

enum { TABLES = sizeof(tables) / sizeof(tables[0]), OF_INTERVALS = TABLES - 1 };

static const struct {
	const char *view, *id;
} views[TABLES] = {
	{"v_job_all", "job_id"},	   {"v_directory", "directory_id"}, {"v_file", "file_id"},
	{"v_filesystem", "filesystem_id"}, {"v_interval", "interval_id"},
};

/* In an interval they may be negative: earlier counts that are taken back. */
static bool may_be_negative(int counter, bool interval)
{
	return interval || counter == C_resident_unused ||
	       (counter >= C_window_log2_0 && counter <= C_window_log2_15);
}

static int64_t any_value(uint64_t *seed, bool negative)
{
	static const int64_t below[] = {1, 4, 100, INT64_C(1) << 40};
	int64_t v = (int64_t)(next(seed) % (uint64_t)below[next(seed) % 4]);

	return negative && next(seed) % 4 == 0 ? -v : v;
}

static void put_counters(struct fixture *f, uint64_t *seed, const char *table, int id)
{
	bool interval = !strcmp(table, tables[OF_INTERVALS]);
	char *sql = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&sql, &size);

	assert_non_null(out);
	fprintf(out, "UPDATE %s SET ", table);
	for (int c = 0; c < C_NR; c++) {
		bool absent = next(seed) % 10 == 0;

		fprintf(out, "%s%s = ", c ? ", " : "", counter_name(c));
		if (absent)
			fputs("NULL", out);
		else
			fprintf(out, "%lld",
				(long long)any_value(seed, may_be_negative(c, interval)));
	}
	fprintf(out, " WHERE %s = %d", interval ? "interval_id" : "id", id);
	assert_int_equal(fclose(out), 0);
	fixture_sql(f, "%s", sql);
	free(sql);
}

static void put_job(struct fixture *f, uint64_t *seed, int id)
{
	fixture_sql(f,
		    "INSERT INTO job (id, run_id, slot, name, selector) "
		    "VALUES (%d, 1, %d, 'j', 's');"
		    "INSERT INTO directory (id, job_id, path, files) VALUES (%d, %d, x'2f64', 1);"
		    "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen) "
		    "VALUES (%d, %d, %d, 8, 1, %d, 1);"
		    "INSERT INTO filesystem (id, job_id) VALUES (%d, %d);"
		    "INSERT INTO interval (id, run_id, start_ns, duration_ns, read_on_ns) "
		    "VALUES (%d, 1, %d, 1000, 1000);"
		    "INSERT INTO job_interval (interval_id, job_id) VALUES (%d, %d)",
		    id, id, id, id, id, id, id, id, id, id, id, id * 1000, id, id);
	for (int t = 0; t < TABLES; t++)
		put_counters(f, seed, tables[t], id);
}

static struct counts counts_of(struct fixture *f, struct arena *arena, int table, int id,
			       bool sliced)
{
	int64_t of = id;
	char *sql = model_rows_sql("SELECT 0", "FROM");
	char *whole = sqlite3_mprintf("%s %s WHERE %s = ?1", sql, tables[table],
				      table == OF_INTERVALS ? "interval_id" : "id");
	struct rows r = rows_begin(f->sql, arena, whole, 1, &of);
	struct counts c;

	assert_true(rows_next(&r));
	rows_i64(&r);
	model_rows_counts(&r, &c);
	if (sliced && table != OF_INTERVALS)
		counts_slice(&c, NULL, true);
	rows_next(&r);
	assert_int_equal(rows_finish(&r), 0);
	sqlite3_free(whole);
	free(sql);
	return c;
}

/* One row of each view. */
struct row {
	const char *view;
	int id;
	sqlite3_stmt *stmt;
	size_t differ; /* figures compared so far */
};

static void tell(struct row *r, const char *name, int at, bool known, double c)
{
	if (r->differ++ < 20)
		print_error("%s.%s of %d: SQL %s, C %s%.17g\n", r->view, name, r->id,
			    sqlite3_column_text(r->stmt, at), known ? "" : "absent, not ", c);
}

static int column_of(const struct row *r, const char *name)
{
	for (int i = 0; i < sqlite3_column_count(r->stmt); i++)
		if (!strcmp(sqlite3_column_name(r->stmt, i), name))
			return i;
	return -1;
}

/* Compares a column if the view has it; returns whether it has. */
static bool same_count(struct row *r, const char *name, struct opt_i64 c)
{
	int at = column_of(r, name);

	if (at < 0)
		return false;
	if ((sqlite3_column_type(r->stmt, at) != SQLITE_NULL) != c.known ||
	    (c.known && sqlite3_column_int64(r->stmt, at) != c.value))
		tell(r, name, at, c.known, (double)c.value);
	return true;
}

/* Equal to the last bit. */
static bool same_ratio(struct row *r, const char *name, struct opt_f64 c)
{
	int at = column_of(r, name);

	if (at < 0)
		return false;
	if ((sqlite3_column_type(r->stmt, at) != SQLITE_NULL) != c.known ||
	    (c.known && sqlite3_column_double(r->stmt, at) != c.value))
		tell(r, name, at, c.known, c.value);
	return true;
}

static struct opt_i64 exact(const struct counts *c, enum counter which)
{
	struct opt_i64 v = counts_get(c, which);

	v.known = v.known && !counts_lower_bound(c, which) && !counts_estimated(c, which);
	return v;
}

static struct opt_f64 exact_ratio(struct opt_f64 v, const struct range *r)
{
	v.known = v.known && !r->low.known;
	return v;
}

/* Figures that the views derive differently under the same name; an interval has stored values. */
static bool is_another(int counter, bool interval)
{
	return interval || counter == C_refault_distance_pages || counter == C_refault_distance_ms;
}

static size_t compare_row(struct row *r, const struct counts *c, bool interval)
{
	struct derived d;
	size_t nr = 0;

	counts_derive(c, PAGE_SIZE, &d);
	nr += same_ratio(r, "hit_ratio", d.hit_ratio);
	for (enum counter i = 0; i < C_NR; i++)
		if (!is_another(i, interval))
			nr += same_count(r, counter_name(i), exact(c, i));
	if (interval)
		return nr;
	d.waste_bytes.known = d.waste_bytes.known && exact(c, C_evicted_unused).known;
	nr += same_count(r, "hits", d.hits);
	nr += same_count(r, "prefetched_pages", d.prefetched_pages);
	nr += same_count(r, "evicted_pages", d.evicted_pages);
	nr += same_count(r, "waste_bytes", d.waste_bytes);
	nr += same_count(r, "all_used", opt_add(exact(c, C_used), exact(c, C_used_late)));
	nr += same_ratio(r, "accuracy", exact_ratio(d.accuracy, &d.accuracy_range));
	nr += same_ratio(r, "coverage", exact_ratio(d.coverage, &d.coverage_range));
	nr += same_ratio(r, "timeliness", exact_ratio(d.timeliness, &d.timeliness_range));
	return nr;
}

/* Returns the number of figures that differ. */
static size_t compare_view(struct fixture *f, int table, bool sliced)
{
	struct row r = {.view = views[table].view};
	char *sql = sqlite3_mprintf("SELECT * FROM %s", r.view);
	struct arena arena = {0};
	int rows = 0;

	assert_int_equal(sqlite3_prepare_v2(f->sql, sql, -1, &r.stmt, NULL), SQLITE_OK);
	sqlite3_free(sql);
	while (sqlite3_step(r.stmt) == SQLITE_ROW) {
		struct counts c;

		r.id = sqlite3_column_int(r.stmt, column_of(&r, views[table].id));
		c = counts_of(f, &arena, table, r.id, sliced);
		assert_true(compare_row(&r, &c, table == OF_INTERVALS) >=
			    (table == OF_INTERVALS ? 1 : 40));
		rows++;
	}
	sqlite3_finalize(r.stmt);
	arena_free(&arena);
	assert_true(rows >= JOBS);
	return r.differ;
}

static void compare_runs(struct fixture *f, bool sliced)
{
	uint64_t seed = sliced ? 7 : 1;
	const char *what = "";
	size_t differ = 0;

	fixture_sql(f, "BEGIN; UPDATE run SET page_size_bytes = %d, sliced = %d", PAGE_SIZE,
		    (int)sliced);
	fixture_sql(f, "DELETE FROM job WHERE slot = 1");
	for (int i = 3; i < JOBS + 3; i++)
		put_job(f, &seed, i);
	fixture_sql(f, "COMMIT");
	if (views_create(f->sql, 1, &what) != SQLITE_OK)
		fail_msg("%s: %s", what, sqlite3_errmsg(f->sql));
	for (int t = 0; t < TABLES; t++)
		differ += compare_view(f, t, sliced);
	assert_int_equal(differ, 0);
}

static void views_and_reports_agree(void **state)
{
	compare_runs(*state, false);
}

static void so_they_do_of_sliced_runs(void **state)
{
	compare_runs(*state, true);
}

/* Every plain counter is in the JSON schema. */
static void plain_counters_are_in_the_schema(void **state)
{
	static const char *const names[] = {
#define X(name, ...) #name,
		PLAIN_COUNTERS(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		static const char schema[] = SOURCE_DIR "/docs/schema/report.json";
		cJSON *json;
		char *text = fixture_read(schema, NULL);

		assert_non_null(text);
		json = cJSON_Parse(text);
		for (int k = 0; k < 2; k++) {
			const char *part = k ? "timeline" : "totals";
			const cJSON *of =
				cJSON_GetObjectItem(cJSON_GetObjectItem(json, "$defs"), part);

			if (!cJSON_HasObjectItem(cJSON_GetObjectItem(of, "properties"), names[i]))
				fail_msg("%s: $defs.%s.properties has no \"%s\"", schema, part,
					 names[i]);
		}
		cJSON_Delete(json);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(views_and_reports_agree, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(so_they_do_of_sliced_runs, world_begin,
						fixture_teardown),
		cmocka_unit_test(plain_counters_are_in_the_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
