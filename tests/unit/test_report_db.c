/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include "fixtures/report/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "cachemon/base/errtext.h"
#include "cachemon/db/db_read.h"
#include "cachemon/report/run/report.h"

static void assert_refused(const char *path, int want, const char *word)
{
	struct errtext err = {""};
	sqlite3 *db = NULL;

	assert_int_equal(db_read_open(path, &db, &err), want);
	assert_null(db);
	assert_non_null(strstr(err.text, word));
	assert_null(strchr(err.text, '\n'));
}

static int count_runs(const char *path, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int n = -1;

	if (db_read_open(path, &db, err) < 0)
		return -1;
	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM run", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static void assert_runs(const char *path, int want)
{
	struct errtext err = {""};
	int n = count_runs(path, &err);

	if (n != want)
		fail_msg("%d runs, not %d: %s", n, want, err.text);
}

/* As a user without rights here; the exit status of the child is the result. */
static int as_nobody(const char *path, int want)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct errtext err = {""};
		int n = -1;

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		n = count_runs(path, &err);
		if (n != want)
			fprintf(stderr, "%d runs: %s\n", n, err.text);
		_exit(n == want ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void absent(void **state)
{
	struct fixture *f = *state;
	char path[192];

	snprintf(path, sizeof(path), "%s/none.db", f->dir);
	assert_refused(path, -ENOENT, "no database at");
	assert_int_equal(access(path, F_OK), -1); /* and none was created */
}

static void not_a_file(void **state)
{
	struct fixture *f = *state;
	char path[192];

	assert_refused(f->dir, -EISDIR, "is a directory");
	snprintf(path, sizeof(path), "%s/fifo", f->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, -EMEDIUMTYPE, "not a regular file");
	assert_refused("/dev/null", -EMEDIUMTYPE, "not a regular file");
}

static void not_a_database(void **state)
{
	struct fixture *f = *state;
	char path[192];
	FILE *out = NULL;

	snprintf(path, sizeof(path), "%s/\x1b[1mtext", f->dir);
	out = fopen(path, "w");
	fputs("this is no database, but long enough to hold a header of one, isn't it? "
	      "it goes on for more than a hundred bytes",
	      out);
	fclose(out);
	assert_refused(path, -EMEDIUMTYPE, "\\x1b[1mtext is not a cachemon database");
	assert_int_equal(truncate(path, 0), 0);
	assert_refused(path, -EMEDIUMTYPE, "not a cachemon database");
}

static void somebody_elses(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "PRAGMA application_id = 17");
	assert_refused(f->db, -EMEDIUMTYPE, "not a cachemon database");
	fixture_sql(f, "PRAGMA application_id = 1667330920; DROP TABLE file");
	assert_refused(f->db, -EMEDIUMTYPE, "its table 'file' is missing");
}

static void newer(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "PRAGMA user_version = 400");
	assert_refused(f->db, -EPROTO, "newer cachemon (schema 400");
}

/* A database from before filesystems and skipped runs of programs were recorded, not written
 * since. */
static void older(void **state)
{
	struct fixture *f = *state;
	struct report_options o = {.db = f->db, .run_id = 1, .format = REPORT_JSON, .files = 1};
	struct errtext err = {""};
	char text[1 << 15];
	FILE *out = fmemopen(text, sizeof(text), "w");

	fixture_older(f, 1);
	assert_non_null(out);
	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	assert_non_null(strstr(text, "\"filesystems\": []"));
	assert_non_null(strstr(text, "\"recursion_misses\": null"));
}

static void damaged(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {""};
	struct report_options o = {.db = f->db, .run_id = REPORT_RUN_LAST, .files = 1};
	FILE *out = NULL;

	sqlite3_close(f->sql);
	f->sql = NULL;
	out = fopen(f->db, "r+");
	assert_non_null(out);
	fseek(out, 4096, SEEK_SET);
	for (int i = 0; i < 4 * 4096; i++)
		putc(0x5a, out);
	fclose(out);
	out = tmpfile();
	assert_true(report_show(&o, out, &err) < 0);
	assert_non_null(strstr(err.text, "damaged"));
	assert_int_equal(ftell(out), 0);
	fclose(out);
}

/* A modified run: no figures in bytes, and no division by it. */
static void no_page_size(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {""};
	struct report_options o = {.db = f->db, .run_id = REPORT_RUN_LAST, .files = 1};
	FILE *out = tmpfile();

	fixture_sql(f, "PRAGMA ignore_check_constraints = ON; UPDATE run SET page_size_bytes = 0");
	assert_true(report_show(&o, out, &err) < 0);
	assert_non_null(strstr(err.text, "page size"));
	assert_int_equal(ftell(out), 0);
	fclose(out);
}

/* Text of a schema that SQLite quotes does not act on a terminal. */
static void names_in_a_damaged_schema(void **state)
{
	struct fixture *f = *state;
	struct errtext err = {""};
	sqlite3 *db = NULL;

	fixture_sql(f, "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES "
		       "('table', char(27) || '[31mx', 'x', 2, 'CREATE nonsense')");
	sqlite3_close(f->sql);
	f->sql = NULL;
	assert_true(db_read_open(f->db, &db, &err) < 0);
	assert_non_null(strstr(err.text, "damaged"));
	assert_non_null(strstr(err.text, "[31mx"));
	assert_null(strchr(err.text, '\x1b'));
}

static void wal_with_active_writer(void **state)
{
	struct fixture *f = *state;

	fixture_sql(f, "PRAGMA journal_mode = WAL");
	fixture_sql(
		f, "INSERT INTO run (id, uuid, cachemon, host, kernel, arch, started_ns, "
		   "duration_ns, state, writer_boot, writer_pidns, writer_pid, writer_start_ticks, "
		   "level, sliced, read_on_ns, advice_mode, interval_ns, page_size_bytes, "
		   "memory_bytes, map_bytes) SELECT 2, 'u-2', cachemon, host, kernel, arch, "
		   "started_ns, "
		   "0, 'open', writer_boot, 0, 1, 0, level, 0, 0, advice_mode, interval_ns, "
		   "4096, 1, 1 FROM run");
	assert_runs(f->db, 2);
	/* The writer is in the middle of a transaction. */
	fixture_sql(f, "BEGIN IMMEDIATE; DELETE FROM run WHERE id = 2");
	assert_runs(f->db, 2);
	fixture_sql(f, "COMMIT");
	assert_runs(f->db, 1);
}

static void directory_not_writable(void **state)
{
	struct fixture *f = *state;

	sqlite3_close(f->sql);
	f->sql = NULL;
	assert_int_equal(chmod(f->db, 0444), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	assert_int_equal(as_nobody(f->db, 1), 0);
}

/* A clean WAL database needs its index file, which cannot be created there. */
static void wal_in_directory_not_writable(void **state)
{
	struct fixture *f = *state;
	char path[192];

	fixture_sql(f, "PRAGMA journal_mode = WAL");
	sqlite3_close(f->sql);
	f->sql = NULL;
	snprintf(path, sizeof(path), "%s-wal", f->db);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(chmod(f->db, 0444), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	assert_int_equal(as_nobody(f->db, 1), 0);
}

/* A killed writer leaves log and index behind. The intervals in the log count. */
static void wal_left_over(void **state)
{
	struct fixture *f = *state;
	char path[192];

	fixture_sql(f, "PRAGMA journal_mode = WAL");
	fixture_sql(f, "UPDATE run SET uuid = 'changed'");
	fixture_sql(f, "DELETE FROM run");
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", f->db,
			 (const char *[]){"", "-wal", "-shm"}[i]);
		assert_int_equal(chmod(path, 0444), 0);
	}
	assert_int_equal(chmod(f->dir, 0555), 0);
	assert_int_equal(as_nobody(f->db, 0), 0);
}

/* A log without its index: reading only the file would lose the last intervals. */
static void wal_without_index(void **state)
{
	struct fixture *f = *state;
	char from[192];
	char path[192];
	char log[200];
	char *copy = NULL;
	size_t len = 0;
	FILE *out = NULL;
	pid_t pid = 0;
	int status = 0;

	fixture_sql(f, "PRAGMA journal_mode = WAL");
	fixture_sql(f, "UPDATE run SET uuid = 'changed'");
	snprintf(path, sizeof(path), "%s/sub", f->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	for (int i = 0; i < 2; i++) {
		const char *ending = i ? "-wal" : "";

		snprintf(from, sizeof(from), "%s%s", f->db, ending);
		snprintf(log, sizeof(log), "%s/sub/run.db%s", f->dir, ending);
		copy = fixture_read(from, &len);
		out = fopen(log, "wb");
		assert_int_equal(fwrite(copy, 1, len, out), len);
		fclose(out);
		free(copy);
		assert_int_equal(chmod(log, 0444), 0);
	}
	assert_int_equal(chmod(path, 0555), 0);
	assert_int_equal(chmod(f->dir, 0755), 0);
	pid = fork();
	if (pid == 0) {
		struct errtext err = {""};

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		log[strlen(log) - 4] = '\0';
		_exit(count_runs(log, &err) == -1 && strstr(err.text, "Copy both") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	chmod(path, 0755);
}

/* Names with a special meaning for SQLite or in a URI. */
static void odd_names(void **state)
{
	static const char *const names[] = {"a?mode=memory&b=#c%41.db", ":memory:", "file:x.db",
					    "-x y'\".db"};
	struct fixture *f = *state;
	char here[256];

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(f->dir), 0);
	sqlite3_close(f->sql);
	f->sql = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(rename(f->db, names[i]), 0);
		assert_runs(names[i], 1);
		snprintf(f->db, sizeof(f->db), "%s/%s", f->dir, names[i]);
		assert_runs(f->db, 1);
	}
	assert_int_equal(chdir(here), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(absent, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(not_a_file, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(not_a_database, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(somebody_elses, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(newer, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(older, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(damaged, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(no_page_size, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(names_in_a_damaged_schema, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(wal_with_active_writer, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(directory_not_writable, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(wal_in_directory_not_writable, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(wal_left_over, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(wal_without_index, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(odd_names, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
