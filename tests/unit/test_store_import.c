/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* A run that comes from another database: all of its rows, connected as they were, next to others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cachemon/store/store_copy.h"
#include "cachemon/store/store_import.h"
#include "test_store_fixture.h"

static struct db_image image_of(struct fixture *f, const char *db, int64_t run)
{
	struct db_image image = {0};
	struct stat sb;
	int fd = -1;

	if (store_copy_run(db, run, &fd, &f->err))
		fail_msg("%s", f->err.text);
	assert_int_equal(fstat(fd, &sb), 0);
	image.bytes = (size_t)sb.st_size;
	image.map = mmap(NULL, image.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(image.map != MAP_FAILED);
	close(fd);
	return image;
}

/* Two runs that have ended, of 10 and 15 intervals. */
static void make_runs(struct fixture *f)
{
	const struct store_run run = test_run();
	const struct store_end end = {.exit_status = NULL};

	for (uint64_t intervals = 10; intervals <= 15; intervals += 5) {
		begin(f, &run, NULL);
		for (uint64_t n = 0; n < intervals; n++)
			write_ok(f, n, intervals * 2);
		end_ok(f, &end);
		ledger_free(f->l);
		f->l = NULL;
	}
}

static int import(struct fixture *f, const char *path, const struct db_image *image, int status,
		  int64_t *ret_run)
{
	const struct store_config c = {.path = path};
	struct store *st = NULL;
	int ret = store_open(&c, &st, &f->err);

	if (!ret)
		ret = store_import(st, image, "the rows", &status, &f->err);
	if (!ret)
		*ret_run = store_run_id(st);
	store_close(st);
	return ret;
}

/* With :run for the number of the run; each follows other references between tables. */
static const char *const facts[] = {
	"SELECT count(*) FROM probe WHERE run_id = :run",
	"SELECT count(*) FROM unmeasured WHERE run_id = :run",
	"SELECT sum(start_ns) FROM interval WHERE run_id = :run",
	"SELECT sum(j.misses * (1 + j.slot)) FROM job j WHERE run_id = :run",
	"SELECT sum(x.misses * (i.start_ns + 1) * (1 + j.slot)) FROM job_interval x JOIN job j ON "
	"j.id = x.job_id JOIN interval i ON i.id = x.interval_id WHERE j.run_id = :run",
	"SELECT sum(f.misses * unicode(substr(hex(f.path), -1)) * (1 + j.slot)) FROM file f JOIN "
	"job "
	"j ON j.id = f.job_id WHERE j.run_id = :run",
	"SELECT sum(x.misses * unicode(substr(hex(f.path), -1)) * (1 + i.start_ns)) FROM "
	"file_interval x JOIN file f ON f.id = x.file_id JOIN interval i ON i.id = x.interval_id "
	"JOIN job j ON j.id = f.job_id WHERE i.run_id = :run AND j.run_id = :run",
	"SELECT sum(d.misses * length(d.path)) FROM directory d JOIN job j ON j.id = d.job_id "
	"WHERE "
	"j.run_id = :run",
	"SELECT count(*) FROM directory_interval x JOIN directory d ON d.id = x.directory_id JOIN "
	"job j ON j.id = d.job_id JOIN interval i ON i.id = x.interval_id WHERE j.run_id = :run "
	"AND "
	"i.run_id = :run",
	"SELECT count(*) FROM filesystem s JOIN job j ON j.id = s.job_id WHERE j.run_id = :run",
};

static int64_t ask_run(const char *db, const char *sql, int64_t run)
{
	char text[1024];
	size_t at = 0;

	for (; *sql; at = strlen(text)) {
		size_t len = strcspn(sql, ":");

		snprintf(text + at, sizeof(text) - at, "%.*s", (int)len, sql);
		sql += len;
		if (!*sql)
			break;
		at = strlen(text);
		snprintf(text + at, sizeof(text) - at, "%d", (int)run);
		sql += strlen(":run");
	}
	return ask(db, text);
}

static void test_beside_others(void **state)
{
	struct fixture *f = *state;
	char to[320];

	make_runs(f);
	snprintf(to, sizeof(to), "%s/to.db", f->scratch.dir);
	for (int64_t from = 2; from >= 1; from--) { /* other numbers than in the source */
		struct db_image image = image_of(f, f->scratch.db, from);
		int64_t run = 0;
		char uuid[160];

		if (import(f, to, &image, 3, &run))
			fail_msg("%s", f->err.text);
		assert_int_equal(run, 3 - from);
		for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
			int64_t was = ask_run(f->scratch.db, facts[i], from);

			assert_true(was > 0);
			assert_int_equal(ask_run(to, facts[i], run), was);
		}
		assert_int_equal(ask_run(to, "SELECT exit_status FROM run WHERE id = :run", run),
				 3);
		snprintf(uuid, sizeof(uuid),
			 "SELECT count(*) FROM run WHERE id = %d AND state = "
			 "'complete' AND length(uuid) = 36",
			 (int)run);
		assert_int_equal(ask(to, uuid), 1);
		munmap(image.map, image.bytes);
	}
	assert_true(is_sound(to));
	assert_true(adds_up(to));
}

/* The same run again: nothing is added. */
static void test_twice(void **state)
{
	struct fixture *f = *state;
	struct db_image image;
	int64_t rows, run = 0;

	make_runs(f);
	image = image_of(f, f->scratch.db, 1);
	rows = ask(f->scratch.db, "SELECT count(*) FROM file_interval");
	assert_true(import(f, f->scratch.db, &image, 0, &run) < 0);
	assert_non_null(strstr(f->err.text, "cannot add a run to"));
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM run"), 2);
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM file_interval"), rows);
	munmap(image.map, image.bytes);
}

/* Rows of intervals that name a file of another run. */
static const char strangers[] =
	"SELECT count(*) FROM file_interval x JOIN interval i ON i.id = x.interval_id "
	"JOIN file f ON f.id = x.file_id JOIN job j ON j.id = f.job_id WHERE j.run_id <> i.run_id";

/* A file that was folded into its directory leaves rows of intervals behind, whose number no other
 * file may get: not one that is there, and not one that comes later. */
static void test_folded_files(void **state)
{
	struct ledger_limits limits = ledger_limits_default();
	const struct store_run run = test_run();
	struct fixture *f = *state;
	const char *from = f->scratch.db;
	char to[320];

	make_runs(f);
	limits.files = 7;
	limits.active = 3;
	begin(f, &run, &limits);
	for (uint64_t n = 0; n < 60; n++)
		write_ok(f, n, 200);
	end_ok(f, &(struct store_end){0});
	assert_true(ask(from, "SELECT count(*) FROM file_interval x JOIN interval i ON i.id = "
			      "x.interval_id WHERE i.run_id = 3 AND x.file_id < (SELECT min(f.id) "
			      "FROM file f JOIN job j ON j.id = f.job_id WHERE j.run_id = 3)") > 0);
	snprintf(to, sizeof(to), "%s/to.db", f->scratch.dir);
	for (int64_t id = 1; id <= 3; id++) {
		struct db_image image = image_of(f, from, id == 2 ? 3 : id == 3 ? 2 : 1);
		int64_t added = 0;

		if (import(f, to, &image, 0, &added))
			fail_msg("%s", f->err.text);
		assert_int_equal(ask(to, strangers), 0);
		munmap(image.map, image.bytes);
	}
	assert_true(is_sound(to));
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* The same in the database that the run comes to. */
static void test_beside_folded_files(void **state)
{
	struct fixture *f = *state;
	struct db_image image;
	int64_t added = 0;

	make_runs(f);
	image = image_of(f, f->scratch.db, 1);
	run_sql(f->scratch.db,
		"UPDATE run SET uuid = '00000000-0000-4000-8000-000000000000' WHERE id = 1; "
		"DELETE FROM file WHERE id > (SELECT max(id) FROM file) - 5");
	assert_true(ask(f->scratch.db, "SELECT max(file_id) - (SELECT max(id) FROM file) "
				       "FROM file_interval") > 0);
	if (import(f, f->scratch.db, &image, 0, &added))
		fail_msg("%s", f->err.text);
	assert_int_equal(ask(f->scratch.db, strangers), 0);
	munmap(image.map, image.bytes);
}

/* No database at all. */
static void test_refused(void **state)
{
	struct fixture *f = *state;
	char to[320], bytes[512] = "not a database";
	struct db_image image = {bytes, sizeof(bytes)};
	int64_t run = 0;

	snprintf(to, sizeof(to), "%s/to.db", f->scratch.dir);
	assert_true(import(f, to, &image, 0, &run) < 0);
	make_runs(f);
	assert_int_equal(ask(f->scratch.db, "SELECT count(*) FROM run"), 2);
	assert_int_equal(ask(to, "SELECT count(*) FROM run"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_beside_others), STORE_TEST(test_twice),
		STORE_TEST(test_folded_files),	STORE_TEST(test_beside_folded_files),
		STORE_TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
