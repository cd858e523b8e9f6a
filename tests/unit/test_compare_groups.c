/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access */
/* Several runs on each side, and which runs may be compared at all. */
#include "fixtures/report/compare.h"

static const char *const names[] = {"1", "2", "3",  "4",  "5",	"6",  "7",
				    "8", "9", "10", "11", "12", "13", "14"};

/* Returns the run id of a job with 40 intervals of that length, whose misses and waits are a
 * share of it. */
static void put_timed(struct fixture *f, int id, int ms)
{
	char uuid[16];

	snprintf(uuid, sizeof(uuid), "run-%d", id);
	put_run(f, id, uuid, "train");
	for (int i = 0; i < INTERVALS; i++)
		put_interval(f, id, i, 4 * ms, ms / 2);
	fixture_sql(f,
		    "UPDATE interval SET duration_ns = %d * 1000000 WHERE run_id = %d;"
		    "UPDATE run SET duration_ns = %d * 40 * 1000000 WHERE id = %d",
		    ms, id, ms, id);
}

static void put_all(struct fixture *f, const int *ms, int nr)
{
	for (int i = 0; i < nr; i++)
		put_timed(f, i + 1, ms[i]);
}

/* The first runs are "before", the others "after". */
static cJSON *grouped(struct fixture *f, int nr_a, int nr_b, enum report_format format, char **ret)
{
	const char *words[sizeof(names) / sizeof(names[0]) + 2] = {NULL};
	struct compare_options o = {.db = f->db, .per = PER_JOB, .format = format};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *json = NULL;

	for (int i = 0; i < nr_a + nr_b; i++)
		words[i + (i >= nr_a)] = names[i];
	o.runs[0] = words;
	o.runs[1] = words + nr_a + 1;
	if (compare_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	if (format == REPORT_JSON) {
		json = cJSON_Parse(text);
		assert_non_null(json);
	}
	if (ret)
		*ret = text;
	else
		free(text);
	return json;
}

static const char *sentence(const cJSON *json)
{
	return text_of(cJSON_GetObjectItem(job_of(json), "verdict"), "sentence");
}

/* All 4 are below all 4 others: 1 of 70 splits, on either side. Only the time can be judged
 * then. */
static void four_a_side(void **state)
{
	static const int ms[] = {1000, 1040, 1100, 1020, 800, 820, 790, 850};
	struct fixture *f = *state;
	cJSON *json;
	const cJSON *time, *verdict;

	put_all(f, ms, 8);
	json = grouped(f, 4, 4, REPORT_JSON, NULL);
	time = metric(json, "time_per_work");
	verdict = cJSON_GetObjectItem(job_of(json), "verdict");
	assert_string_equal(verdict_of(json), "improved");
	assert_true(close_enough(number_of(time, "p"), 2.0 / 70));
	assert_true(close_enough(number_of(time, "p_adjusted"), 2.0 / 70 / 0.6));
	assert_true(close_enough(number_of(time, "u"), 0));
	assert_true(close_enough(number_of(time, "a"), 40 * (1.020 + 1.040) / 2));
	assert_true(close_enough(number_of(time, "b"), 40 * (0.800 + 0.820) / 2));
	assert_true(close_enough(number_of(time, "difference"), 40 * (0.810 - 1.030)));
	/* From the smallest to the largest of all differences. */
	assert_true(close_enough(number_of(time, "interval_low"), 40 * (0.790 - 1.100)));
	assert_true(close_enough(number_of(time, "interval_high"), 40 * (0.850 - 1.000)));
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(time, "values_a")), 4);
	assert_true(close_enough(
		cJSON_GetArrayItem(cJSON_GetObjectItem(time, "values_b"), 3)->valuedouble, 34));
	assert_string_equal(text_of(metric(json, "stall_per_work"), "mark"), "not-judged");
	assert_non_null(
		strstr(text_of(metric(json, "stall_per_work"), "untested_reason"), "too few runs"));
	assert_string_equal(text_of(verdict, "test"), "Mann-Whitney test (exact)");
	assert_int_equal(number_of(verdict, "n_a"), 4);
	assert_non_null(strstr(sentence(json), "time 21 % less (41.2 to 32.4 s; p = 0.048). "
					       "Mann-Whitney test (exact), 4 runs before and 4 "
					       "after."));
	/* Of four, the second and the third longest are in the middle; the shorter one is shown. */
	assert_int_equal(number_of(cJSON_GetObjectItem(json, "a"), "id"), 4);
	assert_int_equal(number_of(cJSON_GetObjectItem(json, "b"), "id"), 5);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "runs_b")), 4);
	cJSON_Delete(json);
}

/* The command that would prove it compares these runs, and those to come. */
static void command_is(struct fixture *f, const cJSON *json, const char *runs)
{
	char want[4096];

	snprintf(want, sizeof(want), "cachemon compare --db %s %s --per job", f->db, runs);
	assert_string_equal(text_of(cJSON_GetObjectItem(job_of(json), "verdict"), "prove_command"),
			    want);
}

/* One against one shows how much is missing: three more of each, made in turn. */
static void one_a_side(void **state)
{
	static const int ms[] = {1000, 500};
	struct fixture *f = *state;
	cJSON *json;

	put_all(f, ms, 2);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id %% 1000 >= 10;"
		       "DELETE FROM interval WHERE id %% 1000 >= 10");
	json = grouped(f, 1, 1, REPORT_JSON, NULL);
	assert_string_equal(verdict_of(json), "untested");
	assert_non_null(strstr(sentence(json), "not proven"));
	command_is(f, json, "1 last-5 last-3 last-1 vs 2 last-4 last-2 last");
	cJSON_Delete(json);
}

/* 3 and 3 can be split in 20 ways: nothing can be proven, whatever the times. */
static void three_a_side(void **state)
{
	static const int ms[] = {1000, 1040, 1100, 500, 520, 510};
	struct fixture *f = *state;
	cJSON *json;

	put_all(f, ms, 6);
	json = grouped(f, 3, 3, REPORT_JSON, NULL);
	assert_string_equal(verdict_of(json), "untested");
	assert_non_null(strstr(sentence(json),
			       "faster by 51 % (41.6 to 20.4 s), not proven: 3 and 3 runs are too "
			       "few to tell a change from noise; repeat the runs, "
			       "and compare at least 4 before with 4 after"));
	command_is(f, json, "1 2 3 last-1 vs 4 5 6 last");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(metric(json, "time_per_work"), "p")));
	cJSON_Delete(json);
}

/* Mixed: ranks 1, 4, 5, 8 against 2, 3, 6, 7. */
static void no_difference(void **state)
{
	static const int ms[] = {1000, 1030, 1040, 1070, 1010, 1020, 1050, 1060};
	struct fixture *f = *state;
	cJSON *json;

	put_all(f, ms, 8);
	json = grouped(f, 4, 4, REPORT_JSON, NULL);
	assert_string_equal(verdict_of(json), "no-difference");
	assert_true(number_of(metric(json, "time_per_work"), "p") == 1);
	assert_non_null(strstr(
		sentence(json),
		"no difference seen: chance may explain the change of the one figure tested"));
	assert_non_null(strstr(sentence(json), "would be detected"));
	cJSON_Delete(json);
}

/* 7 and 7 in 3,432 splits: enough to judge every figure, whether or not the time differs. */
static void seven_a_side(void **state)
{
	static const int ms[] = {1000, 1010, 1020, 1030, 1040, 1050, 1060,
				 900,  910,  920,  930,	 940,  950,  960};
	struct fixture *f = *state;
	const cJSON *m;
	cJSON *json;

	put_all(f, ms, 14);
	json = grouped(f, 7, 7, REPORT_JSON, NULL);
	m = metric(json, "misses_per_work");
	assert_true(close_enough(number_of(m, "p"), 2.0 / 3432));
	assert_string_equal(text_of(m, "mark"), "real");
	cJSON_Delete(json);
	/* The time is equal, the misses are not. */
	fixture_sql(f, "UPDATE interval SET duration_ns = 1000000000 + run_id %% 7 * 1000000");
	json = grouped(f, 7, 7, REPORT_JSON, NULL);
	m = metric(json, "time_per_work");
	assert_string_equal(text_of(m, "mark"), "noise");
	/* The time is judged at 3 %: U is at most 7, in 45 of 3,432 ways on either side. The
	 * intervals differ by 0 to 6 ms: Student's t of 12 degrees; 0.152 s at 5 %. */
	assert_true(fabs(number_of(m, "detectable_difference") - 0.16101698) < 1e-7);
	assert_string_equal(text_of(metric(json, "misses_per_work"), "mark"), "real");
	assert_string_equal(verdict_of(json), "improved");
	cJSON_Delete(json);
}

/* The values and the test are in the text as well. */
static void formats(void **state)
{
	static const int ms[] = {1000, 1040, 1100, 1020, 800, 820, 790, 850};
	struct fixture *f = *state;
	char *text = NULL;

	put_all(f, ms, 8);
	grouped(f, 4, 4, REPORT_TEXT, &text);
	assert_non_null(strstr(text, "runs 1, 2, 3, 4 before, runs 5, 6, 7, 8 after\n"));
	assert_non_null(strstr(text, "40, 41.6, 44, 40.8"));
	assert_non_null(strstr(text, "Mann-Whitney test (exact)"));
	free(text);
	grouped(f, 4, 4, REPORT_HTML, &text);
	/* The picture is before the verdict. */
	assert_non_null(strstr(text, "Improved: time 21&nbsp;% less"));
	assert_true(strstr(text, "<svg") < strstr(text, "Improved: time 21&nbsp;% less"));
	assert_non_null(strstr(text, "after, run 8"));
	free(text);
}

static void assert_refused(struct fixture *f, const char *const *a, const char *const *b, bool any,
			   const char *words)
{
	struct compare_options o = {.db = f->db, .runs = {a, b}, .any = any, .format = REPORT_JSON};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(compare_show(&o, out, &err), words ? COMPARE_REFUSED : 0);
	if (words && !strstr(err.text, words))
		fail_msg("%s", err.text);
	fclose(out);
	free(text);
}

static void name_jobs(struct fixture *f, const char *name, const char *command_a,
		      const char *command_b)
{
	fixture_sql(f,
		    "UPDATE job SET name = %Q WHERE slot = 1;"
		    "UPDATE job SET selector = %Q WHERE id = 10;"
		    "UPDATE job SET selector = %Q WHERE id = 20",
		    name, command_a, command_b);
}

/* A name that the user gave makes it the same job, whatever its command. */
static void other_jobs(void **state)
{
	const char *const *a = COMPARE_RUNS("1");
	const char *const *b = COMPARE_RUNS("2");
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	name_jobs(f, "load", "command: python3 load.py 1", "command: /usr/bin/python3 load.py 2");
	assert_refused(f, a, b, false, NULL);
	name_jobs(f, "load", "command: python3 load.py", "command: dd if=x");
	assert_refused(f, a, b, false, NULL);
	name_jobs(f, "dd", "command: python3 load.py", "command: dd if=x");
	assert_refused(f, a, b, false, "different commands, 'command: python3 load.py' and");
	assert_refused(f, a, b, true, NULL);
	name_jobs(f, "python3", "command: python3 load.py", "command: python3 load.py");
	assert_refused(f, a, b, false, NULL);
	name_jobs(f, "python3", "command: python3 load.py", "command: python3 other.py");
	assert_refused(f, a, b, false, "different commands");
	name_jobs(f, "bash[12]", "pid: 12, command: bash", "pid: 14, command: bash");
	assert_refused(f, a, b, false, NULL);
	fixture_sql(f, "UPDATE job SET name = 'eval' WHERE id = 20");
	assert_refused(f, a, b, false, "different jobs, 'bash[12]' and 'eval'. Add --any");
	assert_refused(f, a, b, true, NULL);
}

static void same_run(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct compare_options o = {.db = f->db,
				    .runs = {COMPARE_RUNS("2"), COMPARE_RUNS("last")},
				    .format = REPORT_TEXT};
	struct errtext err = {""};

	fill_pair(f, 1000, 100);
	assert_int_equal(compare_show(&o, out, &err), 0);
	fclose(out);
	assert_non_null(strstr(text, "\n\nRun 2 is compared with itself: nothing can differ.\n"));
	assert_null(strstr(text, "BEFORE"));
	free(text);
	assert_refused(f, COMPARE_RUNS("1", "2"), COMPARE_RUNS("1"), false, "run 1 is given twice");
}

/* A run that failed to start is skipped among the last runs, and cannot be compared. */
static void failed_to_start(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fill_pair(f, 1000, 100);
	put_run(f, 3, "bbbb-3", "train");
	fixture_sql(f, "UPDATE run SET exit_status = 127, duration_ns = 0 WHERE id = 3");
	json = compared(f, "last-1", "last");
	assert_int_equal(number_of(cJSON_GetObjectItem(json, "a"), "id"), 1);
	assert_int_equal(number_of(cJSON_GetObjectItem(json, "b"), "id"), 2);
	cJSON_Delete(json);
	refused_with((struct compare_options){.db = f->db,
					      .runs = {COMPARE_RUNS("1"), COMPARE_RUNS("3")}},
		     "run 3 has no data, because its command failed to start (status 127)");
	/* A command that ran and exited with that status did start. */
	fixture_sql(f, "UPDATE run SET duration_ns = 5 WHERE id = 3");
	json = compared(f, "last-2", "last-1");
	assert_int_equal(number_of(cJSON_GetObjectItem(json, "b"), "id"), 2);
	cJSON_Delete(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(four_a_side),   TEST(one_a_side),	 TEST(three_a_side),
		TEST(no_difference), TEST(seven_a_side), TEST(formats),
		TEST(other_jobs),    TEST(same_run),	 TEST(failed_to_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
