/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Trouble during a run: locks, readers, a deleted file, another user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "test_store_fixture.h"
#include "cachemon/access/invoker.h"

static sqlite3 *open_raw(const char *db)
{
	sqlite3 *c = NULL;

	assert_int_equal(sqlite3_open_v2(db, &c, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	return c;
}

/* A locked database costs one row of the timeline and nothing else. */
static void test_locked_interval_is_made_up_for(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct store_run run = test_run();
	sqlite3 *other;

	begin(f, &run, NULL);
	write_ok(f, 0, 12);
	other = open_raw(db);
	assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(write_one(f, 1, 12), -EBUSY);
	assert_non_null(strstr(f->err.text, "another program has locked it"));
	assert_non_null(strstr(f->err.text, db));
	assert_int_equal(write_one(f, 2, 12), -EBUSY);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	write_ok(f, 3, 12);
	assert_int_equal(ask(db, "SELECT misses FROM job WHERE slot = 1"), test_misses(4));
	assert_int_equal(ask(db, "SELECT sum(misses) FROM file"), test_misses(4) - 8);
	assert_int_equal(ask(db, "SELECT loss_intervals FROM run"), 2);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval"), 2);
	assert_true(adds_up(db));
	/* The end can be retried too. */
	assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_end(f->st, f->l, &(struct store_end){0}, &f->err), -EBUSY);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE state = 'complete'"), 1);
	assert_int_equal(scratch_files(&f->scratch, false), 1);
}

/* SQLite's message about the failed row is reported, even if later rows fail too. */
static void test_message_of_the_failed_row(void **state)
{
	struct fixture *f = *state;
	const struct store_run run = test_run();
	sqlite3 *other;

	begin(f, &run, NULL);
	write_ok(f, 0, 12);
	other = open_raw(f->scratch.db);
	assert_int_equal(sqlite3_exec(other, "CREATE UNIQUE INDEX one ON interval(run_id)", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	assert_true(write_one(f, 1, 12) < 0);
	assert_non_null(strstr(f->err.text, "UNIQUE constraint failed: interval.run_id"));
	assert_int_equal(sqlite3_exec(other, "DROP INDEX one", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	write_ok(f, 2, 12);
	end_ok(f, &(struct store_end){0});
	assert_true(adds_up(f->scratch.db));
}

/* A reader in a transaction neither stops the writer nor sees its changes. */
static void test_reader_does_not_stop_the_writer(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	const struct store_run run = test_run();
	sqlite3_stmt *stmt = NULL;
	sqlite3 *reader;

	begin(f, &run, NULL);
	write_ok(f, 0, 12);
	reader = open_raw(db);
	assert_int_equal(sqlite3_exec(reader, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(reader, "SELECT count(*) FROM interval", -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	sqlite3_reset(stmt);
	for (uint64_t n = 1; n < 5; n++)
		write_ok(f, n, 12);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 1);
	sqlite3_finalize(stmt);
	sqlite3_close(reader);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval"), 5);
	assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE state = 'complete'"), 1);
	assert_true(is_sound(db));
}

static void test_moved_away(void **state)
{
	struct fixture *f = *state;
	const struct store_run run = test_run();
	char moved[400];

	begin(f, &run, NULL);
	write_ok(f, 0, 12);
	snprintf(moved, sizeof(moved), "%s.moved", f->scratch.db);
	assert_int_equal(rename(f->scratch.db, moved), 0);
	assert_int_equal(write_one(f, 1, 12), -ESTALE);
	assert_non_null(strstr(f->err.text, "moved or deleted"));
	assert_int_equal(rename(moved, f->scratch.db), 0);
	write_ok(f, 2, 12);
	assert_int_equal(ask(f->scratch.db, "SELECT misses FROM job WHERE slot = 1"),
			 test_misses(3));
}

/* Run by root for a user: new files belong to the user, and files the user may not write are not
 * written. */
static void test_belongs_to_the_user(void **state)
{
	struct fixture *f = *state;
	gid_t group = 65534;
	const struct invoker nobody = {
		.uid = 65534, .gid = 65534, .groups = &group, .nr_groups = 1, .switched = true};
	const struct store_config c = {.path = f->scratch.db, .as = &nobody};
	const struct store_run run = test_run();
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[400];
	struct stat sb;

	if (geteuid()) {
		print_message("not root: nothing to hand over\n");
		skip();
	}
	assert_int_equal(store_open(&c, &f->st, &f->err), -EACCES);
	assert_non_null(strstr(f->err.text, "Permission denied (as user nobody)"));
	assert_int_equal(chown(f->scratch.dir, 65534, 65534), 0);
	assert_int_equal(store_open(&c, &f->st, &f->err), 0);
	assert_int_equal(store_begin(f->st, &run, &f->err), 0);
	assert_int_equal(ledger_new(NULL, &f->l), 0);
	write_ok(f, 0, 12);
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", f->scratch.db, suffixes[i]);
		assert_int_equal(stat(name, &sb), 0);
		assert_int_equal(sb.st_uid, 65534);
		assert_int_equal(sb.st_gid, 65534);
	}
	/* The caller has its own rights again. */
	snprintf(name, sizeof(name), "%s/mine", f->scratch.dir);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(stat(name, &sb), 0);
	assert_int_equal(sb.st_uid, 0);
	rmdir(name);
	end_ok(f, &(struct store_end){0});
	assert_int_equal(chown(f->scratch.db, 0, 0), 0);
	assert_int_equal(store_open(&c, &f->st, &f->err), -EPERM);
	assert_non_null(
		strstr(f->err.text, "belongs to user 0, and cachemon writes as user 65534"));
	/* Write permission for the group or for everybody does not help. */
	assert_int_equal(chmod(f->scratch.db, 0666), 0);
	assert_int_equal(store_open(&c, &f->st, &f->err), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_locked_interval_is_made_up_for),
		STORE_TEST(test_message_of_the_failed_row),
		STORE_TEST(test_reader_does_not_stop_the_writer),
		STORE_TEST(test_moved_away),
		STORE_TEST(test_belongs_to_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
