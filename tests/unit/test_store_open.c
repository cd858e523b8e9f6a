/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Obstacles when a database is opened, and migrations between schemas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cachemon/base/errtext.h"
#include "cachemon/store/migrate.h"
#include "test_store_util.h"
#include "cachemon/access/invoker.h"

struct fixture {
	struct scratch scratch;
	struct errtext err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->scratch = scratch_make();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(&f->scratch);
	free(f);
	return 0;
}

static int open_at(struct fixture *f, const char *path)
{
	const struct store_config c = {.path = path};
	struct store *st = NULL;
	int ret = store_open(&c, &st, &f->err);

	if (ret)
		assert_null(st);
	else
		store_close(st);
	return ret;
}

static void expect_failure(struct fixture *f, const char *path, int ret, const char *words)
{
	int got = open_at(f, path);

	if (got != ret || !strstr(f->err.text, words) || !strstr(f->err.text, path))
		fail_msg("%d (not %d): %s", got, ret, f->err.text);
}

static void put_file(const char *path, const void *bytes, size_t len)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void test_new_and_empty(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_at(f, f->scratch.db), 0);
	assert_int_equal(ask(f->scratch.db, "PRAGMA user_version"), SCHEMA_NEWEST);
	assert_int_equal(open_at(f, f->scratch.db), 0);
	/* A full disk leaves an empty file in place of a new database. */
	put_file(f->scratch.db, "", 0);
	assert_int_equal(open_at(f, f->scratch.db), 0);
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM run"), 0);
}

static void test_no_database(void **state)
{
	static const char garbage[5000] = "This is not a database, it only has its name. ";
	struct fixture *f = *state;
	struct stat before;
	struct stat after;

	put_file(f->scratch.db, garbage, sizeof(garbage));
	assert_int_equal(stat(f->scratch.db, &before), 0);
	expect_failure(f, f->scratch.db, -EBADMSG, "not an SQLite database");
	put_file(f->scratch.db, garbage, 7);
	expect_failure(f, f->scratch.db, -EBADMSG, "not an SQLite database");
	put_file(f->scratch.db, "SQLite format 3\0", 16);
	expect_failure(f, f->scratch.db, -EBADMSG, "not an SQLite database");
	assert_int_equal(stat(f->scratch.db, &after), 0);
	assert_int_equal(after.st_size, 16);
	assert_int_equal(scratch_files(&f->scratch, false), 1);
}

static void test_damaged(void **state)
{
	struct fixture *f = *state;
	char bytes[4096];
	int fd;

	assert_int_equal(open_at(f, f->scratch.db), 0);
	fd = open(f->scratch.db, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	/* The header is intact, the schema tree after it is not. */
	memset(bytes, 0xa5, sizeof(bytes));
	assert_int_equal(pwrite(fd, bytes, sizeof(bytes) - 100, 100), sizeof(bytes) - 100);
	close(fd);
	expect_failure(f, f->scratch.db, -EBADMSG, "damaged");
}

static void test_of_another_program(void **state)
{
	struct fixture *f = *state;

	run_sql(f->scratch.db, "CREATE TABLE bookmarks (url)");
	expect_failure(f, f->scratch.db, -EBADMSG, "another program");
	run_sql(f->scratch.db, "PRAGMA user_version = 1");
	expect_failure(f, f->scratch.db, -EBADMSG, "another program");
	assert_int_equal(ask(f->scratch.db, "SELECT journal_mode = 'delete' FROM "
					    "pragma_journal_mode"),
			 1);
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void test_newer_version(void **state)
{
	struct fixture *f = *state;
	char knows[64];

	assert_int_equal(open_at(f, f->scratch.db), 0);
	run_sql(f->scratch.db, "PRAGMA user_version = 700");
	expect_failure(f, f->scratch.db, -EPROTONOSUPPORT, "its schema has version 700");
	snprintf(knows, sizeof(knows), "up to version %d", SCHEMA_NEWEST);
	assert_non_null(strstr(f->err.text, knows));
	assert_int_equal(ask(f->scratch.db, "PRAGMA user_version"), 700);
}

static void test_places(void **state)
{
	struct fixture *f = *state;
	char path[400];

	expect_failure(f, f->scratch.dir, -EISDIR, "it is a directory");
	snprintf(path, sizeof(path), "%s/none/x.db", f->scratch.dir);
	expect_failure(f, path, -ENOENT, "No such file or directory");
	expect_failure(f, "/dev/null", -EINVAL, "not a regular file");
	snprintf(path, sizeof(path), "%s/fifo", f->scratch.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_failure(f, path, -EINVAL, "not a regular file");
	snprintf(path, sizeof(path), "%s/loop", f->scratch.dir);
	assert_int_equal(symlink(path, path), 0);
	expect_failure(f, path, -ELOOP, "symbolic links");
	snprintf(path, sizeof(path), "%s/file/x.db", f->scratch.dir);
	expect_failure(f, "/proc/version/x.db", -ENOTDIR, "Not a directory");
}

/* Permissions do not stop root, so the store acts for a user here. */
static void test_no_permission(void **state)
{
	struct fixture *f = *state;
	gid_t group = 65534;
	const struct invoker nobody = {
		.uid = 65534, .gid = 65534, .groups = &group, .nr_groups = 1, .switched = true};
	const struct store_config c = {.path = f->scratch.db, .as = geteuid() ? NULL : &nobody};
	struct store *st = NULL;

	if (!geteuid())
		assert_int_equal(chown(f->scratch.dir, nobody.uid, nobody.gid), 0);
	assert_int_equal(store_open(&c, &st, &f->err), 0);
	store_close(st);
	st = NULL;
	assert_int_equal(chmod(f->scratch.db, 0444), 0);
	assert_int_equal(store_open(&c, &st, &f->err), -EACCES);
	assert_non_null(strstr(f->err.text, "Permission denied (as "));
	assert_int_equal(chmod(f->scratch.db, 0644), 0);
	/* The file is writable, but its directory is not. */
	assert_int_equal(chmod(f->scratch.dir, 0555), 0);
	assert_int_equal(store_open(&c, &st, &f->err), -EACCES);
	assert_non_null(strstr(f->err.text, f->scratch.db));
	assert_int_equal(chmod(f->scratch.dir, 0755), 0);
	assert_int_equal(store_open(&c, &st, &f->err), 0);
	store_close(st);
}

static const struct migration invented[] = {
	{"001_first", "PRAGMA application_id = 1667330920; CREATE TABLE t (a); "
		      "INSERT INTO t VALUES (1);"},
	{"002_second", "ALTER TABLE t ADD COLUMN b; UPDATE t SET b = a + 1;"},
	{"004_fourth", "CREATE TABLE u (c);"},
};

static void test_migration_steps(void **state)
{
	static const struct migration broken[] = {
		{"001_first", "never run"},
		{"002_second", "never run"},
		{"004_fourth", "never run"},
		{"005_fifth", "CREATE TABLE v (d); UPDATE t SET a = 9; nonsense;"},
	};
	struct fixture *f = *state;
	const char *path = f->scratch.db;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(migrate_apply(db, path, invented, 1, &f->err), 0);
	assert_int_equal(ask(path, "PRAGMA user_version"), 1);
	/* From the old version to the new one, keeping the content. */
	assert_int_equal(migrate_apply(db, path, invented, 3, &f->err), 0);
	assert_int_equal(ask(path, "PRAGMA user_version"), 4);
	assert_int_equal(ask(path, "SELECT b FROM t"), 2);
	assert_int_equal(ask(path, "SELECT count(*) FROM u"), 0);
	assert_int_equal(migrate_apply(db, path, invented, 3, &f->err), 0);
	assert_int_equal(migrate_apply(db, path, invented, 2, &f->err), -EPROTONOSUPPORT);
	/* A failed step rolls back what it began. */
	assert_true(migrate_apply(db, path, broken, 4, &f->err) < 0);
	assert_int_equal(ask(path, "PRAGMA user_version"), 4);
	assert_int_equal(ask(path, "SELECT a FROM t"), 1);
	assert_int_equal(ask(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'v'"), 0);
	sqlite3_close(db);
}

/* Before schema 23, the waits of processes were 0 if the job's were not measured. */
static void test_unmeasured_waits_of_processes(void **state)
{
	enum { BEFORE = 22 };
	struct migration list[64];
	struct fixture *f = *state;
	const char *path = f->scratch.db;
	sqlite3 *db = NULL;
	size_t nr = 0;

	while (nr < sizeof(list) / sizeof(*list) && migration_at(nr, &list[nr]))
		nr++;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(migrate_apply(db, path, list, BEFORE, &f->err), 0);
	run_sql(path, "INSERT INTO job (id, run_id, slot, name, selector) VALUES "
		      "(1, 1, 0, '(others)', ''), (2, 1, 1, 'job', '');"
		      "INSERT INTO interval (id, run_id, start_ns, duration_ns, read_on_ns) VALUES "
		      "(1, 1, 0, 1, 0), (2, 1, 1, 1, 0);"
		      "INSERT INTO job_interval (interval_id, job_id, stall_ns) VALUES "
		      "(1, 1, 7), (1, 2, NULL), (2, 1, NULL), (2, 2, 7);"
		      "INSERT INTO process_interval VALUES (1, 5, 'a', 0, 0, 3, 1), "
		      "(2, 5, 'a', 7, 1, NULL, NULL), (2, 6, 'b', 0, 0, 4, 2)");
	assert_int_equal(migrate_apply(db, path, list, nr, &f->err), 0);
	assert_int_equal(ask(path,
			     "SELECT count(*) FROM process_interval WHERE interval_id = 1 AND "
			     "stall_ns IS NULL AND stalls IS NULL AND rchar_bytes = 3 AND "
			     "syscr_calls = 1 AND command = 'a'"),
			 1);
	assert_int_equal(ask(path, "SELECT sum(stall_ns) * 10 + sum(stalls) FROM process_interval "
				   "WHERE interval_id = 2"),
			 71);
	assert_int_equal(ask(path, "SELECT count(stall_ns) * 10 + count(rchar_bytes) FROM "
				   "process_interval WHERE interval_id = 2"),
			 21);
	sqlite3_close(db);
}

struct intruder {
	const char *path;
	int visits;
};

/* Another program creates the tables while the first one checks for them. */
static int intrude(unsigned int event, void *ctx, void *stmt, void *ns)
{
	struct intruder *in = ctx;
	const char *sql = sqlite3_sql(stmt);
	sqlite3 *db = NULL;
	struct errtext err;

	if (!sql || !strstr(sql, "application_id"))
		return 0;
	in->visits++;
	if (sqlite3_open(in->path, &db) == SQLITE_OK)
		migrate_apply(db, in->path, invented, 3, &err);
	sqlite3_close(db);
	return 0;
}

static void test_created_while_looking(void **state)
{
	struct fixture *f = *state;
	struct intruder in = {.path = f->scratch.db};
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(f->scratch.db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, intrude, &in);
	if (migrate_check(db, f->scratch.db, invented, 3, &f->err))
		fail_msg("%s", f->err.text);
	assert_int_equal(in.visits, 1);
	sqlite3_trace_v2(db, 0, NULL, NULL);
	assert_int_equal(migrate_apply(db, f->scratch.db, invented, 3, &f->err), 0);
	sqlite3_close(db);
	assert_int_equal(ask(f->scratch.db, "PRAGMA user_version"), 4);
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM t"), 1);
}

/* Many processes open a database that does not exist yet: all succeed. */
static void test_created_by_many(void **state)
{
	enum { CHILDREN = 6, ROUNDS = 5 };
	struct fixture *f = *state;

	for (int round = 0; round < ROUNDS; round++) {
		pid_t pids[CHILDREN];
		int go[2];

		unlink(f->scratch.db);
		assert_int_equal(pipe2(go, O_CLOEXEC), 0);
		for (int i = 0; i < CHILDREN; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				char byte;
				int ret;

				/* The read returns when the parent closes its end: all start
				 * together. */
				close(go[1]);
				ret = read(go[0], &byte, 1) ? 1 : open_at(f, f->scratch.db);
				if (ret)
					fprintf(stderr, "%s\n", f->err.text);
				_exit(ret != 0);
			}
			assert_true(pids[i] > 0);
		}
		close(go[0]);
		close(go[1]);
		for (int i = 0; i < CHILDREN; i++) {
			int status;

			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
		assert_int_equal(ask(f->scratch.db, "PRAGMA user_version"), SCHEMA_NEWEST);
		assert_true(is_sound(f->scratch.db));
	}
}

#define OPEN_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPEN_TEST(test_new_and_empty),
		OPEN_TEST(test_no_database),
		OPEN_TEST(test_damaged),
		OPEN_TEST(test_of_another_program),
		OPEN_TEST(test_newer_version),
		OPEN_TEST(test_places),
		OPEN_TEST(test_no_permission),
		OPEN_TEST(test_migration_steps),
		OPEN_TEST(test_unmeasured_waits_of_processes),
		OPEN_TEST(test_created_while_looking),
		OPEN_TEST(test_created_by_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
