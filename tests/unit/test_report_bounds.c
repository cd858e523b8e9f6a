/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* Losses make lower bounds: each affected figure is marked, with the reason. */
#include "fixtures/report/golden.h"

static bool marked(const cJSON *json, const char *path)
{
	return cJSON_IsTrue(at(json, path));
}

static void expect_only_reason(const cJSON *json, const char *figures, const char *words)
{
	assert_int_equal(cJSON_GetArraySize(at(json, "run.lower_bounds")), 1);
	assert_string_equal(at(json, "run.lower_bounds.0.figures")->valuestring, figures);
	assert_non_null(strstr(at(json, "run.lower_bounds.0.reason")->valuestring, words));
}

static void good_run_has_none(void **state)
{
	char *text;
	cJSON *json;

	fixture_sql(*state, "UPDATE run SET loss_map_full = 0");
	json = golden_json(*state);
	assert_int_equal(cJSON_GetArraySize(at(json, "run.lower_bounds")), 0);
	cJSON_Delete(json);
	text = golden_report(*state, REPORT_JSON, 100);
	/* Bounds of advice seen by its effects, and of reads that no hook sees, are not losses. */
	for (const char *p = text; (p = strstr(p, "lower_bound\"")); p++)
		assert_true(!strncmp(p - 7, "\"calls_", 7) || !strncmp(p - 7, "_asked_", 7) ||
			    !strncmp(p - 20, "\"outside_read_bytes_", 20));
	free(text);
}

static void rows_that_found_no_room(void **state)
{
	cJSON *json = golden_json(*state);

	expect_only_reason(json, "files", "full 2 times");
	assert_true(marked(json, "jobs.0.files.0.lower_bound"));
	assert_true(marked(json, "jobs.0.directories.0.lower_bound"));
	/* These counts are in the row of the files without a name, so neither it nor the rest is
	 * short. */
	assert_null(at(json, "jobs.0.directories.2.lower_bound"));
	assert_true(marked(json, "jobs.0.files.4.rest"));
	assert_null(at(json, "jobs.0.files.4.lower_bound"));
	/* The totals are exact. */
	assert_null(at(json, "jobs.0.totals.evicted_pages_lower_bound"));
	assert_null(at(json, "jobs.0.totals.refaults_lower_bound"));
	cJSON_Delete(json);
}

static void row_that_began_anew(void **state)
{
	cJSON *json;

	fixture_sql(*state, "UPDATE run SET loss_map_full = 0; UPDATE file SET folded_before = 1 "
			    "WHERE id = 2");
	json = golden_json(*state);
	assert_null(at(json, "jobs.0.files.0.lower_bound"));
	assert_true(marked(json, "jobs.0.files.1.lower_bound"));
	assert_null(at(json, "jobs.0.directories.0.lower_bound"));
	cJSON_Delete(json);
}

/* One loss at a time: the figures it affects are marked, and no others. */
static void each_loss(void **state)
{
	static const struct {
		const char *loss, *figures, *words;
		const char *marked[6], *exact[4];
	} table[] = {
		{"chunk_full = 5",
		 "evictions",
		 "full 5 times",
		 {"jobs.0.totals.evicted_pages_lower_bound", "jobs.0.totals.refaults_lower_bound",
		  "jobs.0.totals.refault_misses_lower_bound",
		  "jobs.0.totals.prefetch.fate_lower_bound",
		  "jobs.0.totals.waste_bytes_lower_bound"},
		 {"jobs.0.totals.misses_lower_bound", "jobs.0.files.0.lower_bound",
		  "jobs.1.totals.evicted_pages_lower_bound"}},
		{"ghosts_dropped = 7",
		 "refaults",
		 "7 evicted pages",
		 {"jobs.0.totals.refaults_lower_bound"},
		 {"jobs.0.totals.evicted_pages_lower_bound",
		  "jobs.0.totals.prefetch.fate_lower_bound"}},
		{"state_drops = 4",
		 "all",
		 "4 tasks did not get a state",
		 {"jobs.0.lower_bound", "jobs.0.files.0.lower_bound", "jobs.0.files.4.rest",
		  "jobs.0.files.4.lower_bound", "jobs.0.directories.2.lower_bound"},
		 {"jobs.1.lower_bound"}},
		{"recursion_misses = 96",
		 "all",
		 "skipped 96 runs",
		 {"jobs.0.lower_bound", "jobs.0.files.0.lower_bound"},
		 {"jobs.1.lower_bound"}},
		/* The rows are exact: only the list is incomplete. */
		{"advice_full = 6",
		 "advice",
		 "6 pieces of advice",
		 {NULL},
		 {"jobs.0.lower_bound", "jobs.0.files.0.lower_bound"}},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char sql[256];
		cJSON *json;

		/* If a column is set twice, the last value counts. */
		snprintf(sql, sizeof(sql),
			 "UPDATE run SET loss_map_full = 0, loss_chunk_full = 0, "
			 "loss_ghosts_dropped = 0, loss_state_drops = 0, loss_advice_full = 0, "
			 "loss_recursion_misses = 0, loss_%s",
			 table[i].loss);
		fixture_sql(*state, sql);
		json = golden_json(*state);
		expect_only_reason(json, table[i].figures, table[i].words);
		for (size_t k = 0; k < 6 && table[i].marked[k]; k++)
			if (!marked(json, table[i].marked[k]))
				fail_msg("%s: %s is not set", table[i].loss, table[i].marked[k]);
		for (size_t k = 0; k < 4 && table[i].exact[k]; k++)
			if (at(json, table[i].exact[k]))
				fail_msg("%s: %s is there", table[i].loss, table[i].exact[k]);
		cJSON_Delete(json);
	}
}

/* The observed reads of the job, compared with the kernel's count, and the warning. */
static void reads_against_the_kernel(void **state)
{
	static const struct {
		const char *read, *direct, *rchar;
		const char *words; /* NULL: no warning */
	} table[] = {
		{"1000000", "0", "1000000", NULL},     {"1000000", "0", "1009000", NULL},
		{"600000", "400000", "1000000", NULL}, {"991000", "0", "1000000", NULL},
		{"980000", "0", "1000000", "pipes"},   {"0", "0", "1000000", "pipes"},
		{"1000000", "0", "980000", "AIO"},     {"0", "0", "0", NULL},
		{"NULL", "0", "1000000", NULL},	       {"1000000", "0", "NULL", NULL},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const cJSON *warning;
		char sql[256];
		cJSON *json;

		snprintf(sql, sizeof(sql),
			 "UPDATE job SET read_bytes = %s, direct_read_bytes = %s, rchar_bytes = "
			 "%s, read_calls = 7, direct_read_calls = 2, syscr_calls = 11 WHERE id = 1",
			 table[i].read, table[i].direct, table[i].rchar);
		fixture_sql(*state, sql);
		json = golden_json(*state);
		assert_int_equal(at(json, "jobs.0.reads_check.seen_calls")->valueint, 9);
		assert_int_equal(at(json, "jobs.0.reads_check.kernel_calls")->valueint, 11);
		warning = at(json, "jobs.0.reads_check.warning");
		if (!table[i].words)
			assert_true(cJSON_IsNull(warning));
		else
			assert_non_null(strstr(warning->valuestring, table[i].words));
		cJSON_Delete(json);
	}
}

static void expect_words(const char *text, const char *const *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strstr(text, words[i]))
			fail_msg("'%s' is missing in: %s", words[i], text);
}

static void pages_without_state(void **state)
{
	static const struct {
		enum report_format format;
		const char *words[3];
	} table[] = {
		{REPORT_TEXT, {">=382", ">=39", "The map of page state was full 5"}},
		{REPORT_MARKDOWN, {"&gt;=382", "&gt;=39", "The map of page state was full 5"}},
		{REPORT_HTML, {"&gt;=382", "&gt;=39", "The map of page state was full 5"}},
	};

	fixture_sql(*state, "UPDATE run SET loss_map_full = 0, loss_chunk_full = 5");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *text = golden_report(*state, table[i].format, 100);

		expect_words(text, table[i].words, 3);
		free(text);
	}
}

static void advice_without_row(void **state)
{
	char *text;

	fixture_sql(*state, "UPDATE run SET loss_map_full = 0, loss_advice_full = 6");
	text = golden_report(*state, REPORT_TEXT, 100);
	assert_non_null(strstr(text, "no room for 6 pieces of advice"));
	assert_null(strstr(text, "Lower bounds are marked"));
	free(text);
}

static void tasks_without_state(void **state)
{
	static const char *const words[] = {
		"it read >=", "missed >=", "waiting  >=", "bounds are marked >=."};
	char *text;

	fixture_sql(*state, "UPDATE run SET loss_map_full = 0, loss_state_drops = 4");
	text = golden_screen(*state, 3);
	expect_words(text, words, 4);
	free(text);
}

static void screen_says_so(void **state)
{
	static const char *const words[] = {"Caution: The run was cut short", "4 tasks",
					    "are marked >=."};
	char *text;

	fixture_sql(*state, "UPDATE run SET state = 'cut', loss_chunk_full = 5, "
			    "loss_intervals = 3, loss_state_drops = 4");
	text = golden_screen(*state, 3);
	expect_words(text, words, 3);
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_against_the_kernel, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(good_run_has_none, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(rows_that_found_no_room, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(row_that_began_anew, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(each_loss, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(pages_without_state, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(tasks_without_state, golden_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(advice_without_row, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(screen_says_so, golden_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
