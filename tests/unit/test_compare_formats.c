/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access */
/* A comparison in each format: its content, common scales of both runs, marks, hostile names. */
#include "fixtures/golden_files.h"
#include "fixtures/report/hostile_page.h"
#include "fixtures/report/compare.h"

#include "cachemon/base/errtext.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"
#include "cachemon/db/db_read.h"

static char *printed(struct fixture *f, enum report_format format)
{
	struct compare_options o = {
		.db = f->db, .runs = {COMPARE_RUNS("1"), COMPARE_RUNS("2")}, .format = format};
	struct errtext err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (compare_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

/* The second run is half as long, with a quarter of the misses and stalls. */
static void fill_unlike(struct fixture *f)
{
	fill_pair(f, 1000, 100);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id >= 2020;"
		       "DELETE FROM interval WHERE id >= 2020;"
		       "UPDATE run SET kernel = '6.19.0', duration_ns = 1000000000 WHERE id = 2;"
		       "UPDATE job_interval SET used = 300, used_late = 20, evicted_unused = 5, "
		       "resident_unused = 0, untracked = 0 WHERE interval_id < 2000;"
		       "UPDATE job_interval SET used = 90, used_late = 2, evicted_unused = 1, "
		       "resident_unused = 0, untracked = 0 WHERE interval_id >= 2000");
	for (int i = C_window_log2_0; i <= C_window_log2_15; i++)
		fixture_sql(f,
			    "UPDATE job SET %s = %d WHERE run_id = 1; UPDATE job SET %s = %d "
			    "WHERE run_id = 2",
			    counter_name(i), i == C_window_log2_0 + 5 ? 400 : 0, counter_name(i),
			    i == C_window_log2_0 + 3 ? 100 : 0);
}

static void golden(void **state)
{
	struct fixture *f = *state;

	fill_unlike(f);
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		char *text;

		if (!report_format_of_pages(i))
			continue;
		text = printed(f, i);
		golden_compare("compare", i, text);
		free(text);
	}
}

static void load(struct fixture *f, struct compare_model *m)
{
	struct compare_options o = {.db = f->db, .runs = {COMPARE_RUNS("1"), COMPARE_RUNS("2")}};
	struct errtext err = {""};
	sqlite3 *db = NULL;

	assert_int_equal(db_read_open(f->db, &db, &err), 0);
	if (compare_model_load(db, &o, m, &err) < 0)
		fail_msg("%s", err.text);
	sqlite3_close(db);
}

static void assert_same_scales(const struct picture *a, const struct picture *b)
{
	assert_true(a->axis.nr && b->axis.nr);
	assert_true(picture_begin(a) == picture_begin(b));
	assert_true(picture_end(a) == picture_end(b));
	assert_int_equal(a->nr_panels, b->nr_panels);
	for (size_t i = 0; i < a->nr_panels; i++) {
		const struct picture_panel *p = &a->panels[i];
		const struct picture_panel *q = &b->panels[i];
		double top = picture_top(p, a->axis.nr);

		assert_string_equal(p->name, q->name);
		assert_int_equal(p->nr_series, q->nr_series);
		assert_true(top == picture_top(q, b->axis.nr) || (isnan(top) && isnan(q->top)));
		for (size_t k = 0; k < p->nr_series; k++) {
			assert_true(p->series[k].top == q->series[k].top);
			for (size_t n = 0; n < a->axis.nr; n++)
				assert_false(p->series[k].values[n] > top);
			for (size_t n = 0; n < b->axis.nr; n++)
				assert_false(q->series[k].values[n] > top);
		}
	}
}

/* 40 and 20 intervals of a second; 4002 and 1002 misses per second of 16384, stalls of 402 and
 * 102 ms. */
static void same_scales(void **state)
{
	struct fixture *f = *state;
	struct compare_model m;
	const struct compare_pictures *p;

	fill_unlike(f);
	load(f, &m);
	assert_int_equal(m.nr_jobs, 1);
	p = &m.jobs[0].pictures;
	assert_same_scales(&p->time[0].picture, &p->time[1].picture);
	assert_same_scales(&p->windows[0].picture, &p->windows[1].picture);
	assert_true(close_enough(picture_end(&p->time[1].picture), 40));
	assert_int_equal(p->time[1].picture.axis.nr, 20);
	assert_true(close_enough(p->time[1].picture.panels[0].top, 16384));
	assert_true(close_enough(p->time[1].picture.panels[2].top, 0.404));
	assert_true(close_enough(p->time[1].picture.marks[0].at, 20));
	/* From 8 to 63 pages, in both runs. */
	assert_int_equal(p->windows[0].picture.axis.nr, 3);
	assert_int_equal(p->windows[1].picture.axis.nr, 3);
	assert_string_equal(p->windows[1].picture.axis.names[0], "8 to 15");
	assert_true(close_enough(p->windows[1].picture.panels[0].top, 400));
	compare_model_free(&m);
}

/* A quarter of the height of the other run's line, and dots after the end of the run. */
static void lines_are_scaled_alike(void **state)
{
	struct fixture *f = *state;
	char *text;
	const char *first, *second;

	fill_unlike(f);
	text = printed(f, REPORT_TEXT);
	first = strstr(text, "\nmisses           ████████");
	assert_non_null(first);
	second = strstr(first + 1, "\nmisses           ▂▃▃▃");
	assert_non_null(second);
	/* Half as wide, because the run was half as long. */
	second = strstr(second, "▃.................  peak 1,004 pages/s\n");
	assert_non_null(second);
	free(text);
}

static const char *mark_of(const cJSON *json, const char *name)
{
	return text_of(metric(json, name), "mark");
}

/*
 * Known from how the runs were made, independent of the test: a quarter of the misses and stalls is
 * a real difference, the time of intervals of a second is unchanged, and 19 intervals are too few
 * to judge.
 */
static void marks(void **state)
{
	struct fixture *f = *state;
	cJSON *json;
	const cJSON *m;
	double low, high, half;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "UPDATE job_interval SET stall_ns = stall_ns + (interval_id * 3 %% 7) * "
		       "1000000 WHERE interval_id >= 2000");
	json = compared(f, "1", "2");
	assert_string_equal(mark_of(json, "misses_per_work"), "real");
	assert_string_equal(mark_of(json, "stall_per_work"), "real");
	assert_string_equal(mark_of(json, "time_per_work"), "noise");
	assert_string_equal(mark_of(json, "prefetch_accuracy"), "not-judged");
	m = metric(json, "stall_per_work");
	low = number_of(m, "interval_low");
	high = number_of(m, "interval_high");
	/* Noise alone moves it by less than 0.1: waves of 0 to 6 ms per second, 16 seconds per
	 * GiB. */
	assert_true(low < number_of(m, "difference") && number_of(m, "difference") < high);
	assert_true(-4.9 < low && high < -4.6);
	/* The difference is in the middle; t at 0.975 is at least 1.96, whatever the degrees of
	 * freedom. */
	half = (high - low) / 2;
	assert_true(close_enough((low + high) / 2, number_of(m, "difference")));
	assert_true(half >= 1.9599 * number_of(m, "error"));
	assert_true(cJSON_IsNull(
		cJSON_GetObjectItem(metric(json, "prefetch_accuracy"), "interval_low")));
	cJSON_Delete(json);
	json = compared(f, "1", "1");
	assert_string_equal(mark_of(json, "stall_per_work"), "noise");
	cJSON_Delete(json);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id %% 1000 >= 19;"
		       "DELETE FROM interval WHERE id %% 1000 >= 19");
	json = compared(f, "1", "2");
	assert_string_equal(mark_of(json, "stall_per_work"), "not-judged");
	cJSON_Delete(json);
}

/* A word and a symbol in each row. */
static void marks_are_words_and_shapes(void **state)
{
	static const enum report_format formats[] = {REPORT_TEXT, REPORT_MARKDOWN, REPORT_HTML};
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	for (size_t i = 0; i < 3; i++) {
		char *text = printed(f, formats[i]);

		assert_non_null(strstr(text, "● real, better"));
		assert_non_null(strstr(text, "○ noise"));
		free(text);
	}
}

/* A difference has a sign, zero has none. Three digits, including zeros. */
static void differences(void **state)
{
	(void)state;
	assert_string_equal(compare_difference("s", 4.94).s, "+4.94");
	assert_string_equal(compare_difference("s", -8.4).s, "-8.40");
	assert_string_equal(compare_difference("pages", 39873).s, "+39,873");
	assert_string_equal(compare_difference("pages", -49).s, "-49");
	assert_string_equal(compare_difference("pages", 0).s, "0");
	assert_string_equal(compare_difference("ratio", 0.11).s, "+11.0 points");
	assert_string_equal(compare_difference("ratio", -0.00001).s, "0.0 points");
	assert_string_equal(compare_range("ratio", -0.00004, 0.235).s, "0.0 to +23.5 points");
	assert_string_equal(compare_range("s", -1.99, 0.5).s, "-1.99 to +0.500");
	assert_string_equal(compare_value("s", 8.4).s, "8.40");
	assert_string_equal(compare_value("s", 99.96).s, "100");
	assert_string_equal(compare_value("s", 0.83).s, "0.830");
	assert_string_equal(compare_span("ratio", 0.104).s, "10.4 points");
}

static void verdicts_open(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_pair(f, 1000, 100);
	text = printed(f, REPORT_MARKDOWN);
	assert_non_null(strstr(text, "after\n\nImproved: stall 75 % less"));
	assert_non_null(
		strstr(text, "\n| time, s per GiB read | 16 | 16 | unchanged | ○ noise |\n"));
	free(text);
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id %% 1000 >= 19;"
		       "DELETE FROM interval WHERE id %% 1000 >= 19");
	text = printed(f, REPORT_MARKDOWN);
	assert_non_null(strstr(text, "after\n\nAs fast as before (16 to 16 s per GiB read), not "
				     "proven: too few intervals to tell "
				     "a change from noise (19 and 19); use --interval 100ms."));
	free(text);
}

/* Differences between the runs are listed; equal facts are not. */
static void facts(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_pair(f, 1000, 100);
	text = printed(f, REPORT_TEXT);
	assert_non_null(strstr(text, "do not differ in any recorded property"));
	free(text);
	fixture_sql(f, "UPDATE run SET kernel = '6.19.0' WHERE id = 2;"
		       "INSERT INTO device (run_id, dev_major, dev_minor, name, read_ahead_kb, "
		       "network) VALUES (1, 8, 0, 'sda', 128, 0), (2, 8, 0, 'sda', 4096, 0)");
	text = printed(f, REPORT_TEXT);
	assert_non_null(strstr(text, "kernel                6.18.0  6.19.0\n"));
	assert_non_null(strstr(text, "read_ahead_kb of sda  128     4096\n"));
	assert_null(strstr(text, "device, by"));
	assert_null(strstr(text, "host  "));
	free(text);
}

static int count(const char *text, const char *part)
{
	int nr = 0;

	for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
		nr++;
	return nr;
}

/* With several jobs, each has its own parts and pictures, with its own names. */
static void several_jobs(void **state)
{
	static const char *const ids[] = {" id=\"time\"", " id=\"time-b\"", " id=\"time-before\"",
					  " id=\"time-before-b\"", " id=\"judged\""};
	struct fixture *f = *state;
	char *text;

	fill_pair(f, 1000, 100);
	fixture_sql(f, "INSERT INTO job (id, run_id, slot, name, selector) VALUES (12, 1, 2, "
		       "'eval', 'x'), (22, 2, 2, 'eval', 'x');"
		       "INSERT INTO job_interval (interval_id, job_id, cpu_ns, rchar_bytes, "
		       "read_bytes, direct_read_bytes, lookups, misses, stall_ns) SELECT "
		       "interval_id, job_id + 2, cpu_ns, rchar_bytes, read_bytes, "
		       "direct_read_bytes, lookups, misses, stall_ns FROM job_interval");
	text = printed(f, REPORT_HTML);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_int_equal(count(text, ids[i]), 1);
	assert_non_null(strstr(text, "several jobs, run 1 before"));
	assert_non_null(strstr(text, "<p>train: improved: "));
	assert_non_null(strstr(text, "<p>eval: improved: "));
	assert_non_null(strstr(text, ">eval: Over time<"));
	free(text);
}

static void hostile_names(void **state)
{
	struct fixture *f = *state;

	fill_pair(f, 1000, 100);
	hostile_page_name(f, "UPDATE job SET name = ?1 WHERE slot = 1");
	fixture_sql(f, "UPDATE run SET host = '<b>' || char(27) || id, kernel = '|`' || id");
	for (int i = 0; i < REPORT_FORMAT_NR; i++) {
		char *text;

		if (!report_format_of_pages(i))
			continue;
		text = printed(f, i);
		hostile_page_check(text, i);
		free(text);
	}
}

/*
 * Before: "kept" with "lesser" merged into it, and "gone" merged into that. After: "new", "kept"
 * with "lesser", and the summary. The list is by hand.
 */
static void merged_findings(void **state)
{
	static const struct rule kept = {.id = "kept", .title = "Kept"};
	static const struct rule lesser = {.id = "lesser", .title = "Lesser"};
	static const struct rule gone = {.id = "gone", .title = "Gone"};
	static const struct rule fresh = {.id = "fresh", .title = "Fresh"};
	static const struct rule sum = {.id = "sum", .title = "All well", .order = ORDER_LAST};
	struct finding before[3] = {{.rule = &kept}, {.rule = &gone}, {.rule = &lesser}};
	struct finding after[4] = {
		{.rule = &fresh}, {.rule = &kept}, {.rule = &sum}, {.rule = &lesser}};
	struct analysis_job jobs[2] = {{.id = 1, .findings = before, .nr_findings = 1},
				       {.id = 2, .findings = after, .nr_findings = 3}};
	struct analysis a[2] = {{.jobs = &jobs[0], .nr_jobs = 1}, {.jobs = &jobs[1], .nr_jobs = 1}};
	const struct analysis *const analysis[2] = {&a[0], &a[1]};
	const struct model_job job[2] = {{.id = 1}, {.id = 2}};
	const struct model_job *const both[2] = {&job[0], &job[1]};
	static const struct {
		const char *id;
		enum finding_fate fate;
		const char *shown;
	} want[] = {
		{"kept", FINDING_STILL, "\nKept (kept)\n"},
		{"lesser", FINDING_STILL, "\nof the same cause: Lesser (lesser)\n"},
		{"gone", FINDING_GONE, "\nof the same cause: Gone (gone)\n"},
		{"fresh", FINDING_NEW, "\nFresh (fresh)\n"},
	};
	struct compare_model m = {0};
	struct compare_job c = {0};
	struct arena arena = {0};
	struct text_builder b;
	FILE *out = text_begin(&b);
	struct doc d = report_doc(REPORT_TEXT, out);
	const char *at;
	char *text;

	before[0].merged = &before[1];
	before[1].merged = &before[2];
	before[1].merged_into = before[2].merged_into = &before[0];
	after[1].merged = &after[3];
	after[3].merged_into = &after[1];
	compare_findings_make(&arena, analysis, both, &c.findings, &c.nr_findings);
	compare_found(&d, &m, &c);
	text = text_end(&b);
	at = text;
	assert_int_equal(c.nr_findings, 4);
	for (size_t i = 0; i < c.nr_findings; i++) {
		assert_string_equal(compare_finding_shown(&c.findings[i])->rule->id, want[i].id);
		assert_int_equal(c.findings[i].fate, want[i].fate);
		at = strstr(at, want[i].shown);
		if (!at)
			fail_msg("no '%s' in '%s'", want[i].shown, text);
	}
	free(text);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(golden),
		TEST(same_scales),
		TEST(marks),
		TEST(lines_are_scaled_alike),
		TEST(verdicts_open),
		TEST(differences),
		TEST(marks_are_words_and_shapes),
		TEST(several_jobs),
		TEST(facts),
		TEST(hostile_names),
		TEST(merged_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
