/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report store account access */
/* Tests of the verb itself. */
#include "fixtures/report/verb.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>

#include "fixtures/golden_files.h"
#include "fixtures/report/hostile_page.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/runs/runs_report.h"
#include "cachemon/store/store_wording.h"

static struct run run(struct fixture *f, const char *const args[])
{
	return verb_run(cmd_runs, f, args);
}

static void assert_rejected(struct fixture *f, int status, const char *word,
			    const char *const args[])
{
	verb_refuses(cmd_runs, f, status, word, args);
}

static void usage(void **state)
{
	struct fixture *f = *state;

	assert_rejected(f, 2, "requires an argument", ARGS("--db"));
	assert_rejected(f, 2, "needs a name", ARGS("--db", ""));
	assert_rejected(f, 2, "unrecognized option", ARGS("--bogus"));
	assert_rejected(f, 2, "x\\x1b[1m", ARGS("x\x1b[1m"));
	assert_rejected(f, 2, "doesn't allow an argument", ARGS("--json=1"));
}

static void failures(void **state)
{
	struct fixture *f = *state;

	assert_rejected(f, 1, "no database", ARGS("--db", "/nonexistent/x.db"));
	assert_rejected(f, 1, "is a directory", ARGS("--db", f->dir));
	fixture_sql(f, "PRAGMA user_version = 900");
	assert_rejected(f, 1, "newer cachemon", ARGS("--db", "@db", "--json"));
}

static void lists(void **state)
{
	struct fixture *f = *state;
	struct run r;

	fixture_sql(f, "UPDATE run SET id = 41");
	fixture_sql(f, "UPDATE job SET run_id = 41, lookups = 1000, misses = 250");
	r = run(f, ARGS("--db", "@db"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, " 41 "));
	assert_non_null(strstr(r.out, "75.0 %"));
	run_free(&r);
	r = run(f, ARGS("--db", "@db", "--json"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "\"id\": 41,"));
	run_free(&r);
	fixture_sql(f, "DELETE FROM job; DELETE FROM run");
	r = run(f, ARGS("--db", "@db", "--json"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "\"runs\": []"));
	run_free(&r);
	r = run(f, ARGS("--db", "@db"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, ": 0 runs, "));
	run_free(&r);
}

/* A mapping of 32 MiB, and the eight lookups of the program's start. */
static void mapped_job(void **state)
{
	struct fixture *f = *state;
	struct run r;

	fixture_sql(f, "UPDATE job SET processes = 1, lookups = 8, misses = 0, faults_major = 0, "
		       "faults_minor = 548, mapped_pages_upper_bound = 8586");
	r = run(f, ARGS("--db", "@db"));
	assert_int_equal(r.status, 0);
	assert_null(strstr(r.out, "100.0 %"));
	run_free(&r);
	r = run(f, ARGS("--db", "@db", "--json"));
	assert_non_null(strstr(r.out, "\"reads_through_mappings\": true"));
	assert_non_null(strstr(r.out, "\"miss_ratio\": null"));
	run_free(&r);
	fixture_sql(f, "UPDATE job SET mapped_pages_upper_bound = 394");
	r = run(f, ARGS("--db", "@db"));
	assert_non_null(strstr(r.out, "100.0 %"));
	run_free(&r);
}

static char *printed(struct fixture *f, enum report_format format)
{
	/* A name that does not change from test to test. */
	struct runs_options o = {.db = "runs.db", .format = format};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(chdir(f->dir), 0);
	if (!strstr(f->db, "/runs.db"))
		assert_true(symlink(f->db, "runs.db") == 0 || errno == EEXIST);
	if (runs_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

/* nr runs of "train" and "eval" in turn: the k-th takes k seconds, sleeps for a tenth of them,
 * and misses k of 1000 lookups. */
static void fill(struct fixture *f, int nr)
{
	fixture_sql(f, "DELETE FROM job; DELETE FROM run");
	fixture_sql(
		f,
		"WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < %d) "
		"INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, duration_ns, "
		"state, writer_boot, writer_pidns, writer_pid, writer_start_ticks, level, "
		"read_on_ns, advice_mode, interval_ns, page_size_bytes, memory_bytes, map_bytes) "
		"SELECT n, 'u' || n, '0.1.0', 'node', '6.18.0', 'x86_64', 1700000000000000000 + n "
		"* "
		"3600000000000, n * 1000000000, 'complete', 'b', 0, 1, 0, 'full', n * 1000000000, "
		"'calls', 1000000000, 4096, 1073741824, 65536 FROM k;"
		"INSERT INTO job (run_id, slot, name, selector, wall_ns, cpu_ns, lookups, misses, "
		"stall_ns) SELECT id, 1, iif(id %% 2, 'train', 'eval'), 'command: x', duration_ns, "
		"duration_ns / 2, 1000, min(id, 1000), duration_ns / 10 FROM run",
		nr);
}

static const cJSON *item(const cJSON *json, const char *key, int at)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(json, key), at);
}

static double real(const cJSON *json, const char *key)
{
	assert_true(cJSON_IsNumber(cJSON_GetObjectItem(json, key)));
	return cJSON_GetObjectItem(json, key)->valuedouble;
}

/* Known from how the runs were made. */
static void figures(void **state)
{
	struct fixture *f = *state;
	char *text;
	cJSON *json;
	const cJSON *job, *trend;

	fill(f, 7);
	text = printed(f, REPORT_JSON);
	json = cJSON_Parse(text);
	assert_non_null(json);
	job = item(item(json, "runs", 3), "jobs", 0);
	assert_true(fabs(real(job, "wall_s") - 4) < 1e-9);
	assert_true(fabs(real(job, "miss_ratio") - 0.004) < 1e-9);
	assert_true(fabs(real(job, "stall_share") - 0.1) < 1e-9);
	/* The last run is one of train. */
	trend = item(json, "trends", 0);
	assert_string_equal(cJSON_GetObjectItem(trend, "name")->valuestring, "train");
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trend, "runs")), 4);
	for (int i = 0; i < 4; i++) {
		assert_true(item(trend, "runs", i)->valuedouble == 2 * i + 1);
		assert_true(fabs(item(trend, "wall_s", i)->valuedouble - (2 * i + 1)) < 1e-9);
		assert_true(fabs(item(trend, "miss_ratio", i)->valuedouble - 0.001 * (2 * i + 1)) <
			    1e-9);
	}
	assert_string_equal(cJSON_GetObjectItem(item(json, "trends", 1), "name")->valuestring,
			    "eval");
	cJSON_Delete(json);
	free(text);
}

/* All inputs of a grade. */
static void measured(struct fixture *f)
{
	fixture_sql(f,
		    "UPDATE job SET used = 700, used_late = 80, evicted_unused = 60, "
		    "prefetched_sync = 500, prefetched_async = 340, prefetched_willneed = 0, "
		    "prefetched_readahead2 = 0, prefetched_mmap_around = 0, demand_pages = 100, "
		    "written_pages = 3, other_added_pages = 2, refaults = 400, faults_major = 0, "
		    "faults_minor = 0, resident_unused = 0, untracked = 0, direct_read_bytes = 0");
}

/* Without a curve, the grade from counters is that of the report. */
static void grades_are_the_reports(void **state)
{
	struct fixture *f = *state;
	struct report_options o = {.db = f->db, .run_id = 2, .format = REPORT_JSON, .files = 10};
	struct errtext err = {""};
	char *report = NULL;
	char *text;
	size_t size = 0;
	cJSON *json, *want;
	const cJSON *job, *grade;
	FILE *out = open_memstream(&report, &size);

	fill(f, 3);
	measured(f);
	fixture_sql(f, "INSERT INTO directory (job_id, path, refaults, demand_pages, "
		       "prefetched_sync, prefetched_async, prefetched_willneed, "
		       "prefetched_readahead2, prefetched_mmap_around) SELECT id, CAST('/d' AS "
		       "BLOB), 400, 20, 100, 30, 0, 0, 0 FROM job");
	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	want = cJSON_Parse(report);
	text = printed(f, REPORT_JSON);
	json = cJSON_Parse(text);
	job = item(item(json, "runs", 1), "jobs", 0);
	grade = item(item(want, "jobs", 0), "grade_details", 0);
	assert_string_equal(cJSON_GetObjectItem(grade, "name")->valuestring, "overall");
	assert_true(fabs(real(job, "score_by_counters") - real(grade, "score")) < 1e-12);
	assert_string_equal(cJSON_GetObjectItem(job, "grade_by_counters")->valuestring,
			    cJSON_GetObjectItem(grade, "grade")->valuestring);
	cJSON_Delete(json);
	cJSON_Delete(want);
	free(text);
	free(report);
}

static void keep(void *arg, const struct job_head *heads, size_t nr)
{
	const struct store_config config = {.path = arg};
	struct errtext err = {""};

	if (store_put_heads(&config, heads, nr, &err))
		fail_msg("%s", err.text);
}

static const char *word(const cJSON *json, const char *key)
{
	const cJSON *at = cJSON_GetObjectItem(json, key);

	return cJSON_IsString(at) ? at->valuestring : "-";
}

/* The stored head of a run has the first statements of its report; other runs have no head. */
static void heads_are_the_reports(void **state)
{
	struct fixture *f = *state;
	struct report_options o = {.db = f->db,
				   .run_id = 2,
				   .format = REPORT_JSON,
				   .files = 10,
				   .on_heads = keep,
				   .on_heads_arg = f->db};
	struct errtext err = {""};
	char *report = NULL, *text;
	size_t size = 0;
	cJSON *json, *want;
	const cJSON *job, *of_report, *finding;
	FILE *out = open_memstream(&report, &size);

	fill(f, 3);
	/* Half of the time is spent waiting: there is a grade, but not an A. */
	measured(f);
	fixture_sql(f, "UPDATE job SET stall_ns = wall_ns / 2, misses = 900");
	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	want = cJSON_Parse(report);
	text = printed(f, REPORT_JSON);
	json = cJSON_Parse(text);
	job = item(item(json, "runs", 1), "jobs", 0);
	of_report = item(want, "jobs", 0);
	finding = item(of_report, "findings", 0);
	assert_string_not_equal(word(job, "grade"), "-");
	assert_string_equal(word(job, "grade"),
			    word(cJSON_GetObjectItem(of_report, "grades"), "overall"));
	assert_true(fabs(real(job, "score") - real(item(of_report, "grade_details", 0), "score")) <
		    1e-12);
	assert_string_equal(word(job, "answer"), word(of_report, "answer"));
	job = cJSON_GetObjectItem(job, "first_finding");
	assert_string_not_equal(word(job, "id"), "-");
	assert_string_equal(word(job, "id"), word(finding, "id"));
	assert_string_equal(word(job, "title"), word(finding, "title"));
	job = item(item(json, "runs", 0), "jobs", 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(cJSON_IsNull(cJSON_GetObjectItem(
			job, ((const char *[]){"grade", "score", "answer", "first_finding"})[i])));
	cJSON_Delete(json);
	cJSON_Delete(want);
	free(text);
	free(report);
}

/* Still running, failed, without a job, with two. */
static void golden(void **state)
{
	struct fixture *f = *state;

	setenv("TZ", "UTC", 1);
	fill(f, 5);
	fixture_sql(f,
		    "UPDATE run SET state = 'open' WHERE id = 5;"
		    "UPDATE run SET exit_status = 3 WHERE id = 4;"
		    "DELETE FROM job WHERE run_id = 2;"
		    "UPDATE job SET head_answer = 'fix', head_grade = 'C', head_score = 0.61, "
		    "head_finding = 'cache-too-small', head_title = 'a larger cache would hold "
		    "the data' WHERE run_id = 3;"
		    "UPDATE job SET head_answer = 'nothing', head_grade = 'A', head_score = 0.93, "
		    "head_finding = 'nothing-wrong', head_title = 'no rule found anything' "
		    "WHERE run_id = 4;"
		    "UPDATE job SET head_answer = 'too-little' WHERE run_id = 1;"
		    "INSERT INTO job (run_id, slot, name, selector) VALUES (3, 2, 'other', 'x')");
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		char *text;

		if (!report_format_of_pages(i))
			continue;
		text = printed(f, i);
		if (i == REPORT_JSON)
			text = golden_without(text, "\"size_bytes\": ", ",", "0");
		else if (i == REPORT_HTML) {
			text = golden_without(text, "5 runs, ", "</title>", "@SIZE@");
			text = golden_without(text, "<h1>runs.db: 5 runs, ", "</h1>", "@SIZE@");
		} else
			text = golden_without(text, "5 runs, ", "\n", "@SIZE@");
		golden_compare("runs", i, text);
		free(text);
	}
}

static void hostile_names(void **state)
{
	struct fixture *f = *state;

	fill(f, 4);
	hostile_page_name(f, "UPDATE job SET name = ?1");
	fixture_sql(f, "UPDATE run SET host = '<b>' || char(27)");
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		char *text;

		if (!report_format_of_pages(i))
			continue;
		text = printed(f, i);
		hostile_page_check(text, i);
		assert_true(i != REPORT_MARKDOWN || !strstr(text, "www.evil"));
		free(text);
	}
}

/* What does not fit is reported, with its place. */
static void ten_thousand_runs(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill(f, 10000);
	fixture_sql(f, "UPDATE job SET name = 'job ' || (run_id %% 400)");
	text = printed(f, REPORT_HTML);
	assert_in_range(strlen(text), 1, 1000000);
	assert_non_null(strstr(text, "Not shown: the 9,000 oldest runs"));
	assert_non_null(strstr(text, "Not shown: 100 more jobs"));
	assert_non_null(strstr(text, "Not shown: charts of 388 more jobs"));
	free(text);
	text = printed(f, REPORT_JSON);
	assert_non_null(strstr(text, "\"id\": 1,"));
	assert_non_null(strstr(text, "\"id\": 10000,"));
	free(text);
}

/* A link leads to a file next to the page, whatever the name of the job. */
static void reports_beside(void **state)
{
	struct fixture *f = *state;
	char dir[160], path[320];
	struct run r;
	char *page;
	int links = 0;

	fill(f, 3);
	fixture_sql(f, "UPDATE job SET name = '../../x <b>' WHERE run_id = 2;"
		       "DELETE FROM job WHERE run_id = 3");
	snprintf(dir, sizeof(dir), "%s/reports", f->dir);
	r = run(f, ARGS("--db", "@db", "--reports", dir));
	assert_string_equal(r.err, "");
	assert_int_equal(r.status, 0);
	run_free(&r);
	snprintf(path, sizeof(path), "%s/index.html", dir);
	page = fixture_read(path, NULL);
	assert_non_null(page);
	for (const char *p = strstr(page, "href=\"run"); p; p = strstr(p + 1, "href=\"run")) {
		size_t len = strcspn(p + 6, "\"");

		snprintf(path, sizeof(path), "%s/%.*s", dir, (int)len, p + 6);
		assert_null(strchr(path + strlen(dir) + 1, '/'));
		assert_int_equal(access(path, R_OK), 0);
		links++;
	}
	assert_int_equal(links, 2);
	free(page);
	assert_rejected(f, 2, "omit -o", ARGS("--reports", dir, "-o", "x.html"));
	assert_rejected(f, 2, "needs a name", ARGS("--reports", ""));
	assert_rejected(f, 1, "cannot make the directory",
			ARGS("--db", "@db", "--reports", "/nonexistent/a/b"));
	assert_rejected(f, 2, "csv", ARGS("--db", "@db", "--format", "csv"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(usage, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(failures, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(lists, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(mapped_job, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(figures, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(grades_are_the_reports, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(heads_are_the_reports, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(golden, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(hostile_names, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(ten_thousand_runs, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(reports_beside, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
