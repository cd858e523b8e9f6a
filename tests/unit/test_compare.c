/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account util */
#include "fixtures/report/fixture.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "compare/compare.h"
#include "report/compare.h"
#include "report/run_name.h"

enum { INTERVALS = 40 };

static bool close_enough(double got, double want)
{
	return fabs(got - want) <= 1e-9 * fmax(fabs(want), 1);
}

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_begin(f);
	*state = f;
	return 0;
}

static void put_run(struct fixture *f, int id, const char *uuid, const char *job)
{
	fixture_sql(
		f,
		"INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, "
		"duration_ns, state, writer_boot, writer_pidns, writer_pid, "
		"writer_start_ticks, level, read_on_ns, advice_mode, interval_ns, "
		"page_size_bytes, memory_bytes, map_bytes) VALUES (%d, %Q, '0.1.0', 'node', "
		"'6.18.0', 'x86_64', 1700000000123456789, 2000000000, 'complete', 'b', 0, 1, 0, "
		"'full', 2000000000, 'calls', 1000000000, 4096, 1073741824, 65536);"
		"INSERT INTO job (id, run_id, slot, name, selector) VALUES "
		"(%d, %d, 1, %Q, 'command: x'), (%d, %d, 0, '(others)', 'all others')",
		id, uuid, 10 * id, id, job, 10 * id + 1, id);
}

/* 64 MiB in each interval, with misses and a stall that go up and down a little. */
static void put_interval(struct fixture *f, int run, int at, int misses, int stall_ms)
{
	int wave = (at * 7) % 5;

	fixture_sql(f,
		    "INSERT INTO interval (id, run_id, start_ns, duration_ns, read_on_ns) VALUES "
		    "(%d, %d, %d * 1000000000, 1000000000, 1000000000);"
		    "INSERT INTO job_interval (interval_id, job_id, cpu_ns, rchar_bytes, "
		    "read_bytes, direct_read_bytes, lookups, misses, stall_ns) VALUES (%d, %d, "
		    "500000000, 67108864, 67108864, 0, 16384, %d, %d * 1000000)",
		    run * 1000 + at, run, at, run * 1000 + at, run * 10, misses + wave,
		    stall_ms + wave);
}

static cJSON *compared_per(struct fixture *f, const char *a, const char *b, enum compare_per per)
{
	struct compare_options o = {.db = f->db, .run = {a, b}, .per = per, .format = REPORT_JSON};
	char err[512] = "";
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *json = NULL;

	if (compare_print(&o, out, err, sizeof(err)) < 0)
		fail_msg("%s", err);
	fclose(out);
	json = cJSON_Parse(text);
	assert_non_null(json);
	free(text);
	return json;
}

static cJSON *compared(struct fixture *f, const char *a, const char *b)
{
	return compared_per(f, a, b, PER_WORK);
}

static const cJSON *job_of(const cJSON *json)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(json, "jobs"), 0);
}

static const cJSON *metric(const cJSON *json, const char *name)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, cJSON_GetObjectItem(job_of(json), "metrics"))
	{
		if (!strcmp(cJSON_GetObjectItem(m, "metric")->valuestring, name))
			return m;
	}
	fail_msg("no metric %s", name);
	return NULL;
}

static const char *text_of(const cJSON *m, const char *key)
{
	return cJSON_GetObjectItem(m, key)->valuestring;
}

static double number_of(const cJSON *m, const char *key)
{
	assert_true(cJSON_IsNumber(cJSON_GetObjectItem(m, key)));
	return cJSON_GetObjectItem(m, key)->valuedouble;
}

static const char *verdict_of(const cJSON *json)
{
	return text_of(cJSON_GetObjectItem(job_of(json), "verdict"), "result");
}

static void fill_pair(struct fixture *f, int misses_b, int stall_b)
{
	put_run(f, 1, "aaaa-1", "train");
	put_run(f, 2, "aabb-2", "train");
	for (int i = 0; i < INTERVALS; i++) {
		put_interval(f, 1, i, 4000, 400);
		put_interval(f, 2, i, misses_b, stall_b);
	}
}

/* The figures by hand: 64 MiB an interval, 16384 lookups; waves of 0 to 4, 2 on the average. */
static void figures(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	json = compared(f, "1", "2");
	assert_string_equal(verdict_of(json), "improved");
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "a"), 4002 * 16));
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "b"), 1002 * 16));
	assert_true(close_enough(number_of(metric(json, "hit_ratio"), "a"), 1 - 4002.0 / 16384));
	assert_true(close_enough(number_of(metric(json, "stall_per_work"), "a"), 0.402 * 16));
	assert_true(close_enough(number_of(metric(json, "time_per_work"), "b"), 16));
	assert_true(close_enough(number_of(metric(json, "stall_per_work"), "difference"), -4.8));
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "better");
	assert_string_equal(text_of(metric(json, "time_per_work"), "outcome"), "noise");
	assert_string_equal(text_of(metric(json, "prefetch_accuracy"), "outcome"), "unknown");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(metric(json, "prefetch_accuracy"), "a")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(metric(json, "prefetch_accuracy"), "p")));
	cJSON_Delete(json);
	json = compared(f, "last", "last-1");
	assert_string_equal(verdict_of(json), "worse");
	assert_string_equal(text_of(metric(json, "hit_ratio"), "outcome"), "worse");
	cJSON_Delete(json);
	json = compared(f, "aaa", "AAAA");
	assert_string_equal(verdict_of(json), "no-difference");
	cJSON_Delete(json);
}

/* Real, and nobody cares: 40 misses more of 16384, 2 ms of a second. */
static void small_is_no_change(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 4040, 402);
	json = compared(f, "1", "2");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "small");
	assert_string_equal(text_of(metric(json, "misses_per_work"), "outcome"), "small");
	assert_string_equal(verdict_of(json), "no-difference");
	cJSON_Delete(json);
}

static void too_few_intervals(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id %% 1000 >= 19;"
		       "DELETE FROM interval WHERE id %% 1000 >= 19");
	json = compared(f, "1", "2");
	assert_string_equal(verdict_of(json), "untested");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(metric(json, "stall_per_work"), "p")));
	assert_true(number_of(metric(json, "stall_per_work"), "difference") < -4);
	assert_non_null(strstr(text_of(metric(json, "stall_per_work"), "untested_reason"), "few"));
	cJSON_Delete(json);
}

static void refused_with(struct compare_options o, const char *words)
{
	char err[512] = "";

	assert_true(compare_print(&o, stdout, err, sizeof(err)) < 0);
	if (!strstr(err, words))
		fail_msg("'%s' does not say '%s'", err, words);
}

static void refused_per_job(struct fixture *f, const char *words)
{
	refused_with((struct compare_options){.db = f->db, .run = {"1", "2"}, .per = PER_JOB},
		     words);
}

/* One run is over soon: the other one tells what chance may do. */
static void one_short_run(void **state)
{
	static const char *const order[2][2] = {{"1", "2"}, {"2", "1"}};
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id >= 2003;"
		       "DELETE FROM interval WHERE id >= 2003;"
		       "UPDATE job_interval SET read_bytes = read_bytes * 13, lookups = lookups * "
		       "13, misses = misses * 13, stall_ns = stall_ns * 13, cpu_ns = cpu_ns * 13, "
		       "rchar_bytes = rchar_bytes * 13 WHERE interval_id >= 2000");
	for (int i = 0; i < 2; i++) {
		cJSON *json = compared(f, order[i][0], order[i][1]);
		double sign = i ? 1 : -1;

		assert_string_equal(verdict_of(json), i ? "worse" : "improved");
		assert_non_null(strstr(text_of(job_of(json), "test"), "longer"));
		assert_true(number_of(metric(json, "stall_per_work"), "difference") * sign > 4);
		assert_true(number_of(metric(json, "stall_per_work"), "t") * sign > 0);
		assert_true(number_of(metric(json, "stall_per_work"), "p") < 0.001);
		/* 16 s a GiB in each interval: what never changes tells nothing of chance. */
		assert_string_equal(text_of(metric(json, "time_per_work"), "outcome"), "untested");
		cJSON_Delete(json);
	}
}

/* It did a tenth of the work: it may have ended in one phase of it. */
static void one_run_that_ended_early(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id >= 2004;"
		       "DELETE FROM interval WHERE id >= 2004");
	json = compared(f, "1", "2");
	assert_string_equal(verdict_of(json), "untested");
	cJSON_Delete(json);
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE run SET state = 'open' WHERE id = 2");
	refused_per_job(f, "run 2 did not end");
	fixture_sql(f, "UPDATE run SET state = 'complete', exit_status = 1 WHERE id = 2");
	refused_per_job(f, "run 2 ended with an error");
}

/* The second of its two intervals is but a moment: one value says nothing. */
static void one_value(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f,
		    "DELETE FROM job_interval WHERE interval_id >= 2002;"
		    "DELETE FROM interval WHERE id >= 2002;"
		    "UPDATE job_interval SET read_bytes = read_bytes * iif(interval_id = 2000, 39, "
		    "1), stall_ns = 1000 WHERE interval_id >= 2000; UPDATE interval SET "
		    "duration_ns = 50000000, read_on_ns = 50000000 WHERE id = 2001");
	json = compared(f, "1", "2");
	assert_string_equal(verdict_of(json), "untested");
	assert_non_null(strstr(text_of(metric(json, "stall_per_work"), "untested_reason"), "few"));
	cJSON_Delete(json);
}

/* B reads half of what A does, in half of the time: the same per GiB, and half of the job's time.
 */
static void whole_job(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 4000, 400);
	fixture_sql(f, "UPDATE job_interval SET read_bytes = read_bytes / 2, misses = misses / 2, "
		       "lookups = lookups / 2, cpu_ns = cpu_ns / 2, "
		       "stall_ns = stall_ns / 2 WHERE interval_id >= 2000;"
		       "UPDATE interval SET duration_ns = duration_ns / 2 + id %% 7, read_on_ns = "
		       "duration_ns / 2 + id %% 7 WHERE id >= 2000");
	json = compared(f, "1", "2");
	assert_string_equal(verdict_of(json), "no-difference");
	cJSON_Delete(json);
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(verdict_of(json), "improved");
	assert_string_equal(text_of(job_of(json), "per"), "job");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "unit"), "s");
	assert_true(
		close_enough(number_of(metric(json, "stall_per_work"), "a"), 0.402 * INTERVALS));
	assert_true(close_enough(number_of(metric(json, "time_per_work"), "a"), INTERVALS));
	assert_true(fabs(number_of(metric(json, "time_per_work"), "b") - INTERVALS / 2.0) < 1e-6);
	assert_string_equal(text_of(metric(json, "misses_per_work"), "unit"), "pages");
	assert_true(
		close_enough(number_of(metric(json, "misses_per_work"), "a"), 4002 * INTERVALS));
	/* 0.1 % of the pages that A reads, or a twentieth of its misses, the larger of both. */
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "relevant_difference"),
				 fmax(262 / 16.0 * INTERVALS, 4002 * INTERVALS / 20.0)));
	cJSON_Delete(json);
}

/* A job that maps its files reads no bytes: its faults say how far it is. */
static void whole_job_by_faults(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 4000, 400);
	fixture_sql(f, "UPDATE job_interval SET read_bytes = 0, rchar_bytes = 0, faults_major = "
		       "iif(interval_id < 2000, 100, 150) + interval_id %% 3, faults_minor = 50; "
		       "UPDATE interval SET duration_ns "
		       "= duration_ns / 3 + id %% 7 WHERE id >= 2000");
	json = compared(f, "1", "2");
	assert_string_equal(text_of(job_of(json), "work"), "time");
	cJSON_Delete(json);
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(text_of(job_of(json), "work"), "major_faults");
	assert_string_equal(text_of(metric(json, "time_per_work"), "outcome"), "better");
	/* What cuts the runs is one value of each: 1.5 times as many are no test. */
	assert_string_equal(text_of(metric(json, "major_faults_per_work"), "outcome"), "untested");
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
}

/* What the hook did not see is no figure, and time per byte goes by the bytes of its tasks. */
static void sliced_is_not_tested(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "UPDATE interval SET read_on_ns = 500000000 WHERE id = 2003");
	json = compared(f, "1", "2");
	assert_string_equal(text_of(job_of(json), "work"), "rchar_bytes");
	assert_string_equal(text_of(metric(json, "hit_ratio"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "misses_per_work"), "outcome"), "better");
	cJSON_Delete(json);
}

/* Half of the intervals read nothing: bytes do not measure this job. */
static void by_time(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "UPDATE job_interval SET read_bytes = 0, rchar_bytes = 0 "
		       "WHERE interval_id %% 1000 > 15");
	json = compared(f, "1", "2");
	assert_string_equal(text_of(job_of(json), "work"), "time");
	assert_string_equal(text_of(metric(json, "time_per_work"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "unit"), "s per second");
	assert_true(close_enough(number_of(metric(json, "stall_per_work"), "a"), 0.402));
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
}

static void refused(struct fixture *f, const char *a, const char *b, const char *job,
		    const char *words)
{
	refused_with((struct compare_options){.db = f->db, .run = {a, b}, .job = job}, words);
}

static void names_of_runs(void **state)
{
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	refused(f, "3", "1", NULL, "no run '3'");
	refused(f, "last-2", "1", NULL, "no run");
	refused(f, "aa", "1", NULL, "several runs begin");
	refused(f, "1", "2", "other", "no job 'other'");
	assert_true(run_name_is("last-12"));
	assert_true(run_name_is("2f4d-"));
	assert_false(run_name_is("last-"));
	assert_false(run_name_is("last+1"));
	assert_false(run_name_is("train"));
	assert_false(run_name_is(""));
}

/* Several jobs are matched by name, and only those that both runs have. */
static void jobs_by_name(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "INSERT INTO job (id, run_id, slot, name, selector) VALUES "
		       "(15, 1, 2, 'eval', 'x'), (25, 2, 2, 'other', 'x')");
	json = compared(f, "1", "2");
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "jobs")), 1);
	assert_string_equal(text_of(job_of(json), "name_a"), "train");
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job SET name = 'gone' WHERE id = 20");
	refused(f, "1", "2", NULL, "no watched job of the same name");
}

/* The same numbers in every format. */
static void formats(void **state)
{
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		struct compare_options o = {.db = f->db, .run = {"1", "2"}, .format = i};
		char err[512] = "";
		char *text = NULL;
		size_t size = 0;
		FILE *out;

		if (!compare_has_format(i))
			continue;
		out = open_memstream(&text, &size);
		assert_int_equal(compare_print(&o, out, err, sizeof(err)), 0);
		fclose(out);
		assert_non_null(strstr(text, "improved: stall 75 "));
		if (i != REPORT_JSON) {
			assert_non_null(strstr(text, "64,032"));
			assert_non_null(strstr(text, "16,032"));
		}
		free(text);
		out = fopen("/dev/full", "w");
		assert_true(compare_print(&o, out, err, sizeof(err)) < 0);
		assert_non_null(strstr(err, "cannot write"));
		fclose(out);
	}
}

/* Cutting the intervals in two changes no value and no verdict. */
static void splitting_intervals(void **state)
{
	struct fixture *f = *state;
	double a;
	cJSON *json;

	fill_pair(f, 1000, 100);
	json = compared(f, "1", "2");
	a = number_of(metric(json, "misses_per_work"), "a");
	cJSON_Delete(json);
	fixture_sql(f, "INSERT INTO interval (id, run_id, start_ns, duration_ns, read_on_ns) "
		       "SELECT id + 100000, run_id, start_ns + 500000000, 500000000, 500000000 "
		       "FROM interval; UPDATE interval SET duration_ns = 500000000, read_on_ns = "
		       "500000000; INSERT INTO job_interval (interval_id, job_id, cpu_ns, "
		       "rchar_bytes, read_bytes, direct_read_bytes, lookups, misses, stall_ns) "
		       "SELECT interval_id + 100000, job_id, cpu_ns / 2, rchar_bytes / 2, "
		       "read_bytes / 2, 0, lookups / 2, misses / 2, stall_ns / 2 FROM "
		       "job_interval; UPDATE job_interval SET cpu_ns = cpu_ns - cpu_ns / 2, "
		       "rchar_bytes = rchar_bytes / 2, read_bytes = read_bytes / 2, lookups = "
		       "lookups / 2, misses = misses - misses / 2, stall_ns = stall_ns - stall_ns "
		       "/ 2 WHERE interval_id < 100000");
	json = compared(f, "1", "2");
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "a"), a));
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, begin, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(figures),
		TEST(small_is_no_change),
		TEST(too_few_intervals),
		TEST(one_short_run),
		TEST(one_run_that_ended_early),
		TEST(one_value),
		TEST(whole_job),
		TEST(whole_job_by_faults),
		TEST(sliced_is_not_tested),
		TEST(by_time),
		TEST(names_of_runs),
		TEST(jobs_by_name),
		TEST(formats),
		TEST(splitting_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
