/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access */
/* Runs of which one is short, or reads less because of a change: by intervals, and as a whole. */
#include "fixtures/report/compare.h"
#include "cachemon/report/compare/compare_model.h"

static void refused_per_job(struct fixture *f, const char *words)
{
	refused_with((struct compare_options){.db = f->db,
					      .runs = {COMPARE_RUNS("1"), COMPARE_RUNS("2")},
					      .per = PER_JOB},
		     words);
}

/* One run ends early; the other shows how much chance varies. */
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
		/* 16 s per GiB in each interval: a constant shows no variation. */
		assert_string_equal(text_of(metric(json, "time_per_work"), "outcome"), "untested");
		cJSON_Delete(json);
	}
}

/* The short run did a tenth of the work: it may have ended within one phase. */
static void one_run_that_ended_early(void **state)
{
	struct fixture *f = *state;
	const cJSON *verdict;
	cJSON *json;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id >= 2004;"
		       "DELETE FROM interval WHERE id >= 2004");
	json = compared(f, "1", "2");
	assert_string_equal(verdict_of(json), "untested");
	verdict = cJSON_GetObjectItem(job_of(json), "verdict");
	assert_non_null(strstr(text_of(verdict, "sentence"),
			       ", not proven: one run did less than half of the other's work; if "
			       "both completed the same job, use --per job; else repeat the runs, "
			       "and compare at least 4 before with 4 after."));
	assert_string_equal(text_of(metric(json, "time_per_work"), "outcome"), "untested");
	assert_string_equal(text_of(metric(json, "time_per_work"), "untested_reason"),
			    "one run did less than half of the other's work: --per job compares "
			    "whole jobs, or repeat the runs");
	cJSON_Delete(json);
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(verdict_of(json), "improved");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(job_of(json), "verdict"),
						     "prove_command")));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE run SET state = 'open' WHERE id = 2");
	refused_per_job(f, "run 2 did not end");
	fixture_sql(f, "UPDATE run SET state = 'complete', exit_status = 1 WHERE id = 2");
	refused_per_job(f, "run 2 ended with an error");
}

/* The second of its two intervals is very short: one value is not enough. */
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

/* B reads half as much as A in half of the time: the same per GiB, and half of the job's time. */
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
	/* The larger of 0.1 % of the pages that A reads and a twentieth of its misses. */
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "relevant_difference"),
				 fmax(262 / 16.0 * INTERVALS, 4002 * INTERVALS / 20.0)));
	cJSON_Delete(json);
}

/* A job that maps its files reads no bytes: its faults measure its work. */
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
	/* The unit that cuts the runs has one value per run, so 1.5 times as many cannot be
	 * tested. */
	assert_string_equal(text_of(metric(json, "major_faults_per_work"), "outcome"), "untested");
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
}

/* If a change makes readahead bring everything in time, almost no faults are left to measure the
 * work, so time does. */
static void whole_job_without_faults(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 4000, 400);
	fixture_sql(f, "UPDATE job_interval SET read_bytes = 0, rchar_bytes = 0, faults_minor = 0, "
		       "faults_major = iif(interval_id < 2000, 100, 1); "
		       "UPDATE job_interval SET stall_ns = stall_ns / 10 WHERE interval_id >= "
		       "2000; DELETE FROM job_interval WHERE interval_id >= 2012; DELETE FROM "
		       "interval WHERE id >= 2012");
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(text_of(job_of(json), "work"), "time");
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "better");
	assert_true(
		close_enough(number_of(metric(json, "stall_per_work"), "a"), 0.402 * INTERVALS));
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
}

/* The smallest relevant difference of a whole job's misses, by hand: 262 pages per GiB that its
 * faults bring, one page each; per second if only time measures the work. */
static void least_of_a_whole_job(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 4000, 1);
	fixture_sql(f, "UPDATE job_interval SET read_bytes = 0, rchar_bytes = 0, misses = 1, "
		       "stall_ns = 1000000, faults_major = 100, faults_minor = 50");
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(text_of(job_of(json), "work"), "major_faults");
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "relevant_difference"),
				 262 * 100.0 * INTERVALS * 4096 / (1 << 30)));
	cJSON_Delete(json);
	fixture_sql(f, "UPDATE job_interval SET faults_major = 0, faults_minor = 0");
	json = compared_per(f, "1", "2", PER_JOB);
	assert_string_equal(text_of(job_of(json), "work"), "time");
	assert_true(close_enough(number_of(metric(json, "misses_per_work"), "relevant_difference"),
				 262.0 * INTERVALS));
	/* One percent of the time of A. */
	assert_true(close_enough(number_of(metric(json, "stall_per_work"), "relevant_difference"),
				 0.01 * INTERVALS));
	cJSON_Delete(json);
}

/* A figure without a p does not count as tested: a slow wave makes the intervals too alike. */
static void withdrawn_tests_are_not_counted(void **state)
{
	struct fixture *f = *state;
	cJSON *json;
	const cJSON *m;
	int tested = 0;

	fill_pair(f, 1000, 1000);
	fixture_sql(f, "UPDATE job_interval SET stall_ns = stall_ns * (110 - 3 * abs(interval_id "
		       "%% 1000 - 20)) / "
		       "80 WHERE interval_id >= 2000");
	json = compared(f, "1", "2");
	cJSON_ArrayForEach(m, cJSON_GetObjectItem(job_of(json), "metrics")) tested +=
		cJSON_IsNumber(cJSON_GetObjectItem(m, "p_adjusted"));
	assert_string_equal(text_of(metric(json, "stall_per_work"), "outcome"), "untested");
	assert_true(tested > 0);
	assert_int_equal((int)number_of(job_of(json), "metrics_tested"), tested);
	cJSON_Delete(json);
}

/* A sentence says of the time and of waiting only what was tested. */
static void untested_waiting_is_not_called_equal(void **state)
{
	static const char *const said[] = {
		"; no difference seen in time and waiting.",
		"; no difference seen in time; waiting could not be judged."};

	(void)state;
	for (int untested = 0; untested < 2; untested++) {
		struct compare_row rows[3];
		struct compare_result r = {.rows = rows,
					   .nr_rows = 3,
					   .work_a = 1,
					   .work_b = 1,
					   .runs_a = 1,
					   .runs_b = 1,
					   .rank = 1,
					   .verdict = VERDICT_IMPROVED};
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		for (size_t i = 0; i < 3; i++)
			rows[i] = (struct compare_row){.metric = compare_metric(i),
						       .a = 0.5,
						       .b = 0.9,
						       .outcome = OUTCOME_NOISE,
						       .p_adjusted = 0.5};
		assert_string_equal(rows[1].metric->key, "stall_per_work");
		assert_string_equal(rows[2].metric->key, "hit_ratio");
		rows[2].outcome = OUTCOME_BETTER;
		rows[2].p_adjusted = 0.001;
		if (untested) {
			rows[1].outcome = OUTCOME_UNTESTED;
			rows[1].p_adjusted = NAN;
		}
		compare_sentence(out, &r);
		fclose(out);
		if (!strstr(text, said[untested]))
			fail_msg("said: %s", text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(withdrawn_tests_are_not_counted),
		cmocka_unit_test(untested_waiting_is_not_called_equal),
		TEST(one_short_run),
		TEST(one_run_that_ended_early),
		TEST(one_value),
		TEST(whole_job),
		TEST(whole_job_by_faults),
		TEST(whole_job_without_faults),
		TEST(least_of_a_whole_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
