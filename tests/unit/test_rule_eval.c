/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Queries of rules: what they may do, the form of a row, and the message for a wrong one. */
#include "fixtures/advisor/world.h"

/* The rule "bad", run on a job; its only problem begins so, after the name of the file. */
static void assert_refused(struct fixture *f, const char *text, const char *begins)
{
	struct analysis a;
	char want[512];

	world_write(f, "bad.sql", text);
	a = world_analyse(f);
	snprintf(want, sizeof(want), "%s/rules/bad.sql%s", f->dir, begins);
	if (a.rules.nr_problems != 1)
		fail_msg("%zu problems with %s", a.rules.nr_problems, text);
	if (strncmp(a.rules.problems[0], want, strlen(want)) != 0)
		fail_msg("'%s' instead of '%s'", a.rules.problems[0], want);
	assert_null(world_finding(&a, "bad"));
	assert_string_equal(world_unjudged(&a, "bad"), "the rule is invalid");
	analysis_free(&a);
}

static void test_only_reads(void **state)
{
	static const struct {
		const char *sql, *begins;
	} table[] = {
		{"INSERT INTO run (id) VALUES (9)", ":5: a rule may only read: INSERT"},
		{"UPDATE job SET name = 'x'", ":5: a rule may only read: UPDATE"},
		{"DELETE FROM job", ":5: a rule may only read: DELETE"},
		{"DELETE FROM temp.analysis_grade", ":5: a rule may only read: DELETE"},
		{"DROP TABLE run", ":5: a rule may only read: "},
		{"CREATE TEMP TABLE t (x)", ":5: a rule may only read: "},
		{"ATTACH ':memory:' AS x", ":5: a rule may only read: ATTACH"},
		{"DETACH main", ":5: a rule may only read: DETACH"},
		{"PRAGMA query_only = OFF", ":5: a rule may only read: PRAGMA query_only"},
		{"PRAGMA writable_schema = ON", ":5: a rule may only read: PRAGMA writable_schema"},
		{"SELECT * FROM pragma_database_list", ":5: a rule may only read: "},
		{"BEGIN", ":5: a rule may only read: a transaction"},
		{"ROLLBACK", ":5: a rule may only read: a transaction"},
		{"VACUUM", ":5: "},
		{"SELECT load_extension('x')", ":5: "},
		{"SELECT\n\n\tfts3_tokenizer('simple')", ":"},
		{"SELECT hex(zeroblob(100000000))",
		 ":5: a rule may only read: the function zeroblob"},
		{"EXPLAIN SELECT 1", ":5: not a query"},
		{"SELECT 1; SELECT 2", ":5: a second statement"},
		{"SELECT 1;\n-- end\nDROP TABLE run", ":5: a second statement"},
	};
	struct fixture *f = *state;
	sqlite3_stmt *stmt = NULL;
	char text[1024];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		snprintf(text, sizeof(text), RULE_HEAD("bad") "%s", table[i].sql);
		assert_refused(f, text, table[i].begins);
	}
	/* Its effects are undone. */
	assert_int_equal(
		sqlite3_prepare_v2(f->sql, "SELECT count(*) FROM run, job", -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 2);
	sqlite3_finalize(stmt);
}

static void test_mistakes_in_queries(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, RULE_HEAD("bad") RULE_ROW " FROM v_job\nWHERE no_such > 1",
		       ":6: no such column: no_such");
	assert_refused(f, RULE_HEAD("bad") RULE_ROW "\n\nFROM v_jobs", ":5: no such table: v_jobs");
	assert_refused(f, RULE_HEAD("bad") RULE_ROW "\nFROM FROM", ":6: near \"FROM\": syntax");
	assert_refused(f, RULE_HEAD("bad") RULE_ROW " FROM v_job WHERE slot > :most",
		       ":5: ':most' is not a parameter of the rule; declare it");
	assert_refused(f, RULE_HEAD("bad") RULE_ROW " FROM v_job WHERE slot > ?",
		       ":5: '?' is not a parameter of the rule");
	assert_refused(f, RULE_HEAD("bad") "SELECT job_id FROM v_job",
		       ":5: the query has no column 'subject_kind'");
	assert_refused(f,
		       "-- id: bad\n-- title: t\n-- version: 1\n-- severity: s\n"
		       "-- needs counters: hit\n" RULE_ROW " FROM v_job",
		       ":5: v_job has no column 'hit'");
	assert_refused(f,
		       "-- id: bad\n-- title: t\n-- version: 1\n-- severity: s\n"
		       "-- needs tables: interferense\n" RULE_ROW " FROM v_job",
		       ":5: 'interferense' is not a table that a rule can need; did you mean "
		       "'interference'?");
	assert_refused(f,
		       "-- id: bad\n-- title: t\n-- version: 1\n-- severity: s\n"
		       "-- needs facts: v_job.nothing\n" RULE_ROW " FROM v_job",
		       ":5: there is no view and column 'v_job.nothing'");
}

/* A row like RULE_ROW with one column replaced. */
static void assert_row_refused(struct fixture *f, const char *column, const char *value,
			       const char *begins)
{
	char text[2048];

	/* Of two columns with the same name, the last one counts. */
	snprintf(text, sizeof(text),
		 RULE_HEAD("bad") "SELECT *, %s AS %s FROM (" RULE_ROW
				  ", 1 AS gain_value, 's' AS gain_unit, 'bound' AS gain_method "
				  "FROM v_job)",
		 value, column);
	assert_refused(f, text, begins);
}

static void test_rows(void **state)
{
	struct fixture *f = *state;

	assert_row_refused(f, "job_id", "NULL", ":5: a row's job_id is not the id of a job");
	assert_row_refused(f, "severity", "NULL", ":5: a row's severity is not info, low");
	assert_row_refused(f, "severity", "'bad'", ":5: a row's severity is not info, low");
	assert_row_refused(f, "subject_kind", "'pid'", ":5: a row's subject_kind is not");
	assert_row_refused(f, "confidence", "NULL", ":5: a row's confidence is not a number");
	assert_row_refused(f, "confidence", "1.5", ":5: a row's confidence is not a number");
	assert_row_refused(f, "confidence", "'0.5'", ":5: a row's confidence is not a number");
	assert_row_refused(f, "gain_value", "-1", ":5: a row's gain_value is not a number");
	assert_row_refused(f, "gain_value", "1e999", ":5: a row's gain_value is not a number");
	assert_row_refused(f, "gain_unit", "'hours'", ":5: a row's gain_unit is not 's' or");
	assert_row_refused(f, "gain_method", "'guess'", ":5: a row's gain_method is not");
	assert_row_refused(f, "evidence", "NULL", ":5: a row's evidence is not a json_array");
	assert_row_refused(f, "evidence", "'{'", ":5: a row's evidence is not a json_array");
	assert_row_refused(f, "evidence", "'[]'", ":5: a row's evidence is not a json_array");
	assert_row_refused(f, "evidence", "'[{\"metric\":\"m\"}]'",
			   ":5: a row's evidence is not a json_array");
}

static void test_evidence_is_exact(void **state)
{
	struct fixture *f = *state;
	const struct finding *found;
	struct analysis a;

	world_write(
		f, "good.sql",
		RULE_HEAD("good") "-- param share = 0.25\nSELECT job_id, 'file' AS subject_kind, "
				  "x'2fff00' AS subject, 'high' AS severity, 1 AS confidence, "
				  "'a summary' AS summary, json_array("
				  "json_object('metric', 'a', 'value', 9007199254740993, "
				  "'unit', 'u', 'scope', 's'), "
				  "json_object('metric', 'b', 'value', NULL, 'unit', 'u', "
				  "'scope', 's'), "
				  "json_object('metric', 'c', 'value', :share, 'unit', 'u', "
				  "'scope', 's'), "
				  "json_object('metric', 'd', 'value', 'text', 'unit', 'u', "
				  "'scope', 's')) AS evidence, 2.5 AS gain_value, "
				  "'s' AS gain_unit, 'model' AS gain_method, "
				  "'the cause' AS gain_cause FROM v_job; -- the end\n");
	a = world_analyse(f);
	found = world_finding(&a, "good");
	assert_int_equal(a.rules.nr_problems, 0);
	assert_non_null(found);
	assert_int_equal(found->severity, SEVERITY_HIGH);
	assert_int_equal(found->subject.len, 3);
	assert_memory_equal(found->subject.data, "/\xff", 3);
	assert_string_equal(found->summary, "a summary");
	assert_int_equal(found->nr_evidence, 4);
	assert_string_equal(found->evidence[0].value, "9007199254740993");
	assert_null(found->evidence[1].value);
	assert_string_equal(found->evidence[2].value, "0.25");
	assert_string_equal(found->evidence[3].value, "text");
	assert_true(found->evidence[3].is_text);
	assert_true(found->gain.known && found->gain.value == 2.5);
	assert_int_equal(found->gain.method, GAIN_MODEL);
	assert_string_equal(found->cause, "the cause");
	assert_null(found->note);
	analysis_free(&a);
}

static void test_bounded(void **state)
{
	static const char endless[] = RULE_HEAD("endless") RULE_ROW
		" FROM v_job WHERE (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
		"FROM n) SELECT count(*) FROM n) > 0";
	struct fixture *f = *state;
	struct analysis_options options = {.steps = 1000000};
	struct analysis a = {0};
	struct errtext err = {0};
	struct rule_dirs dirs;
	char path[256];

	world_write(f, "endless.sql", endless);
	world_write(f, "good.sql", RULE_HEAD("good") RULE_ROW " FROM v_job");
	dirs = world_dirs(f, path);
	options.dirs = &dirs;
	assert_int_equal(analysis_run(f->sql, 1, &options, &a, &err), 0);
	assert_int_equal(a.rules.nr_problems, 1);
	assert_non_null(strstr(a.rules.problems[0], "endless.sql:5: took too long"));
	assert_non_null(world_finding(&a, "good"));
	analysis_free(&a);
}

/* A rule that is stopped anywhere, even while its evidence is read, gets only that error. */
static void test_stopped_anywhere(void **state)
{
	/* The guard checks every STEP steps; evidence with that many items takes several of
	 * them. */
	enum { STEP = 100, ENOUGH = 2000 };
	struct fixture *f = *state;
	struct analysis_options options = {0};
	struct rule_dirs dirs;
	unsigned stopped = 0;
	char path[256];
	bool found = false;

	world_write(f, "long.sql",
		    RULE_HEAD("long") "SELECT job_id, 'job' AS subject_kind, NULL AS subject, "
				      "'high' AS severity, 1 AS confidence, 's' AS summary, "
				      "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
				      "FROM n WHERE i < 64) SELECT json_group_array(json_object("
				      "'metric', 'm', 'value', i, 'unit', 'u', 'scope', 's')) "
				      "FROM n) AS evidence FROM v_job");
	dirs = world_dirs(f, path);
	options.dirs = &dirs;
	for (uint64_t i = 1; i < ENOUGH && !found; i++) {
		struct analysis a = {0};
		struct errtext err = {0};

		options.steps = i * STEP;
		assert_int_equal(analysis_run(f->sql, 1, &options, &a, &err), 0);
		found = world_finding(&a, "long") != NULL;
		stopped += !found;
		if (!found)
			assert_non_null(strstr(a.rules.problems[0], "long.sql:5: took too long"));
		analysis_free(&a);
	}
	assert_true(found);
	assert_true(stopped > 0);
}

/* Of many rows, those with the largest gain are kept. */
static void test_rows_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	world_write(
		f, "many.sql",
		RULE_HEAD("many") "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
				  "WHERE i < 500) " RULE_ROW
				  ", (i * 7919) % 500 AS gain_value, 's' AS gain_unit, "
				  "'bound' AS gain_method FROM v_job, n");
	a = world_analyse(f);
	assert_int_equal(a.jobs[0].nr_findings, 10);
	for (size_t i = 0; i < 10; i++)
		assert_true(a.jobs[0].findings[i].gain.value == 499 - (double)i);
	analysis_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_only_reads, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_mistakes_in_queries, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_rows, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_evidence_is_exact, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_bounded, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_stopped_anywhere, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_rows_are_bounded, world_begin,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
