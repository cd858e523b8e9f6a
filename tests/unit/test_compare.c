/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access */
#include "fixtures/report/compare.h"

#include "cachemon/base/errtext.h"
#include "cachemon/model/run_name.h"

/* The figures by hand: 64 MiB or 16384 lookups per interval; waves of 0 to 4, with mean 2. */
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
	json = compared(f, "aaaaaaaa", "AAAAAAAA");
	assert_string_equal(verdict_of(json), "no-difference");
	cJSON_Delete(json);
}

/* Damaged counters, or a call from before the run: no ratio, as in a report. */
static void more_misses_than_lookups(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 20000, 100);
	json = compared(f, "1", "2");
	assert_string_equal(text_of(metric(json, "hit_ratio"), "outcome"), "unknown");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(metric(json, "hit_ratio"), "b")));
	assert_string_equal(text_of(metric(json, "misses_per_work"), "outcome"), "worse");
	cJSON_Delete(json);
}

/* The fate of most pages is unknown: no ratio is computed from the rest, as in a report. */
static void unknown_fates(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "UPDATE job_interval SET used = 300, used_late = 0, evicted_unused = 600, "
		       "untracked = 300");
	json = compared(f, "1", "2");
	assert_true(close_enough(number_of(metric(json, "prefetch_accuracy"), "a"), 1.0 / 3));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job_interval SET untracked = 301");
	json = compared(f, "1", "2");
	assert_string_equal(text_of(metric(json, "prefetch_accuracy"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "prefetch_coverage"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "prefetch_timeliness"), "outcome"), "unknown");
	cJSON_Delete(json);
}

/* Real but irrelevant: 40 more misses of 16384, 2 ms of a second. */
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

/* Figures of the hook are absent while it was off. Time per byte uses the bytes that the tasks
 * read. */
static void sliced_is_not_tested(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "UPDATE interval SET read_on_ns = 500000000 WHERE id = 2003");
	json = compared(f, "1", "2");
	assert_string_equal(text_of(job_of(json), "work"), "rchar_bytes");
	assert_string_equal(text_of(metric(json, "hit_ratio"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "better");
	assert_string_equal(text_of(metric(json, "misses_per_work"), "outcome"), "better");
	cJSON_Delete(json);
	/* A version without a budget saw waits only while the hook was on. */
	fixture_sql(f, "UPDATE run SET sliced = 1, cost_budget = NULL WHERE id = 2");
	json = compared(f, "1", "2");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "unknown");
	assert_string_equal(text_of(metric(json, "misses_per_work"), "outcome"), "better");
	cJSON_Delete(json);
}

/* Half of the intervals read nothing: bytes do not measure the work of this job. */
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
	refused_with((struct compare_options){.db = f->db,
					      .runs = {COMPARE_RUNS(a), COMPARE_RUNS(b)},
					      .job = job},
		     words);
}

static void names_of_runs(void **state)
{
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	refused(f, "3", "1", NULL, "no run '3'");
	refused(f, "last-2", "1", NULL, "no run");
	fixture_sql(f, "UPDATE run SET uuid = '7777aaaa-' || id");
	refused(f, "7777aaaa", "1", NULL, "several runs begin");
	refused(f, "7777aaaa-3", "1", NULL, "no run '7777aaaa-3'");
	/* Digits alone are a number, and a short beginning is refused. */
	fixture_sql(f, "UPDATE run SET uuid = '77777777-' || id");
	refused(f, "77", "1", NULL, "no run '77'");
	refused(f, "77777777", "1", NULL, "no run '77777777'");
	refused(f, "77777777-", "1", NULL, "several runs begin");
	refused(f, "99999999999999999999", "1", NULL, "no run '99999999999999999999'");
	refused(f, "1", "2", "other", "no job 'other'");
	assert_true(run_name_is("last-12"));
	assert_true(run_name_is("77"));
	assert_true(run_name_is("2f4d0ac1"));
	assert_true(run_name_is("2f4d0ac1-"));
	assert_false(run_name_is("2f4d0ac"));
	assert_false(run_name_is("2f4d-"));
	assert_false(run_name_is("last-"));
	assert_false(run_name_is("last+1"));
	assert_false(run_name_is("train"));
	assert_false(run_name_is(""));
}

/* Jobs are matched by name; only jobs in both runs are compared. */
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

/* Every format has the same numbers. */
static void formats(void **state)
{
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		struct compare_options o = {
			.db = f->db, .runs = {COMPARE_RUNS("1"), COMPARE_RUNS("2")}, .format = i};
		struct errtext err = {""};
		char *text = NULL;
		size_t size = 0;
		FILE *out;

		if (!report_format_of_pages(i))
			continue;
		out = open_memstream(&text, &size);
		assert_int_equal(compare_show(&o, out, &err), 0);
		fclose(out);
		assert_non_null(strstr(text, i == REPORT_HTML ? "mproved: stall 75&nbsp;%"
							      : "mproved: stall 75 %"));
		if (i != REPORT_JSON) {
			assert_non_null(strstr(text, "64,032"));
			assert_non_null(strstr(text, "16,032"));
		}
		free(text);
		out = fopen("/dev/full", "w");
		assert_true(compare_show(&o, out, &err) < 0);
		assert_non_null(strstr(err.text, "cannot write"));
		fclose(out);
	}
}

/* Halving the intervals changes no value and no verdict. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(figures),
		TEST(more_misses_than_lookups),
		TEST(unknown_fates),
		TEST(small_is_no_change),
		TEST(too_few_intervals),
		TEST(sliced_is_not_tested),
		TEST(by_time),
		TEST(names_of_runs),
		TEST(jobs_by_name),
		TEST(formats),
		TEST(splitting_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
