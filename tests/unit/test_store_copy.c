/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* A run by itself: every row of it, no row of others, in a file that nobody can change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cachemon/db/db_read.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/store/store_copy.h"
#include "test_store_fixture.h"

/* Two runs in the database, of which the second has more intervals and stays open. */
static void make_runs(struct fixture *f, struct store **ret_other, struct ledger **ret_ledger)
{
	struct store_run run = test_run();
	struct test_sample t;

	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 10; n++)
		write_ok(f, n, 20);
	run.jobs[JOB_WATCHED].name = "secret";
	if (store_open_beside(f->st, ret_other, &f->err) || store_begin(*ret_other, &run, &f->err))
		fail_msg("%s", f->err.text);
	assert_int_equal(ledger_new(NULL, ret_ledger), 0);
	for (uint64_t n = 0; n < 15; n++) {
		test_sample(&t, n, 30);
		ledger_apply(*ret_ledger, &t.s);
		assert_int_equal(store_write(*ret_other, *ret_ledger, &t.s, &f->err), 0);
	}
}

/* Writes the copy to a file, for ask(). */
static void save(const struct fixture *f, int fd, char path[320])
{
	char data[65536];
	ssize_t n;
	off_t at = 0;
	int to;

	snprintf(path, 320, "%s/copy.db", f->scratch.dir);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(to >= 0);
	while ((n = pread(fd, data, sizeof(data), at)) > 0) {
		assert_int_equal(write(to, data, (size_t)n), n);
		at += n;
	}
	close(to);
}

static int64_t count(const char *db, const char *table, const char *where)
{
	char sql[512];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE %s", table, where);
	return ask(db, sql);
}

static void test_all_rows_of_one_run(void **state)
{
	static const char *const tables[][2] = {
		{"run", "id = 1"},
		{"job", "run_id = 1"},
		{"probe", "run_id = 1"},
		{"unmeasured", "run_id = 1"},
		{"interval", "run_id = 1"},
		{"job_interval", "interval_id IN (SELECT id FROM interval WHERE run_id = 1)"},
		{"file_interval", "interval_id IN (SELECT id FROM interval WHERE run_id = 1)"},
		{"file", "job_id IN (SELECT id FROM job WHERE run_id = 1)"},
		{"directory", "job_id IN (SELECT id FROM job WHERE run_id = 1)"},
		{"filesystem", "job_id IN (SELECT id FROM job WHERE run_id = 1)"},
	};
	struct fixture *f = *state;
	struct store *other = NULL;
	struct ledger *l = NULL;
	char copy[320];
	int fd = -1;

	make_runs(f, &other, &l);
	if (store_copy_run(f->scratch.db, 1, &fd, &f->err))
		fail_msg("%s", f->err.text);
	save(f, fd, copy);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		int64_t rows = count(f->scratch.db, tables[i][0], tables[i][1]);

		assert_true(rows > 0);
		assert_int_equal(count(copy, tables[i][0], "true"), rows);
		assert_int_equal(count(copy, tables[i][0], tables[i][1]), rows);
	}
	assert_true(is_sound(copy));
	assert_true(adds_up(copy));
	assert_int_equal(ask(copy, "SELECT misses FROM job WHERE slot = 1"), test_misses(10));
	assert_int_equal(ask(copy, "PRAGMA user_version"),
			 ask(f->scratch.db, "PRAGMA user_version"));
	assert_int_equal(ask(copy, "PRAGMA application_id"),
			 ask(f->scratch.db, "PRAGMA application_id"));
	assert_int_equal(ask(copy, "SELECT count(*) FROM sqlite_schema"),
			 ask(f->scratch.db, "SELECT count(*) FROM sqlite_schema"));
	close(fd);
	store_close(other);
	ledger_free(l);
}

/* Not even in bytes between the rows. */
static void test_nothing_of_others(void **state)
{
	struct fixture *f = *state;
	struct store *other = NULL;
	struct ledger *l = NULL;
	static char data[1 << 22];
	ssize_t n;
	int fd = -1;

	make_runs(f, &other, &l);
	assert_int_equal(store_copy_run(f->scratch.db, 1, &fd, &f->err), 0);
	n = pread(fd, data, sizeof(data), 0);
	assert_in_range(n, 4096, sizeof(data) - 1);
	assert_null(memmem(data, (size_t)n, "secret", 6));
	assert_null(memmem(data, (size_t)n, "/f25", 4));
	assert_non_null(memmem(data, (size_t)n, "/f15", 4));
	close(fd);
	store_close(other);
	ledger_free(l);
}

static void test_the_file_is_sealed(void **state)
{
	const struct store_run run = test_run();
	struct fixture *f = *state;
	struct stat sb;
	int fd = -1;

	begin(f, &run, NULL);
	assert_int_equal(store_copy_run(f->scratch.db, 1, &fd, &f->err), 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS),
			 F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(ftruncate(fd, sb.st_size + 1), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

/* The ids of the intervals in a copy are those from first to last. */
static void expect_intervals(struct fixture *f, int64_t run, int64_t after, int64_t first,
			     int64_t last)
{
	char copy[320];
	int fd = -1;

	if (store_copy_new(f->scratch.db, run, after, &fd, &f->err))
		fail_msg("%s", f->err.text);
	assert_true(fd >= 0);
	save(f, fd, copy);
	close(fd);
	assert_true(is_sound(copy));
	assert_int_equal(ask(copy, "SELECT min(id) FROM interval"), first);
	assert_int_equal(ask(copy, "SELECT max(id) FROM interval"), last);
	assert_int_equal(ask(copy, "SELECT count(*) FROM interval"), last - first + 1);
	assert_int_equal(ask(copy, "SELECT count(DISTINCT interval_id) FROM file_interval"),
			 last - first + 1);
	assert_int_equal(ask(copy, "SELECT count(*) FROM run"), 1);
	assert_int_equal(ask(copy, "SELECT id FROM run"), run);
}

/* The sums are whole; the timeline is what is new. */
static void test_rows_since_an_interval(void **state)
{
	struct fixture *f = *state;
	struct store *other = NULL;
	struct ledger *l = NULL;
	int fd = -7;

	make_runs(f, &other, &l); /* intervals 1 to 10, and 11 to 25 */
	expect_intervals(f, 1, 0, 1, 10);
	expect_intervals(f, 1, 7, 8, 10);
	expect_intervals(f, 2, 24, 25, 25);
	expect_intervals(f, 2, 7, 11, 25); /* of another run */
	expect_intervals(f, 2, 999, 11, 25);
	assert_int_equal(store_copy_new(f->scratch.db, 1, 10, &fd, &f->err), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(store_copy_new(f->scratch.db, 3, 0, &fd, &f->err), -ENOENT);
	for (uint64_t n = 10; n < STORE_COPY_NEWEST + 10; n++)
		write_ok(f, n, 20);
	expect_intervals(f, 1, 0, 26, STORE_COPY_NEWEST + 25);
	expect_intervals(f, 1, 1, 26, STORE_COPY_NEWEST + 25);
	store_close(other);
	ledger_free(l);
}

static struct db_image image_of(struct fixture *f, int64_t after)
{
	struct db_image image = {0};
	struct stat sb;
	int fd = -1;

	assert_int_equal(store_copy_new(f->scratch.db, 1, after, &fd, &f->err), 0);
	assert_int_equal(fstat(fd, &sb), 0);
	image.bytes = (size_t)sb.st_size;
	image.map = mmap(NULL, image.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(image.map, MAP_FAILED);
	close(fd);
	return image;
}

static int64_t first_of(sqlite3 *db, const char *sql)
{
	int64_t value = -1;

	assert_int_equal(rows_first(db, sql, &value), 0);
	return value;
}

/* A reader that adds each part to those before has what the writer has. */
static void test_parts_add_up(void **state)
{
	static const char *const queries[] = {
		"SELECT misses FROM job WHERE slot = 1", "SELECT count(*) FROM interval",
		"SELECT sum(misses) FROM job_interval",	 "SELECT sum(misses) FROM file",
		"SELECT count(*) FROM file_interval",	 "SELECT count(*) FROM probe",
		"SELECT max(id) FROM interval",
	};
	const struct store_run run = test_run();
	struct fixture *f = *state;
	struct db_image part;
	sqlite3 *db = NULL;
	int64_t newest = 0;

	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 6; n++) {
		write_ok(f, n, 20 + (size_t)n);
		part = image_of(f, newest);
		if (!db && db_read_copy(&part, "rows", &db, &f->err))
			fail_msg("%s", f->err.text);
		if (newest && db_read_add(db, &part, "rows", &f->err))
			fail_msg("%s", f->err.text);
		munmap(part.map, part.bytes);
		newest = first_of(db, "SELECT max(id) FROM interval");
		for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
			assert_int_equal(first_of(db, queries[i]), ask(f->scratch.db, queries[i]));
	}
	/* Not a database: nothing changes, and the next part is added. */
	part = (struct db_image){"no database", 11};
	assert_int_not_equal(db_read_add(db, &part, "rows", &f->err), 0);
	write_ok(f, 6, 20);
	part = image_of(f, newest);
	assert_int_equal(db_read_add(db, &part, "rows", &f->err), 0);
	munmap(part.map, part.bytes);
	assert_int_equal(first_of(db, queries[1]), 7);
	sqlite3_close(db);
}

static void test_errors(void **state)
{
	const struct store_run run = test_run();
	struct fixture *f = *state;
	int fd = -7;

	begin(f, &run, NULL);
	assert_int_equal(store_copy_run(f->scratch.db, 2, &fd, &f->err), -ENOENT);
	assert_non_null(strstr(f->err.text, " has no run 2"));
	assert_int_equal(store_copy_run("/nonexistent/x.db", 1, &fd, &f->err), -ENOENT);
	assert_int_equal(fd, -7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_all_rows_of_one_run), STORE_TEST(test_nothing_of_others),
		STORE_TEST(test_the_file_is_sealed),  STORE_TEST(test_rows_since_an_interval),
		STORE_TEST(test_parts_add_up),	      STORE_TEST(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
