/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor store account figures access */
/*
 * Traces from the store to the advisor: the loaded events equal the recorded ones, and a modified
 * database is refused with a reason.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/account/traces.h"
#include "advisor/load/load_traces.h"
#include "test_store_fixture.h"

static void sql(const char *path, const char *text)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL))
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static struct traces *traces_of_one(void)
{
	struct traces_config c = {.page_shift = 12};
	struct trace_record r = {.number = 1, .kind = NOTE_BEGIN, .size_bytes = 65536};
	struct traces *t;

	assert_int_equal(traces_new(&c, &t), 0);
	r.ra_pages = 32;
	r.begin = (struct trace_begin){
		.file = {.ino = 5, .dev = 259 << 20 | 3, .gen = 9}, .stratum = 1, .max_order = 4};
	assert_int_equal(traces_take(t, &r, sizeof(r)), 0);
	return t;
}

static void read_at(struct traces *t, uint64_t pos)
{
	struct trace_record r = {
		.number = 1, .kind = NOTE_READ, .pos = pos, .len = 10, .size_bytes = 65536};

	assert_int_equal(traces_take(t, &r, sizeof(r)), 0);
}

/* A run with one traced file: four events in two chunks. */
static struct traces *record_two_intervals(struct fixture *f)
{
	struct store_run run = test_run();
	struct traces *t = traces_of_one();

	begin(f, &run, NULL);
	store_traces(f->st, t);
	read_at(t, 0);
	read_at(t, 10);
	write_ok(f, 0, 5);
	write_ok(f, 1, 5);
	read_at(t, 4096);
	traces_end(traces_at(t, 0), "it ended");
	end_ok(f, &(struct store_end){0});
	return t;
}

static int64_t job_of(const char *path)
{
	return ask(path, "SELECT id FROM job WHERE slot = 1");
}

static sqlite3 *open_db(const char *path)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	return db;
}

static void what_was_taken_is_loaded(void **state)
{
	struct fixture *f = *state;
	struct traces *t = record_two_intervals(f);
	const char *path = f->scratch.db;
	sqlite3 *db = open_db(path);
	struct trace_events e;
	struct trace_files fs;
	struct errtext err;

	assert_int_equal(load_trace_files(db, job_of(path), &fs, &err), 0);
	assert_int_equal(fs.nr, 1);
	assert_int_equal(fs.files[0].dev_major, 259);
	assert_int_equal(fs.files[0].dev_minor, 3);
	assert_int_equal(fs.files[0].ino, 5);
	assert_int_equal(fs.files[0].size_bytes, 65536);
	assert_int_equal(fs.files[0].ra_pages, 32);
	assert_int_equal(fs.files[0].max_order, 4);
	assert_int_equal(fs.files[0].stratum, 1);
	assert_true(fs.files[0].broken && !fs.files[0].warm);
	assert_string_equal(fs.files[0].reason, "it ended");
	assert_null(fs.files[0].path);
	assert_int_equal(load_trace_events(db, fs.files[0].id, &e, &err), 0);
	assert_int_equal(e.nr, 4);
	assert_int_equal(e.events[0].kind, TRACE_SIZE);
	assert_int_equal(e.events[1].pos, 0);
	assert_int_equal(e.events[2].pos, 10);
	assert_int_equal(e.events[3].pos, 4096);
	assert_int_equal(ask(path, "SELECT count(*) FROM trace_chunk"), 2);
	trace_events_free(&e);
	trace_files_free(&fs);
	sqlite3_close(db);
	traces_free(t);
}

static void assert_refused(const char *path, int code, const char *text)
{
	struct trace_events e = {.nr = 77};
	struct errtext err = {};
	sqlite3 *db = open_db(path);

	assert_int_equal(load_trace_events(db, 1, &e, &err), code);
	assert_int_equal(e.nr, 77);
	if (!strstr(err.text, text))
		fail_msg("'%s' is not in '%s'", text, err.text);
	sqlite3_close(db);
}

static void tampered_with(void **state)
{
	static const char *const harm[] = {
		"UPDATE trace_chunk SET data = substr(data, 1, length(data) - 1) WHERE seq = 1",
		"UPDATE trace_chunk SET data = CAST(data || x'00' AS BLOB) WHERE seq = 0",
		"UPDATE trace_chunk SET data = x'ff' WHERE seq = 1",
		"UPDATE trace_chunk SET data = zeroblob(0) WHERE seq = 1",
		"UPDATE trace_chunk SET events = events + 1 WHERE seq = 1",
		"UPDATE trace_chunk SET events = 1 WHERE seq = 0",
		"DELETE FROM trace_chunk WHERE seq = 0",
	};
	struct fixture *f = *state;
	struct traces *t = record_two_intervals(f);
	const char *path = f->scratch.db;

	sql(path, "CREATE TABLE kept AS SELECT * FROM trace_chunk");
	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		sql(path, harm[i]);
		assert_refused(path, -EBADMSG, "not a list of events");
		sql(path, "DELETE FROM trace_chunk; INSERT INTO trace_chunk SELECT * FROM kept");
	}
	sql(path, "UPDATE trace_chunk SET events = 5000000 WHERE seq = 1");
	assert_refused(path, -E2BIG, "longer than any");
	traces_free(t);
}

static void none(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	struct trace_files fs = {.nr = 77};
	struct errtext err = {};
	sqlite3 *db;

	begin(f, &run, NULL);
	store_no_traces(f->st, "the level is cold");
	write_ok(f, 0, 5);
	end_ok(f, &(struct store_end){0});
	db = open_db(f->scratch.db);
	assert_int_equal(load_trace_files(db, job_of(f->scratch.db), &fs, &err), -ENOENT);
	assert_string_equal(err.text, "the level is cold");
	assert_int_equal(fs.nr, 77);
	sqlite3_close(db);
	sql(f->scratch.db, "DROP TABLE trace_chunk; DROP TABLE traced_file");
	db = open_db(f->scratch.db);
	assert_int_equal(load_trace_files(db, 1, &fs, &err), -ENOENT);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(what_was_taken_is_loaded),
		STORE_TEST(tampered_with),
		STORE_TEST(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
