/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* One screen of a run. */
#include "fixtures/golden_files.h"
#include "fixtures/report/golden.h"

#include <pty.h>

enum { SCREEN_LINES = 40, SCREEN_COLUMNS = 80, LINES_LEAST = 20 };

/* Compares with FIXTURES/report/screen-NAME.txt, within a screen. Frees text. */
static void expect_screen(const char *name, char *text)
{
	size_t lines = 0;
	char path[512];

	for (const char *line = text; *line; line += *line == '\n') {
		size_t columns = 0;

		for (; *line && *line != '\n'; line++)
			columns += (*line & 0xc0) != 0x80;
		assert_in_range(columns, 0, SCREEN_COLUMNS);
		lines++;
	}
	assert_in_range(lines, 1, SCREEN_LINES);
	snprintf(path, sizeof(path), "%s/report/screen-%s.txt", FIXTURES, name);
	golden_file(path, text);
	free(text);
}

static void one_job(void **state)
{
	fixture_sql(*state, "UPDATE run SET user = 'ann'; INSERT INTO job_limit (job_id, "
			    "limit_bytes, at) VALUES (1, 2147483648, CAST('/a' AS BLOB))");
	expect_screen("one-job", golden_screen(*state, 3));
}

/* An old database: missing values stay missing. */
static void unknown(void **state)
{
	fixture_sql(*state, "UPDATE job SET stall_ns = NULL, stalls = NULL, lookups = NULL, "
			    "wall_ns = NULL, processes = NULL, alive = NULL; "
			    "UPDATE run SET exit_status = NULL");
	fixture_older(*state, 6);
	expect_screen("unknown", golden_screen(*state, 3));
}

static void no_limit(void **state)
{
	char *text;

	fixture_sql(*state, "INSERT INTO job_limit (job_id, at) VALUES (1, CAST('/a' AS BLOB))");
	text = golden_screen(*state, 3);
	assert_non_null(strstr(text, "\nlimit    none for the job; the machine has 16.0 GiB of "
				     "memory\n"));
	free(text);
}

static void nothing_to_change(void **state)
{
	fixture_sql(*state, "UPDATE job SET misses = 1, refaults = 0, refault_misses = 0, "
			    "evicted_unused = 0, resident_unused = 218, stall_ns = 0, stalls = 0; "
			    "DELETE FROM advice");
	expect_screen("nothing", golden_screen(*state, 3));
}

static void add_jobs(struct fixture *f)
{
	for (int id = 10; id < 14; id++)
		fixture_sql(
			f,
			"CREATE TEMP TABLE one AS SELECT * FROM job WHERE id = 1; UPDATE one SET "
			"id = %d, slot = %d, name = 'other-%d', stall_ns = stall_ns * %d; "
			"INSERT INTO job SELECT * FROM one; DROP TABLE one",
			id, id, id, id);
}

/* Each job has its own summary; the rest of them is named. */
static void several_jobs(void **state)
{
	add_jobs(*state);
	expect_screen("several", golden_screen(*state, 3));
}

static void sliced(void **state)
{
	fixture_sql(*state, "UPDATE run SET sliced = 1, read_on_ns = 420000000, level = 'auto'; "
			    "UPDATE job SET lookups = NULL, read_calls = NULL, read_bytes = NULL; "
			    "INSERT INTO estimate (job_id, name, value, low, high) VALUES "
			    "(1, 'read_bytes', 4000000, 3000000, 5000000), "
			    "(1, 'lookups', 980, 900, 1060), (1, 'hits', 730, 600, 800), "
			    "(1, 'hit_ratio', 0.75, 0.7, 0.8)");
	expect_screen("sliced", golden_screen(*state, 3));
}

static void failed_start(void **state)
{
	fixture_sql(*state, "UPDATE run SET exit_status = 127, duration_ns = 0; DELETE FROM file; "
			    "DELETE FROM directory; DELETE FROM advice; DELETE FROM filesystem; "
			    "UPDATE job SET processes = 0, alive = 0, wall_ns = 0, cpu_ns = 0, "
			    "selector = 'command: no-such-command'");
	for (int c = 0; c < C_NR; c++)
		fixture_sql(*state, "UPDATE job SET %s = 0 WHERE %s IS NOT NULL", counter_name(c),
			    counter_name(c));
	expect_screen("failed-start", golden_screen(*state, 3));
}

static void cut_and_without_job(void **state)
{
	fixture_sql(*state, "UPDATE run SET state = 'cut'; DELETE FROM job");
	expect_screen("no-job", golden_screen(*state, 3));
}

/* However long the names are, in a database from any source. */
static void long_names(void **state)
{
	char *text;

	fixture_sql(*state,
		    "UPDATE run SET host = hex(zeroblob(2000)), user = hex(zeroblob(2000)); "
		    "UPDATE job SET name = hex(zeroblob(2000)), selector = 'command: ' || "
		    "replace(hex(zeroblob(2000)), '00', 'x \xc3\xa4')");
	text = golden_screen(*state, 3);
	assert_non_null(strstr(text, "..."));
	expect_screen("long", text);
}

/* A whole report has the same text, and its head can be sent to others. */
static void whole_report_opens_with_it(void **state)
{
	static const char *const words[] = {"python3train.py", "2026-09-2114:13UTC,took4.20s",
					    "byuserannonnode-17(Linux6.18.44,cachemon0.0.9)",
					    "unknownforthejob;themachinehas16.0GiBofmemory",
					    "ofitstimewaitingforreads"};
	static const enum report_format formats[] = {REPORT_TEXT, REPORT_MARKDOWN, REPORT_HTML};

	fixture_sql(*state, "UPDATE run SET user = 'ann'");
	for (size_t i = 0; i < 3; i++) {
		char *text = golden_report(*state, formats[i], 2);
		char *flat = text;

		/* Lines of text may be broken anywhere, except before a unit in HTML. */
		for (char *p = text; *p; p++)
			if (!strncmp(p, "&nbsp;", strlen("&nbsp;")))
				p += strlen("&nbsp;") - 1;
			else if (!strchr(" \n", *p))
				*flat++ = *p;
		*flat = '\0';
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			if (!strstr(text, words[k]))
				fail_msg("'%s' is missing in format %d", words[k], formats[i]);
		free(text);
	}
}

static void programs_get_it_too(void **state)
{
	cJSON *json;

	fixture_sql(*state, "UPDATE run SET user = 'ann'; INSERT INTO job_limit (job_id, "
			    "limit_bytes, at) VALUES (1, 2147483648, CAST('/a' AS BLOB))");
	json = golden_json(*state);
	assert_string_equal(at(json, "run.user")->valuestring, "ann");
	assert_string_equal(at(json, "run.command")->valuestring, "python3 train.py");
	assert_true(at(json, "jobs.0.memory_limit_bytes")->valuedouble == 2147483648.0);
	/* With several tasks: the share of the time that they ran or waited. */
	assert_float_equal(at(json, "jobs.0.wall_without_waiting_ns")->valuedouble,
			   4100000000.0 * (7400000000.0 / (7400000000.0 + 163800000.0)), 1);
	cJSON_Delete(json);
	fixture_sql(*state, "UPDATE job SET selector = 'pid: 12, command: cp, uid: 1000'");
	json = golden_json(*state);
	assert_string_equal(at(json, "run.command")->valuestring, "cp");
	cJSON_Delete(json);
	fixture_sql(*state, "UPDATE job SET selector = 'cgroup: /a/b'; UPDATE run SET user = NULL");
	json = golden_json(*state);
	assert_true(cJSON_IsNull(at(json, "run.command")));
	assert_true(cJSON_IsNull(at(json, "run.user")));
	cJSON_Delete(json);
}

/* Options that name the database and the run again, quoted for a shell. */
static void commands_name_the_same_run(void **state)
{
	char *again = report_again("/a b/run.db", 7, "it's");

	(void)state;
	assert_string_equal(again, " --db '/a b/run.db' --run 7 --job 'it'\\''s'");
	free(again);
	again = report_again(NULL, REPORT_RUN_LAST, NULL);
	assert_string_equal(again, "");
	free(again);
}

/* A command on one line can be copied: a long path stands on a line of its own. */
static void commands_fit_on_lines(void **state)
{
	static const char *const commands[] = {"cachemon report --run 3 --full ",
					       "cachemon report --run 3 -o report.html "};
	char *text = golden_screen_again(*state, 3, "/tmp/x/run.db", " --run 3");

	assert_non_null(strstr(text, " --run 3 --full          # all of it\n"));
	free(text);
	text = golden_screen_again(*state, 3, "/tmp/longer/run.db", " --run 3");
	assert_non_null(strstr(
		text, "\n    cachemon report --db /tmp/longer/run.db --run 3 --full  # all "));
	assert_non_null(strstr(text, "\n    cachemon report --db /tmp/longer/run.db --run 3 -o "
				     "report.html\n"));
	assert_null(strstr(text, "CACHEMON_DB"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
	free(text);
	text = golden_screen_again(
		*state, 3, "/data/a user/with/a long/path/of/more/than/eighty/columns/run.db",
		" --run 3");
	assert_non_null(strstr(text,
			       "\n    export CACHEMON_DB='/data/a user/with/a long/path/of/more/"
			       "than/eighty/columns/run.db'\n"));
	for (int i = 0; i < 2; i++)
		assert_non_null(strstr(text, commands[i]));
	assert_null(strstr(text, "--db"));
	free(text);
}

/* As printed on a terminal of that many lines. */
static char *on_terminal(struct fixture *f, unsigned short rows)
{
	struct winsize size = {.ws_row = rows, .ws_col = SCREEN_COLUMNS};
	struct report_options o = {.db = f->db,
				   .run_id = REPORT_RUN_LAST,
				   .brief = true,
				   .again_db = "/tmp/a/longer/path/of/the/run.db",
				   .again = " --run 3"};
	struct errtext err = {""};
	char text[1 << 14];
	size_t nr = 0;
	int master, slave;
	FILE *out;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	out = fdopen(slave, "w");
	assert_non_null(out);
	/* A terminal holds 4 KiB that nobody reads: more than a screen has. */
	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	for (ssize_t n; (n = read(master, text + nr, sizeof(text) - 1 - nr)) > 0;)
		nr += (size_t)n;
	close(master);
	text[nr] = '\0';
	return strdup(text);
}

/* The title is in view above the prompt, which has a line, and so are these words. */
static void expect_in_view(struct fixture *f, const char *what, const char *const *words)
{
	size_t last = 0;

	for (unsigned short rows = LINES_LEAST; rows <= SCREEN_LINES; rows++) {
		char *text = on_terminal(f, rows);
		size_t lines = 0;

		for (const char *c = text; *c; c++)
			lines += *c == '\n';
		if (lines >= rows)
			fail_msg("%s: %zu lines on a terminal of %u:\n%s", what, lines, rows, text);
		/* A larger screen never has less. */
		if (lines < last)
			fail_msg("%s: %zu lines on a terminal of %u, %zu on a smaller one", what,
				 lines, rows, last);
		last = lines;
		for (size_t i = 0; words[i]; i++)
			if (!strstr(text, words[i]))
				fail_msg("%s: no '%s' on a terminal of %u lines:\n%s", what,
					 words[i], rows, text);
		free(text);
	}
}

static void fits_every_height(void **state)
{
	static const char *const one[] = {
		"cachemon: run 3, job ", "command", "Grade ", "waiting  ", " --full", NULL};
	static const char *const over[] = {"cachemon: run 3, job ", "Grade ",
					   "Measuring cost 20.0 %", " --full", NULL};
	static const char *const several[] = {"cachemon: run 3, 5 jobs", "Grade ",
					      "select one with --job", " --full", NULL};

	expect_in_view(*state, "one job", one);
	fixture_sql(*state, "UPDATE run SET cost_budget = 0.01, cost_share = 0.2, "
			    "cost_budget_kept = 0, cost_pages_ns = 9000000000");
	expect_in_view(*state, "over its budget", over);
	fixture_sql(*state, "UPDATE run SET state = 'cut'");
	expect_in_view(*state, "cut", over);
	fixture_sql(*state, "UPDATE job SET selector = 'command: ' || "
			    "replace(hex(zeroblob(2000)), '00', 'x \xc3\xa4')");
	expect_in_view(*state, "a long command", over);
	add_jobs(*state);
	expect_in_view(*state, "several jobs", several);
}

static int teardown(void **state)
{
	fixture_end(*state);
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_job, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(unknown, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(no_limit, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(nothing_to_change, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(several_jobs, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(sliced, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(failed_start, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(cut_and_without_job, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(long_names, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(whole_report_opens_with_it, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(programs_get_it_too, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(commands_name_the_same_run, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(commands_fit_on_lines, golden_begin, teardown),
		cmocka_unit_test_setup_teardown(fits_every_height, golden_begin, teardown),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
