/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: top report account access */
/* What a frame shows: the order of rows, the filter, columns by width, all sizes, hostile names;
 * and that a moment gives the same frame while it is the newest and later. */
#include "fixtures/report/paint.h"

#include <locale.h>

#include "cachemon/base/errtext.h"
#include "cachemon/base/escape.h"

static void expect_frame(struct top_session *s, int columns, int rows, const char *want)
{
	char *is = painted(s, columns, rows, false, false);

	if (strcmp(is, want) != 0)
		fail_msg("is:\n%s\nnot:\n%s", is, want);
	free(is);
}

static void expect_has(struct top_session *s, const char *text, bool has)
{
	char *is = painted(s, 120, 30, true, true);

	if (!strstr(is, text) == has)
		fail_msg("%s '%s':\n%s", has ? "lacks" : "has", text, is);
	free(is);
}

/* The names of the rows, in order. */
static void expect_order(struct top_session *s, const char *const names[])
{
	struct errtext err;
	size_t nr = 0;

	assert_int_equal(top_session_load(s, &err), 0);
	for (; names[nr]; nr++) {
		if (nr >= s->frame.nr_rows || strcmp(s->frame.rows[nr].name, names[nr]) != 0)
			fail_msg("row %zu of %zu is '%s', not '%s'", nr, s->frame.nr_rows,
				 nr < s->frame.nr_rows ? s->frame.rows[nr].name : "(none)",
				 names[nr]);
	}
	assert_int_equal(s->frame.nr_rows, nr);
}

#define ORDER(s, ...) expect_order(s, (const char *const[]){__VA_ARGS__, NULL})

static void whole_frame(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	expect_frame(&s, 60, 8,
		     "run 1  train on node            2023-11-14 22:13:22  0:00:02\n"
		     "HITS 80.0 %  MISSES/s 40  LOOKUPS/s 200  WAITED/s -\n"
		     "    HITS vMISSES/s  LOOKUPS/s  WAITED/s JOB\n"
		     "  80.0 %        40        200         - train\n"
		     "  66.7 %         2          6         - (others)\n\n\n\n");
	s.view.level = TOP_FILES;
	expect_frame(&s, 40, 8,
		     "run 1  train on node   22:13:22  0:00:02\n"
		     "HITS 80.0 %  MISSES/s 40  LOOKUPS/s 200\n"
		     "    HITS vMISSES/s FILE (top 256)\n"
		     "  50.0 %        20 /a/one\n"
		     "       -        10 /b/three\n"
		     "  83.3 %         5 /a/two\n"
		     "  96.2 %         5 [all other files]\n\n");
	/* As much as fits. */
	expect_frame(&s, 33, 4,
		     "run 1  train o  22:13:22  0:00:02\n"
		     "HITS 80.0 %  MISSES/s 40\n"
		     "    HITS vMISSES/s FILE\n"
		     "  50.0 %        20 /a/one\n");
	top_session_end(&s);
}

static void the_order_is_seen(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	s.view.level = TOP_FILES;
	for (enum top_column k = TOP_NAME; k < TOP_NR_COLUMNS; k++) {
		const char *heading = top_column_info(k)->heading;

		s.view.sort = k;
		for (int columns = 20; columns <= 200; columns += 15) {
			char *text = painted(&s, columns, 10, false, true);
			char marked[2][32];

			for (int i = 0; i < 2; i++)
				snprintf(marked[i], sizeof(marked[i]), "%c%s", "v^"[i],
					 heading ? heading : "FILE");
			if (!strstr(text, marked[0]) && !strstr(text, marked[1]))
				fail_msg("%d columns, no %s:\n%s", columns, marked[0], text);
			free(text);
		}
	}
	top_session_end(&s);
}

static void moments_do_not_change(void **state)
{
	struct fixture *f = *state;
	struct top_session s = begun(f);
	char *live, *later;

	two_seconds(f);
	/* Whole runs show the present. */
	for (enum top_level level = TOP_JOBS; level < TOP_NR_LEVELS; level++) {
		s.view.level = level;
		s.view.detail = true;
		s.view.at_ns = TOP_NEWEST;
		live = painted(&s, 100, 40, true, false);
		made_interval(f, 2 + level, (1 + level) * S, S, S);
		made_job(f, 2 + level, 1, 1000000, 999999, 1000);
		made_file(f, 2 + level, 1, 1000000, 999999);
		fixture_sql(f,
			    "UPDATE run SET state = 'open', duration_ns = 9000000000;"
			    "UPDATE job SET lookups = 77, misses = 76, alive = 3, processes = 5");
		s.view.at_ns = (1 + level - TOP_JOBS) * S;
		later = painted(&s, 100, 40, true, false);
		assert_string_equal(live, later);
		free(live);
		free(later);
	}
	top_session_end(&s);
}

/* Jobs and, if there is room, the files with the longest waits; only jobs can be selected. */
static void files_beside_jobs(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	fixture_sql(*state, "UPDATE file_interval SET stall_ns = file_id * 10000000;"
			    "UPDATE job_interval SET stall_ns = 100000000 WHERE job_id = 1");
	expect_has(&s, "(others)\n    HITS  MISSES/s", true);
	expect_has(&s, "\u25beWAITED/s  PREFETCHED/s FILE", true);
	s.view.level = TOP_DIRECTORIES;
	expect_has(&s, "FILE", false);
	s.view.level = TOP_JOBS;
	s.view.wide = true;
	expect_has(&s, "\u25beWAITED/s FILE", true);
	assert_int_equal(s.frame.nr_rows, 2);
	assert_int_equal(s.frame.nr_files, 4);
	assert_string_equal(s.frame.files[0].name, "/b/three");
	assert_string_equal(s.frame.files[1].name, "/a/two");
	assert_string_equal(s.frame.files[2].name, "/a/one");
	assert_string_equal(s.frame.files[3].name, "[all other files]");
	/* With more than half of it in files without a row, directories show where it is. */
	fixture_sql(*state, "UPDATE file_interval SET stall_ns = 10000000");
	made_directory(*state, 2, 1, 100, 90);
	made_directory(*state, 2, 2, 10, 9);
	fixture_sql(*state, "UPDATE directory_interval SET stall_ns = directory_id * 40000000");
	expect_has(&s, "\u25beWAITED/s DIRECTORY", true);
	assert_string_equal(s.frame.files[0].name, "/b");
	assert_string_equal(s.frame.files[1].name, "/a");
	s.view.level = TOP_DIRECTORIES;
	expect_has(&s, "\u25beWAITED/s FILE", true);
	/* A table of files uses the whole width. */
	s.view.level = TOP_FILES;
	expect_has(&s, "\u25beWAITED/s", false);
	assert_null(s.frame.files);
	top_session_end(&s);
}

/* Processes are below the files, or in their own table; the longest wait is always first. */
static void processes_beside_jobs(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	fixture_sql(*state, "UPDATE job_interval SET stall_ns = 100000000, stalls = 9 "
			    "WHERE job_id = 1");
	made_process(*state, 2, 12, 10000000, 1);
	made_process(*state, 2, 7, 70000000, 5);
	s.view.wide = true;
	made_process_reads(*state, 7, 3000, 9);
	expect_has(&s, "WAITS/s  CALLS/s PROCESS", true);
	assert_int_equal(s.frame.nr_processes, 3);
	assert_string_equal(s.frame.processes[0].name, "7 worker");
	assert_string_equal(s.frame.processes[1].name, "12 worker");
	assert_string_equal(s.frame.processes[2].name, "[all other processes]");
	s.view.level = TOP_PROCESSES;
	ORDER(&s, "7 worker", "12 worker", "[all other processes]");
	expect_has(&s, "  70.0 ms  2.93 KiB        5        9 7 worker", true);
	expect_has(&s, "  10.0 ms         -        1        - 12 worker", true);
	s.view.sort = TOP_CALLS;
	ORDER(&s, "7 worker", "12 worker", "[all other processes]");
	s.view.sort = TOP_NAME;
	ORDER(&s, "12 worker", "7 worker", "[all other processes]");
	/* Reads without waits, which were withdrawn. */
	fixture_sql(*state, "UPDATE job_interval SET stall_ns = NULL, stalls = NULL;"
			    "UPDATE process_interval SET stall_ns = 0, stalls = 0");
	expect_has(&s, "        -  2.93 KiB        -        9 7 worker", true);
	fixture_sql(*state, "DELETE FROM process_interval");
	expect_has(&s, "Waiting was not measured.", true);
	fixture_sql(*state, "UPDATE job_interval SET stall_ns = 0, stalls = 0");
	expect_has(&s, "No process waited.", true);
	top_session_end(&s);
}

/* The process that evicted most of the job's pages. */
static void neighbour_is_named(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	fixture_sql(*state,
		    "INSERT INTO interference (job_id, cause, evictor_kind, evictor, pages, exact) "
		    "VALUES (1, 'reclaim_kswapd', 'others', 'tar', 20000, 0), "
		    "(1, 'reclaim_direct', 'others', 'tar', 300, 1), "
		    "(1, 'reclaim_direct', 'others', 'cp', 20200, 1), "
		    "(1, 'reclaim_memcg', 'own', 'train', 90000, 1)");
	expect_has(&s, " (others) tar", true);
	assert_string_equal(s.frame.rows[1].name, "(others) tar evicts");
	top_session_end(&s);
}

static void rows_are_ordered(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	s.view.level = TOP_FILES;
	ORDER(&s, "/a/one", "/b/three", "/a/two", "[all other files]");
	s.view.reversed = true;
	ORDER(&s, "/a/two", "/b/three", "/a/one", "[all other files]");
	top_view_sort(&s.view, "hits");
	/* Without lookups there is no ratio: such rows come last in both directions. */
	ORDER(&s, "/a/one", "/a/two", "/b/three", "[all other files]");
	s.view.reversed = true;
	ORDER(&s, "/a/two", "/a/one", "/b/three", "[all other files]");
	top_view_sort(&s.view, "name");
	ORDER(&s, "/a/one", "/a/two", "/b/three", "[all other files]");
	/* Ties: by lookups, then in recorded order. */
	fixture_sql(*state, "UPDATE file_interval SET lookups = 70 WHERE file_id = 2;"
			    "UPDATE file_interval SET lookups = 40 WHERE file_id = 3");
	top_view_sort(&s.view, "wasted");
	ORDER(&s, "/a/two", "/a/one", "/b/three", "[all other files]");
	top_session_end(&s);
}

static void rows_are_filtered(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	s.view.level = TOP_FILES;
	strcpy(s.view.filter, "/A/");
	ORDER(&s, "/a/one", "/a/two");
	strcpy(s.view.filter, "nothing");
	s.view.cursor = 3;
	s.view.detail = true;
	ORDER(&s, NULL);
	assert_int_equal(top_frame_cursor_id(&s.frame), TOP_NO_ROW);
	expect_has(&s, "No row matches the filter.", true);
	top_session_end(&s);
}

static void the_chosen_row_stays(void **state)
{
	struct fixture *f = *state;
	struct top_session s = begun(f);

	two_seconds(f);
	s.view.level = TOP_FILES;
	s.view.detail = true;
	s.view.cursor = 2;
	expect_has(&s, "/a/two", true);
	assert_int_equal(s.view.pinned, 2);
	made_interval(f, 3, 2 * S, S, S);
	made_job(f, 3, 1, 100, 90, 1000);
	made_file(f, 3, 2, 100, 90);
	expect_has(&s, "/a/two", true);
	assert_int_equal(s.frame.cursor, 0);
	top_session_end(&s);
}

static void no_size_is_too_small(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	for (int what = 0; what < 12; what++) {
		s.view.level = what % TOP_NR_LEVELS;
		s.view.detail = what & 1;
		s.view.help = what >= 9;
		for (int columns = 1; columns < 140; columns += columns < 45 ? 1 : 19) {
			for (int rows = 1; rows < 40; rows += rows < 14 ? 1 : 7) {
				bool utf8 = rows & 1;
				char *text = painted(&s, columns, rows, utf8, columns & 1);
				struct top_canvas c = {.utf8 = utf8};
				int lines = 0;

				for (char *line = text, *end; (end = strchr(line, '\n'));
				     line = end + 1, lines++) {
					*end = '\0';
					assert_true(top_text_width(&c, line) <= columns);
				}
				assert_int_equal(lines, rows);
				free(text);
			}
		}
	}
	top_session_end(&s);
}

static void ascii_is_ascii(void **state)
{
	struct top_session s = begun(*state);
	char *text;

	two_seconds(*state);
	fixture_sql(*state, "UPDATE file SET path = CAST('/\u00e4/\u65e5' AS BLOB) WHERE id = 1");
	s.view.level = TOP_FILES;
	s.view.detail = true;
	text = painted(&s, 140, 30, false, true);
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
	assert_non_null(strstr(text, "/\\u00e4/\\u65e5"));
	free(text);
	expect_has(&s, "/\u00e4/\u65e5", true);
	top_session_end(&s);
}

static void hostile_names_are_inert(void **state)
{
	static const char *const names[] = {
		"/a/\033[2J\033]0;x\007",
		"/a/b\nc\td\r",
		"/a/\u202egpj.exe",
		"/a/\xff\xfe",
		"/a/\u200b\u2066x",
		"/a/=cmd|' /C'!A0",
		"/a/<script>&amp;",
		"/a/%s%n",
		"/a/\x9b"
		"31m",
	};
	struct fixture *f = *state;
	struct top_session s = begun(f);

	two_seconds(f);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text;

		fixture_sql(f,
			    "UPDATE file SET path = CAST(%Q AS BLOB); UPDATE directory SET path = "
			    "CAST(%Q AS BLOB) WHERE id = 1; UPDATE job SET name = CAST(%Q AS TEXT)",
			    names[i], names[i], names[i]);
		for (enum top_level level = 0; level < TOP_NR_LEVELS; level++) {
			s.view.level = level;
			s.view.detail = true;
			text = painted(&s, 100, 30, true, true);
			for (const char *p = text; *p;) {
				uint32_t cp = 0;
				size_t n = escape_decode(p, strlen(p), &cp);

				assert_true(n && (cp == '\n' || !escape_is_unsafe(cp)));
				p += n;
			}
			free(text);
		}
	}
	top_session_end(&s);
}

static void hostile_figures_do_no_harm(void **state)
{
	static const char *const values[] = {"-1", "9223372036854775807", "-9223372036854775808",
					     "0"};
	struct fixture *f = *state;
	struct top_session s = begun(f);

	two_seconds(f);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		fixture_sql(f,
			    "UPDATE interval SET duration_ns = %s, read_on_ns = %s;"
			    "UPDATE interval SET start_ns = %s WHERE id = 2;"
			    "UPDATE run SET started_ns = %s, interval_ns = %s",
			    values[i], values[i], values[i], values[i], values[i]);
		for (int c = 0; c < C_NR; c++)
			fixture_sql(
				f,
				"UPDATE job_interval SET %s = %s; UPDATE file_interval SET %s = %s",
				counter_name(c), values[i], counter_name(c), values[i]);
		for (enum top_level level = 0; level < TOP_NR_LEVELS; level++) {
			s.view.level = level;
			s.view.detail = true;
			free(painted(&s, 200, 60, true, true));
		}
	}
	top_session_end(&s);
}

static void wide_characters_fit(void **state)
{
	struct top_canvas c;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(top_canvas_new(5, 4, true, &c), 0);
	assert_int_equal(top_put(&c, 0, 0, 5, TOP_PLAIN, "\u65e5\u672c\u8a9e"), 4);
	/* Combining characters take no column. */
	assert_int_equal(top_put(&c, 1, 0, 5, TOP_PLAIN, "e\u0301x"), 2);
	assert_int_equal(top_put_tail(&c, 2, 0, 5, TOP_PLAIN, "ab\u65e5\u672c"), 5);
	assert_int_equal(top_put_right(&c, 3, 0, 5, TOP_PLAIN, "ab"), 5);
	/* Output outside of the canvas is ignored. */
	top_put(&c, 7, 0, 5, TOP_PLAIN, "x");
	top_put(&c, 0, -3, 5, TOP_PLAIN, "");
	top_canvas_write(&c, out);
	fclose(out);
	assert_string_equal(text, "\u65e5\u672c\ne\u0301x\n\u2026\u65e5\u672c\n   ab\n");
	free(text);
	top_canvas_free(&c);
}

static void gaps_are_seen(void **state)
{
	struct fixture *f = *state;
	struct top_session s = begun(f);

	made_files(f);
	for (int i = 1; i <= 4; i++) {
		made_interval(f, i, (i - 1) * S, S, S);
		made_job(f, i, 1, 100, i == 3 ? 0 : 10, 1000);
	}
	fixture_sql(f, "DELETE FROM job_interval WHERE interval_id = 2");
	/* Maximum, no row, zero, maximum. */
	expect_has(&s, "\u2588-\u2581\u2588", true);
	top_session_end(&s);
}

static void last_line_tells(void **state)
{
	struct top_session s = begun(*state);

	two_seconds(*state);
	expect_has(&s, "? help", true);
	expect_has(&s, "live", true);
	s.view.pace = TOP_HOLD;
	expect_has(&s, "held", true);
	strcpy(s.view.filter, "one");
	expect_has(&s, "only: one", true);
	s.view.typing = TOP_TYPING_TIME;
	strcpy(s.view.typed, "1:0");
	expect_has(&s, "go to: 1:0_", true);
	s.view.help = true;
	expect_has(&s, "quit; close the help", true);
	top_session_end(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_frame),
		TEST(the_order_is_seen),
		TEST(moments_do_not_change),
		TEST(files_beside_jobs),
		TEST(neighbour_is_named),
		TEST(rows_are_ordered),
		TEST(rows_are_filtered),
		TEST(the_chosen_row_stays),
		TEST(no_size_is_too_small),
		TEST(ascii_is_ascii),
		TEST(hostile_names_are_inert),
		TEST(hostile_figures_do_no_harm),
		TEST(processes_beside_jobs),
		TEST(wide_characters_fit),
		TEST(gaps_are_seen),
		TEST(last_line_tells),
	};

	setenv("TZ", "UTC", 1);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
