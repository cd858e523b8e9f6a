/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* The analysis of a run: needs, NULL that never becomes 0, rules that run last, and the content
 * of the views. */
#include "fixtures/advisor/world.h"

#include <math.h>

#include "cachemon/db/views.h"

static int64_t ask(struct fixture *f, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t v = -1;

	if (sqlite3_prepare_v2(f->sql, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(f->sql), sql);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		v = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? -2
								: sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return v;
}

static double ask_real(struct fixture *f, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	double v = NAN;

	if (sqlite3_prepare_v2(f->sql, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(f->sql), sql);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		v = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	return v;
}

/* Keeps the views, so that the test can query them. */
static void views(struct fixture *f)
{
	const char *what = "";

	if (views_create(f->sql, 1, &what) != SQLITE_OK)
		fail_msg("%s: %s", what, sqlite3_errmsg(f->sql));
}

/* Enough waste in a directory for prefetch-waste. */
static void put_waste(struct fixture *f)
{
	fixture_zero(f, "job");
	fixture_sql(f,
		    "INSERT INTO directory (id, job_id, path, files) VALUES (1, 1, x'2f64ff', 3)");
	fixture_zero(f, "directory");
	fixture_sql(f, "UPDATE directory SET evicted_unused = 60000, used = 40000, "
		       "prefetched_async = 100000");
	fixture_sql(f,
		    "UPDATE job SET evicted_unused = 60000, used = 40000, "
		    "prefetched_async = 100000, wall_ns = 1000000000, cpu_ns = 1000 WHERE id = 1");
}

static void test_a_finding(void **state)
{
	struct fixture *f = *state;
	const struct finding *found;
	struct analysis a;

	put_waste(f);
	a = world_analyse(f);
	for (size_t i = 0; i < a.rules.nr_problems; i++)
		fail_msg("%s", a.rules.problems[i]);
	assert_int_equal(a.nr_jobs, 1);
	found = world_finding(&a, "prefetch-waste");
	assert_non_null(found);
	assert_memory_equal(found->subject.data, "/d\xff", 4);
	assert_non_null(found->note);
	/* The connection is unchanged: no view, no table, no change, no guard. */
	assert_int_equal(ask(f, "SELECT count(*) FROM temp.sqlite_schema"), 0);
	assert_int_equal(ask(f, "PRAGMA query_only"), 0);
	fixture_sql(f, "UPDATE job SET name = 'x' WHERE id = 1");
	analysis_free(&a);
	/* A second analysis of the same database. */
	a = world_analyse(f);
	assert_non_null(world_finding(&a, "prefetch-waste"));
	analysis_free(&a);
}

static void test_needs(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	put_waste(f);
	fixture_sql(f, "UPDATE job SET evicted_unused = NULL");
	fixture_sql(f, "UPDATE directory SET evicted_unused = NULL");
	a = world_analyse(f);
	assert_null(world_finding(&a, "prefetch-waste"));
	assert_string_equal(world_unjudged(&a, "prefetch-waste"),
			    "the run has no count of prefetched pages that were evicted unused");
	analysis_free(&a);
	fixture_sql(f, "INSERT INTO unmeasured VALUES (1, 'evicted_unused', 'level cold')");
	a = world_analyse(f);
	assert_string_equal(world_unjudged(&a, "prefetch-waste"),
			    "the run has no count of prefetched pages that were evicted unused: "
			    "level cold");
	analysis_free(&a);
}

#define NEEDS(id, line) RULE_HEAD(id) "-- needs " line "\n" RULE_ROW " FROM v_job"

static void test_needs_of_tables(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	world_write(f, "events.sql", NEEDS("events", "tables: advice interference"));
	world_write(f, "devices.sql", NEEDS("devices", "tables: device"));
	world_write(f, "curves.sql", NEEDS("curves", "tables: analysis_curve"));
	world_write(f, "fact.sql", NEEDS("fact", "facts: v_advice.used"));
	fixture_zero(f, "job");
	a = world_analyse(f);
	/* Measured as 0: nothing happened. */
	assert_non_null(world_finding(&a, "events"));
	assert_string_equal(world_unjudged(&a, "devices"), "the run has no fact of a device");
	assert_string_equal(world_unjudged(&a, "curves"),
			    "the run has no miss-ratio curve: no references were recorded: the "
			    "database has no reason");
	assert_non_null(world_finding(&a, "fact"));
	analysis_free(&a);

	/* Reclaim took pages, and interference was not recorded. */
	fixture_sql(f, "UPDATE job SET evicted_reclaim_kswapd = 5000 WHERE id = 1");
	a = world_analyse(f);
	assert_null(world_finding(&a, "events"));
	assert_string_equal(world_unjudged(&a, "events"), "the run has no record of evictors");
	assert_string_equal(world_unjudged(&a, "evicted-by-neighbour"),
			    "the run has no record of evictors");
	analysis_free(&a);

	fixture_sql(f,
		    "INSERT INTO unmeasured VALUES (1, 'interference', 'this kernel is too old')");
	fixture_sql(f, "INSERT INTO reference_absent VALUES (1, 'the run was sliced')");
	fixture_sql(f, "INSERT INTO device (run_id, dev_major, dev_minor, name, network) "
		       "VALUES (1, 8, 0, 'sda', 0)");
	fixture_sql(f, "INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, kind, call) "
		       "VALUES (1, 8, 0, 1, 1, 'willneed', 'fadvise')");
	a = world_analyse(f);
	assert_string_equal(world_unjudged(&a, "events"),
			    "the run has no record of evictors: this kernel is too old");
	assert_non_null(world_finding(&a, "devices"));
	assert_string_equal(
		world_unjudged(&a, "curves"),
		"the run has no miss-ratio curve: no references were recorded: the run was sliced");
	assert_string_equal(world_unjudged(&a, "fact"),
			    "the run has no count of prefetched pages used in time");
	analysis_free(&a);
}

static void test_order_last(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	world_write(
		f, "a-last.sql",
		RULE_HEAD("a-last") "-- order: last\n" RULE_ROW
				    " FROM v_job v WHERE EXISTS (SELECT 1 FROM v_finding x WHERE "
				    "x.id = 'z-first' AND x.job_id = v.job_id) AND EXISTS "
				    "(SELECT 1 FROM v_unjudged u WHERE u.id = 'y-none')");
	world_write(f, "z-first.sql", RULE_HEAD("z-first") RULE_ROW " FROM v_job");
	world_write(f, "y-none.sql", NEEDS("y-none", "counters: lookups"));
	a = world_analyse(f);
	assert_non_null(world_finding(&a, "a-last"));
	analysis_free(&a);
}

static bool passed(const struct analysis *a, const char *id)
{
	for (size_t i = 0; i < a->rules.nr_rules; i++)
		if (!strcmp(a->rules.rules[i].id, id))
			return analysis_passed(a, &a->jobs[0], &a->rules.rules[i]);
	fail_msg("no rule %s", id);
	return false;
}

/* Advice dropped many pages, which came back. How many each call dropped is not known. */
static void test_dropped_unknown(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	fixture_zero(f, "job");
	fixture_sql(f,
		    "INSERT INTO directory (id, job_id, path) VALUES (1, 1, x'2f64');"
		    "INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen) "
		    "VALUES (1, 1, 1, 8, 0, 5, 1);"
		    "INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, kind, call) "
		    "VALUES (1, 8, 0, 5, 1, 'dontneed', 'fadvise')");
	fixture_zero(f, "directory");
	fixture_zero(f, "file");
	fixture_sql(f, "UPDATE directory SET evicted_dontneed = 5000, refaults = 4000, "
		       "demand_pages = 9000;"
		       "UPDATE job SET evicted_dontneed = 5000, refaults = 4000, "
		       "demand_pages = 9000 WHERE id = 1");
	a = world_analyse(f);
	assert_false(passed(&a, "dontneed-harmful"));
	assert_string_equal(world_unjudged(&a, "dontneed-harmful"),
			    "how many pages DONTNEED dropped in /d was not measured");
	analysis_free(&a);
	/* Too few came back, whatever dropped them. */
	fixture_sql(f, "UPDATE directory SET refaults = 1000");
	a = world_analyse(f);
	assert_true(passed(&a, "dontneed-harmful"));
	analysis_free(&a);
	/* Known: once enough of them came back, once none. */
	fixture_sql(f,
		    "UPDATE directory SET refaults = 4000; UPDATE advice SET pages_dropped = 5000");
	a = world_analyse(f);
	assert_non_null(world_finding(&a, "dontneed-harmful"));
	analysis_free(&a);
	fixture_sql(f, "UPDATE advice SET pages_dropped = 0");
	a = world_analyse(f);
	assert_true(passed(&a, "dontneed-harmful"));
	analysis_free(&a);
}

/* A job that hits all the time for a second, and a rule that finds a gain of so many seconds in
 * it. */
static struct analysis analyse_gain(struct fixture *f, const char *gain, const char *method)
{
	char text[1024];

	fixture_zero(f, "job");
	fixture_sql(f,
		    "UPDATE job SET lookups = 100000, read_calls = 1000, read_bytes = 409600000, "
		    "wall_ns = 1000000000, cpu_ns = 1000 WHERE id = 1");
	snprintf(text, sizeof(text),
		 RULE_HEAD("a-gain") RULE_ROW
		 ", %s AS gain_value, 's' AS gain_unit, '%s' AS gain_method FROM v_job",
		 gain, method);
	world_write(f, "a-gain.sql", text);
	return world_analyse(f);
}

/* A job with a fix that gains 30 % is not graded A; below the floor nothing is worth changing. */
static void test_grade_says_the_same(void **state)
{
	static const struct {
		const char *gain, *method;
		enum severity severity;
		enum analysis_answer answer;
		char letter;
	} cases[] = {
		{"0.3", "measured", SEVERITY_LOW, ANSWER_FIX, 'C'},
		{"0.3", "model", SEVERITY_LOW, ANSWER_FIX, 'C'},
		/* A bound of 30 %: the gain may be 0. */
		{"0.3", "bound", SEVERITY_LOW, ANSWER_FIX, 'A'},
		{"0.05", "measured", SEVERITY_LOW, ANSWER_FIX, 'A'},
		{"0.009", "measured", SEVERITY_INFO, ANSWER_NOTHING, 'A'},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct analysis a = analyse_gain(f, cases[i].gain, cases[i].method);
		const struct analysis_grade *g = &a.jobs[0].grades[GRADE_OVERALL];

		if (!g->letter || *g->letter != cases[i].letter)
			fail_msg("%s: %s, %s", cases[i].gain, g->letter, g->formula);
		assert_int_equal(world_finding(&a, "a-gain")->severity, cases[i].severity);
		assert_int_equal(analysis_answer(&a, &a.jobs[0]), cases[i].answer);
		assert_int_equal(a.jobs[0].nr_fixes, cases[i].answer == ANSWER_FIX);
		assert_true((world_finding(&a, "nothing-wrong") != NULL) ==
			    (cases[i].answer == ANSWER_NOTHING));
		analysis_free(&a);
	}
}

/* A bad grade without a fix: a rule that could not be judged may explain it. */
static void test_bad_grade_has_an_answer(void **state)
{
	struct fixture *f = *state;
	struct analysis a = analyse_gain(f, "0", "measured"), judged;

	analysis_free(&a);
	fixture_sql(f, "UPDATE job SET stall_ns = 900000000, stalls = 1000 WHERE id = 1");
	a = world_analyse(f);
	assert_true(a.nr_unjudged > 0);
	assert_int_equal(analysis_answer(&a, &a.jobs[0]), ANSWER_UNKNOWN);
	judged = a;
	judged.nr_unjudged = 0;
	assert_int_equal(analysis_answer(&judged, &a.jobs[0]), ANSWER_UNEXPLAINED);
	analysis_free(&a);
}

/* The rules that were judged and did not fire: without findings, rules that could not be judged,
 * and summary rules. */
static void test_passed(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	world_write(f, "a-found.sql", RULE_HEAD("a-found") RULE_ROW " FROM v_job");
	world_write(f, "b-passed.sql", RULE_HEAD("b-passed") RULE_ROW " FROM v_job WHERE false");
	world_write(f, "c-none.sql", NEEDS("c-none", "counters: lookups"));
	world_write(f, "d-last.sql",
		    RULE_HEAD("d-last") "-- order: last\n" RULE_ROW " FROM v_job WHERE false");
	a = world_analyse(f);
	assert_false(passed(&a, "a-found"));
	assert_true(passed(&a, "b-passed"));
	assert_false(passed(&a, "c-none"));
	assert_false(passed(&a, "d-last"));
	analysis_free(&a);
}

/*
 * A row in every table, with every nullable column NULL: a finding would rest on nothing. Needs are
 * skipped, so that each query runs.
 */
static void put_nulls(struct fixture *f)
{
	fixture_sql(
		f,
		"INSERT INTO directory (id, job_id, path) VALUES (1, 1, x'2f61');"
		"INSERT INTO file (id, job_id, directory_id, dev_major, dev_minor, ino, gen) "
		"VALUES (1, 1, 1, 8, 0, 5, 1);"
		"INSERT INTO filesystem (id, job_id, dev_major, dev_minor) VALUES (1, 1, 8, 0);"
		"INSERT INTO interval (id, run_id, start_ns, duration_ns, read_on_ns) "
		"VALUES (1, 1, 0, 1000000000, 0), (2, 1, 1000000000, 1000000000, 0);"
		"INSERT INTO job_interval (interval_id, job_id) VALUES (1, 1), (2, 1);"
		"INSERT INTO machine (run_id) VALUES (1);"
		"INSERT INTO machine_interval (interval_id) VALUES (1), (2);"
		"INSERT INTO device (run_id, dev_major, dev_minor, network) VALUES (1, 8, 0, 0);");
	for (const char *const *kind =
		     (const char *const[]){"willneed", "dontneed", "sequential", "random", "normal",
					   "noreuse", "readahead", NULL};
	     *kind; kind++)
		fixture_sql(
			f,
			"INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, kind, call) "
			"VALUES (1, 8, 0, 5, 1, '%s', 'fadvise')",
			*kind);
}

/* Rows of the models too: a name, and nothing measured. */
static void put_null_models(struct fixture *f)
{
	static const char *const patterns[] = {
		"sequential",	 "strided",	"random",	   "backward",	  "scan_once",
		"reread",	 "small_files", "shuffled_epoch",  "interleaved", "direct",
		"append_follow", "mmap_random", "mmap_sequential", "mixed",	  "unknown"};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		fixture_sql(
			f,
			"INSERT OR REPLACE INTO temp.analysis_pattern VALUES "
			"(1, 'file', %d, '%s', NULL, NULL), (1, 'directory', %d, '%s', NULL, NULL)",
			(int)i + 1, patterns[i], (int)i + 1, patterns[i]);
	fixture_sql(f, "INSERT INTO temp.analysis_curve VALUES (1, 1000, NULL, NULL, NULL, NULL);"
		       "INSERT INTO temp.analysis_curve_fact (job_id) VALUES (1);"
		       "INSERT INTO temp.analysis_verdict VALUES (1, NULL, NULL)");
}

static void run_on_nulls(struct fixture *f, const struct rule *rule)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(f->sql, rule->sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", rule->id, sqlite3_errmsg(f->sql));
	for (size_t i = 0; i < rule->nr_params; i++) {
		char name[80];

		snprintf(name, sizeof(name), ":%s", rule->params[i].name);
		sqlite3_bind_double(stmt, sqlite3_bind_parameter_index(stmt, name),
				    rule->params[i].real);
	}
	if (sqlite3_step(stmt) == SQLITE_ROW)
		fail_msg("%s found something in what was not measured", rule->id);
	sqlite3_finalize(stmt);
}

static void test_null_is_not_0(void **state)
{
	struct fixture *f = *state;
	struct rule_set set = {0};

	put_nulls(f);
	assert_int_equal(rule_set_load(NULL, &set), 0);
	views(f);
	put_null_models(f);
	/* Makes sure that the queries meet rows, not empty tables. */
	assert_int_equal(ask(f, "SELECT count(*) FROM v_job"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_file WHERE pattern IS NOT NULL"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_directory"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_interval"), 2);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_advice"), 7);
	assert_true(set.nr_rules >= 2);
	for (size_t i = 0; i < set.nr_rules; i++)
		run_on_nulls(f, &set.rules[i]);
	rule_set_free(&set);
}

/* The same through the whole analysis: no findings, and each rule is either silent or not
 * judged. */
static void test_nothing_measured(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	put_nulls(f);
	a = world_analyse(f);
	assert_int_equal(a.rules.nr_problems, 0);
	assert_int_equal(a.jobs[0].nr_findings, 0);
	for (int k = 0; k < GRADE_NR; k++) {
		assert_null(a.jobs[0].grades[k].letter);
		assert_true(strlen(a.jobs[0].grades[k].formula) > 0);
	}
	assert_int_equal(a.nr_verdicts, 7);
	for (size_t i = 0; i < a.nr_verdicts; i++) {
		assert_null(a.verdicts[i].verdict);
		assert_true(strlen(a.verdicts[i].why) > 0);
	}
	assert_false(a.jobs[0].ceiling.overall.known);
	analysis_free(&a);
}

/* How often a job read its data follows from the sizes of its files, if all are known. */
static void test_size_of_the_data(void **state)
{
	struct fixture *f = *state;
	struct analysis a;

	fixture_zero(f, "job");
	fixture_sql(f, "UPDATE job SET read_bytes = 4096000, wall_ns = 1000000000, cpu_ns = 1000 "
		       "WHERE id = 1");
	fixture_sql(f, "INSERT INTO file (id, job_id, dev_major, dev_minor, ino, gen, size_bytes) "
		       "VALUES (1, 1, 8, 0, 1, 0, 1024000), (2, 1, 8, 0, 2, 0, NULL)");
	fixture_zero(f, "file");
	fixture_sql(f, "UPDATE file SET read_bytes = 2048000");
	a = world_analyse(f);
	assert_false(a.jobs[0].ceiling.epochs.known);
	analysis_free(&a);
	/* A file that was read in part counts with that part only. */
	fixture_sql(f, "UPDATE file SET size_bytes = 1 << 40 WHERE id = 2");
	a = world_analyse(f);
	assert_true(a.jobs[0].ceiling.epochs.known);
	assert_float_equal(a.jobs[0].ceiling.epochs.value, 4096000.0 / (1024000 + 2048000), 1e-9);
	analysis_free(&a);
}

/* Databases of schema 1 lack tables and columns: NULL, and no error. */
static void test_old_database(void **state)
{
	struct fixture f = {.dir = "/tmp/test_report_XXXXXX"};
	struct analysis a;

	assert_non_null(mkdtemp(f.dir));
	snprintf(f.db, sizeof(f.db), "%s/run.db", f.dir);
	assert_int_equal(sqlite3_open(f.db, &f.sql), SQLITE_OK);
	fixture_file(&f, SOURCE_DIR "/sql/001_schema.sql");
	fixture_run(&f);
	put_waste(&f);
	fixture_sql(&f, "INSERT INTO advice (job_id, dev_major, dev_minor, ino, gen, kind, call, "
			"pages_asked, pages_brought) VALUES (1, 8, 0, 1, 1, 'willneed', 'fadvise', "
			"100, 50)");
	world_write(&f, "limits.sql", NEEDS("limits", "tables: job_limit"));
	a = world_analyse(&f);
	assert_int_equal(a.rules.nr_problems, 0);
	assert_non_null(world_finding(&a, "prefetch-waste"));
	assert_string_equal(world_unjudged(&a, "limits"),
			    "the database has no fact of the job's memory limit: an older cachemon "
			    "recorded it");
	assert_int_equal(a.nr_verdicts, 1);
	assert_null(a.verdicts[0].verdict);
	analysis_free(&a);
	fixture_end(&f);
}

/* Derived columns of the views, compared with arithmetic by hand. */
static void test_views_by_hand(void **state)
{
	struct fixture *f = *state;

	fixture_zero(f, "job");
	fixture_sql(f,
		    "UPDATE job SET lookups = 1000, misses = 250, used = 60, used_late = 20, "
		    "evicted_unused = 20, demand_pages = 250, prefetched_sync = 30, "
		    "prefetched_async = 70, windows_sync = 10, windows_async = 4, "
		    "window_log2_5 = 14, refaults = 40, refault_distance_pages = 4000, "
		    "refault_distance_ms = 80000, stall_ns = 500000000, stalls = 5, "
		    "wall_ns = 2000000000, cpu_ns = 100000000, evicted_dontneed = 3, "
		    "evicted_reclaim_kswapd = 4, read_calls = 10, read_bytes = 40960 WHERE id = 1");
	views(f);
	assert_true(ask_real(f, "SELECT hit_ratio FROM v_job") == 0.75);
	assert_int_equal(ask(f, "SELECT prefetched_pages FROM v_job"), 100);
	assert_true(ask_real(f, "SELECT accuracy FROM v_job") == 0.8);
	assert_true(fabs(ask_real(f, "SELECT coverage FROM v_job") - 80.0 / 330) < 1e-12);
	assert_true(ask_real(f, "SELECT timeliness FROM v_job") == 0.75);
	assert_int_equal(ask(f, "SELECT waste_bytes FROM v_job"), 20 * 4096);
	assert_true(ask_real(f, "SELECT window_pages_mean FROM v_job") == 25);
	assert_int_equal(ask(f, "SELECT window_pages_max FROM v_job"), 63);
	assert_int_equal(ask(f, "SELECT evicted_pages FROM v_job"), 7);
	assert_true(ask_real(f, "SELECT refault_distance_pages FROM v_job") == 100);
	assert_true(ask_real(f, "SELECT refault_distance_s FROM v_job") == 2);
	assert_true(ask_real(f, "SELECT stall_share FROM v_stall") == 0.25);
	assert_true(ask_real(f, "SELECT bytes_per_call FROM v_job") == 4096);
	assert_int_equal(ask(f, "SELECT count(*) FROM v_others"), 1);
	assert_int_equal(ask(f, "SELECT memory_pages FROM v_run"), 262144);
}

/* In a sliced run, rules have no figures that only the per-read hook measures, and no open
 * fates. */
static void test_sliced(void **state)
{
	struct fixture *f = *state;

	fixture_zero(f, "job");
	fixture_sql(f, "UPDATE run SET sliced = 1, cost_budget = 0.01;"
		       "UPDATE job SET lookups = 1000, misses = 400, read_calls = 10, used = 50, "
		       "untracked = 10, prefetched_sync = 60, stall_ns = 7 WHERE id = 1");
	views(f);
	assert_int_equal(ask(f, "SELECT count(hits) + count(lookups) + count(read_calls) + "
				"count(hit_ratio) + count(bytes_per_call) + count(used) + "
				"count(accuracy) + count(waste_bytes) FROM v_job"),
			 0);
	assert_int_equal(ask(f, "SELECT misses FROM v_job"), 400);
	assert_int_equal(ask(f, "SELECT stall_ns FROM v_job"), 7);
}

static const struct analysis_verdict *verdict_of_run(struct fixture *f, struct analysis *ret)
{
	*ret = world_analyse(f);
	assert_int_equal(ret->nr_verdicts, 1);
	return &ret->verdicts[0];
}

/* All pages that readahead(2) brought were read: a sixth of them in slices, the rest unobserved. */
static void test_fates_that_nobody_followed(void **state)
{
	struct fixture *f = *state;
	const struct analysis_verdict *v;
	struct analysis a;

	fixture_sql(f,
		    "INSERT INTO advice (id, job_id, dev_major, dev_minor, ino, gen, kind, call, "
		    "calls, pages_asked, pages_brought, redundant_pages, used, used_late, "
		    "evicted_unused, resident_unused, untracked) VALUES (1, 1, 8, 0, 5, 1, "
		    "'readahead', 'readahead', 6, 12288, 12288, 0, 2048, 0, 0, 0, 10240)");
	for (int sliced = 0; sliced < 2; sliced++) {
		fixture_sql(f, "UPDATE run SET sliced = %d, cost_budget = 0.01", sliced);
		v = verdict_of_run(f, &a);
		assert_null(v->verdict);
		analysis_free(&a);
	}
	/* The slices saw most of them used at once. How many readers waited is not known. */
	fixture_sql(f, "UPDATE advice SET used = 10240, untracked = 2048");
	assert_null(verdict_of_run(f, &a)->verdict);
	analysis_free(&a);
	fixture_sql(f, "UPDATE advice SET used = 12288, untracked = 0");
	assert_string_equal(verdict_of_run(f, &a)->verdict, "helped");
	analysis_free(&a);
	/* Rules get none of these figures. */
	fixture_sql(f, "UPDATE advice SET used = 10240, used_late = 9, untracked = 2048");
	views(f);
	assert_int_equal(ask(f, "SELECT count(used) + count(used_late) + count(evicted_unused) + "
				"count(resident_unused) FROM v_asked"),
			 0);
	assert_int_equal(ask(f, "SELECT untracked FROM v_asked"), 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_finding, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_needs, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_needs_of_tables, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_order_last, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_grade_says_the_same, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_bad_grade_has_an_answer, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_passed, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_dropped_unknown, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_null_is_not_0, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_nothing_measured, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_size_of_the_data, world_begin,
						fixture_teardown),
		cmocka_unit_test(test_old_database),
		cmocka_unit_test_setup_teardown(test_views_by_hand, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_sliced, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_fates_that_nobody_followed, world_begin,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
