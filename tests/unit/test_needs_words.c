/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* A reason why a rule could not be judged is plain English: it never names a column. */
#include "fixtures/advisor/world.h"

#include <ctype.h>

#include "advisor/rules/needs.h"
#include "advisor/rules/rule_set.h"
#include "cachemon/db/views.h"
#include "cachemon/figures/trace_code.h"

/* A need of one rule for one word, which no row has a value for. */
static void expect_words(struct fixture *f, const struct rule *need, const char *word, bool builtin)
{
	struct arena arena = {0};
	struct needs_subject s = {f->sql, &arena, 1, 1};
	const char *reason = NULL;
	struct errtext err = {0};

	if (needs_check(&s, need, &reason, &err))
		fail_msg("%s: %s", word, err.text);
	if (!reason)
		fail_msg("%s: measured", word);
	/* O_DIRECT is a name of the kernel. */
	for (const char *c = strchr(reason, '_'); c; c = strchr(c + 1, '_'))
		if (islower((unsigned char)c[-1]))
			fail_msg("%s: the reason has a name: %s", word, reason);
	if (builtin && strstr(reason, "value for"))
		fail_msg("%s has no words in needs.c: %s", word, reason);
	arena_free(&arena);
}

/* Without views, a table has the name of one. */
static void expect_fact(struct fixture *f, const char *fact)
{
	const char *dot = strchr(fact, '.');
	const struct rule need = {.facts = {.word = &fact, .nr = 1}};

	fixture_sql(f, "DROP TABLE IF EXISTS temp.%.*s", (int)(dot - fact), fact);
	fixture_sql(f, "CREATE TEMP TABLE %.*s (job_id, %s)", (int)(dot - fact), fact, dot + 1);
	fixture_sql(f, "INSERT INTO %.*s VALUES (1, NULL)", (int)(dot - fact), fact);
	expect_words(f, &need, fact, true);
}

static void expect_counter(struct fixture *f, const char *counter, bool builtin)
{
	const struct rule need = {.counters = {.word = &counter, .nr = 1}};

	fixture_sql(f, "DROP TABLE IF EXISTS temp.v_job");
	fixture_sql(f, "CREATE TEMP TABLE v_job (job_id, %s)", counter);
	fixture_sql(f, "INSERT INTO v_job VALUES (1, NULL)");
	expect_words(f, &need, counter, builtin);
}

static void builtin_needs(void **state)
{
	struct rule_set set;
	size_t nr = 0;

	assert_int_equal(rule_set_load(NULL, &set), 0);
	for (size_t i = 0; i < set.nr_rules; i++) {
		const struct rule *r = &set.rules[i];

		for (size_t k = 0; k < r->facts.nr; k++, nr++)
			expect_fact(*state, r->facts.word[k]);
		for (size_t k = 0; k < r->counters.nr; k++, nr++)
			expect_counter(*state, r->counters.word[k], true);
	}
	assert_true(nr > 50);
	rule_set_free(&set);
}

/* A site's rule may need any column. */
static void any_column(void **state)
{
	struct fixture *f = *state;
	char names[256][64];
	sqlite3_stmt *stmt = NULL;
	const char *what = "";
	size_t nr = 0;

	assert_int_equal(views_create(f->sql, 1, &what), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(f->sql,
					    "SELECT name FROM pragma_table_info('v_job') WHERE "
					    "name <> 'job_id' LIMIT 256",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	for (; sqlite3_step(stmt) == SQLITE_ROW; nr++)
		snprintf(names[nr], sizeof(names[nr]), "%s", sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	assert_true(nr > C_NR / 2);
	fixture_sql(f, "DROP VIEW v_job");
	for (size_t i = 0; i < nr; i++)
		expect_counter(f, names[i], false);
}

/* Databases of older versions lack tables. */
static void tables(void **state)
{
	static const char *const names[] = {"advice",	"interference",	    "filesystem",
					    "interval", "machine",	    "machine_interval",
					    "device",	"job_limit",	    "traced_file",
					    "file",	"reference_sample", "job"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		/* A table that only a model reads has the model's words. */
		const char *word = !strcmp(names[i], "file")  ? "analysis_pattern"
				   : !strcmp(names[i], "job") ? "analysis_grade"
							      : names[i];
		const struct rule need = {.tables = {.word = &word, .nr = 1}};

		fixture_sql(f, "ALTER TABLE %s RENAME TO gone", names[i]);
		expect_words(f, &need, word, true);
		fixture_sql(f, "ALTER TABLE gone RENAME TO %s", names[i]);
	}
}

static const char *reason_of(struct fixture *f, struct arena *arena, const struct rule *need)
{
	struct needs_subject s = {f->sql, arena, 1, 1};
	const char *reason = NULL;
	struct errtext err = {0};

	if (needs_check(&s, need, &reason, &err))
		fail_msg("%s", err.text);
	return reason ?: "measured";
}

/* The reason says that the budget ended a recording, and the option that continues it. */
static void ended_by_the_budget(void **state)
{
	static const char *table = "analysis_whatif_readahead";
	static const char *curve = "analysis_curve";
	static const char *fact = "v_replay.faithful_replay";
	const struct rule replay = {.tables = {.word = &table, .nr = 1}};
	const struct rule faithful = {.facts = {.word = &fact, .nr = 1}};
	const struct rule sized = {.tables = {.word = &curve, .nr = 1}};
	struct fixture *f = *state;
	struct arena arena = {0};
	const char *what = "";

	assert_int_equal(views_create(f->sql, 1, &what), SQLITE_OK);
	fixture_sql(f, "DROP VIEW IF EXISTS v_replay");
	fixture_sql(f, "CREATE TEMP TABLE v_replay (job_id, faithful_replay)");
	fixture_sql(f, "INSERT INTO v_replay VALUES (1, NULL)");
	assert_string_equal(reason_of(f, &arena, &faithful),
			    "the run has no replay of readahead that agrees with the kernel");
	fixture_sql(f, "UPDATE run SET level = 'auto'");
	for (int i = 0; i < 2; i++)
		fixture_sql(
			f,
			"INSERT INTO traced_file (job_id, dev_major, dev_minor, ino, gen, began, "
			"stratum, stands_for, state, reason) VALUES (1, 7, 0, %d, 0, 'cold', 0, 1, "
			"'broken', '%s')",
			i, i ? "it cost too much" : TRACE_GAVE_WAY);
	assert_string_equal(reason_of(f, &arena, &faithful),
			    "the run has no replay of readahead that agrees with the kernel: "
			    "traces ended early: it cost too much; watch --level full continues "
			    "them");
	assert_string_equal(reason_of(f, &arena, &replay),
			    "the run has no replay of readahead: traces ended early: it cost too "
			    "much; watch --level full continues them");
	fixture_sql(f, "INSERT INTO temp.analysis_curve_fact (job_id, absent) VALUES (1, "
		       "'Too little. Run it again.')");
	assert_string_equal(reason_of(f, &arena, &sized),
			    "the run has no miss-ratio curve: too little. Run it again");
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(builtin_needs, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(any_column, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(tables, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(ended_by_the_budget, world_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
