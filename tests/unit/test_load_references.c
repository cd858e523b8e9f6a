/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor store account access */
/*
 * References from the store to the advisor: after any interval the loaded sample equals the stored
 * one, and a modified database is refused with a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>

#include "advisor/load/load_references.h"
#include "cachemon/base/errtext.h"
#include "test_store_fixture.h"

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int load(const char *path, struct references *ret, struct errtext *err)
{
	int64_t job = ask(path, "SELECT id FROM job WHERE slot = 1");
	sqlite3 *db = NULL;
	int r;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	r = load_references(db, job, ret, err);
	sqlite3_close(db);
	return r;
}

static void assert_refused(const char *path, int code, const char *text)
{
	struct references r = {.nr_pages = 77};
	struct errtext err = {};

	assert_int_equal(load(path, &r, &err), code);
	assert_int_equal(r.nr_pages, 77);
	if (!strstr(err.text, text))
		fail_msg("'%s' is not in '%s'", text, err.text);
}

/* The content of the database, page by page. */
static void assert_loads(const char *path, const struct reference_sample *s)
{
	struct reference_view v;
	struct references r;
	struct errtext err = {};

	reference_sample_view(s, &v);
	if (load(path, &r, &err))
		fail_msg("%s", err.text);
	assert_int_equal(r.nr_pages, v.live);
	assert_int_equal(r.nr_entries, v.nr_entries);
	for (size_t i = 0; i < r.nr_entries; i++) {
		const struct sampled_page *want = &v.pages[v.entries[i] >> 1];
		const struct reference_page *got = &r.pages[r.entries[i] >> 1];

		assert_int_equal(got->page_index, want->index);
		assert_int_equal(got->ino, want->file.ino);
		assert_int_equal(got->dev_major, want->file.dev >> 20);
		assert_int_equal(got->dev_minor, want->file.dev & 0xfffff);
		assert_int_equal(got->gen, want->file.gen);
		assert_int_equal(got->hash, want->hash);
		assert_int_equal(r.entries[i] & 1, v.entries[i] & 1);
	}
	assert_int_equal(r.nr_chunks, v.nr_chunks);
	for (size_t i = 0; i < r.nr_chunks; i++) {
		assert_int_equal(r.chunks[i].start_ns, v.chunks[i].start_ns);
		assert_int_equal(r.chunks[i].lookups, v.chunks[i].lookups);
	}
	assert_int_equal(r.threshold, v.threshold);
	assert_int_equal(r.lookups, v.lookups);
	assert_int_equal(r.distinct_pages, v.distinct_pages);
	assert_int_equal(r.broken, v.broken != NULL);
	references_free(&r);
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void reads(struct reference_sample *s, uint64_t *rng, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct file_key file = {.ino = (1ULL << 63) + next(rng) % 5,
					.dev = 259 << 20 | 3,
					.gen = UINT32_MAX - 1};
		uint64_t index = next(rng) % 100000;

		reference_sample_add(s, &file, index,
				     (uint32_t)((file.ino + index) * 0x9e3779b97f4a7c15ULL >> 32),
				     next(rng) % 20 == 0);
	}
}

static int write_with(struct fixture *f, uint64_t n, struct reference_sample *s)
{
	struct test_sample t;

	test_sample(&t, n, 5);
	t.s.references = s;
	ledger_apply(f->l, &t.s);
	return store_write(f->st, f->l, &t.s, &f->err);
}

/* With falling thresholds, new numbers and merged chunks. */
static void test_any_interval_is_whole(void **state)
{
	struct reference_limits limits = {.pages = 300, .entries = 4000, .chunks = 12};
	struct reference_sample *s = NULL;
	struct fixture *f = *state;
	const struct store_run run = test_run();
	uint64_t rng = 88172645463325252ULL;

	assert_int_equal(reference_sample_new(&limits, &s), 0);
	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 40; n++) {
		reads(s, &rng, next(&rng) % 600);
		reference_sample_close(s, n * SECOND_NS, 1000);
		/* At n = 2 the kernel counts pages of 100 lookups that follow the chunk. */
		if (n == 2)
			reference_sample_distinct(s, 3100, 0);
		if (n == 10)
			reference_sample_distinct(s, 4711, 0.01);
		assert_int_equal(write_with(f, n, s), 0);
		assert_loads(f->scratch.db, s);
	}
	reads(s, &rng, 100);
	reference_sample_break(s, "it was enough");
	assert_int_equal(write_with(f, 40, s), 0);
	assert_loads(f->scratch.db, s);
	assert_int_equal(ask(f->scratch.db, "SELECT reason = 'it was enough' AND "
					    "distinct_error = 0.01 FROM reference_sample"),
			 1);
	assert_true(is_sound(f->scratch.db));
	reference_sample_free(s);
}

/* An interval that cannot be written is added to the next. */
static void test_a_lost_interval_comes_later(void **state)
{
	struct reference_sample *s = NULL;
	struct fixture *f = *state;
	const struct store_run run = test_run();
	uint64_t rng = 5;
	sqlite3 *other = NULL;

	assert_int_equal(reference_sample_new(NULL, &s), 0);
	begin(f, &run, NULL);
	reads(s, &rng, 500);
	reference_sample_close(s, 0, 500);
	assert_int_equal(write_with(f, 0, s), 0);
	assert_int_equal(sqlite3_open(f->scratch.db, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	reads(s, &rng, 500);
	reference_sample_close(s, SECOND_NS, 500);
	assert_true(write_with(f, 1, s) < 0);
	sqlite3_close(other);
	reads(s, &rng, 500);
	reference_sample_close(s, 2 * SECOND_NS, 500);
	assert_int_equal(write_with(f, 2, s), 0);
	assert_loads(f->scratch.db, s);
	reference_sample_free(s);
}

static void test_absence_has_a_reason(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();

	run.references_absent[JOB_WATCHED] = "level cold has no per-read hook";
	begin(f, &run, NULL);
	assert_refused(f->scratch.db, -ENOENT, "level cold has no per-read hook");
	run_sql(f->scratch.db, "DELETE FROM reference_absent");
	assert_refused(f->scratch.db, -ENOENT, "has no reason");
	run_sql(f->scratch.db, "DROP TABLE reference_sample");
	assert_refused(f->scratch.db, -ENOENT, "without references");
}

/* Each change on its own copy of a database that loads. */
static void test_damage_is_refused(void **state)
{
	static const struct {
		const char *sql, *text;
		int code;
	} cases[] = {
		{"UPDATE reference_chunk SET data = x'', refs = 0", "differ from the recorded",
		 -EBADMSG},
		{"UPDATE reference_chunk SET data = CAST(data || x'80' AS BLOB)", "inside a number",
		 -EBADMSG},
		{"UPDATE reference_chunk SET data = CAST(data || x'ffffffff7f' AS BLOB)",
		 "too large", -EBADMSG},
		{"UPDATE reference_chunk SET data = CAST(data || x'ffffffffffffffff7f' AS BLOB)",
		 "too large", -EBADMSG},
		{"UPDATE reference_chunk SET data = CAST(data || x'ffffffff0f' AS BLOB)",
		 "names no page", -EBADMSG},
		{"UPDATE reference_chunk SET refs = refs + 1", "fewer or more entries", -EBADMSG},
		{"DELETE FROM reference_page WHERE number = 3", "names no page", -EBADMSG},
		{"UPDATE reference_page SET number = 1 << 40 WHERE number = 3", "more pages",
		 -E2BIG},
		{"UPDATE reference_page SET page_index = -1 WHERE number = 3", "no index or hash",
		 -EBADMSG},
		{"UPDATE reference_sample SET refs = refs + 1", "differ from the recorded",
		 -EBADMSG},
		{"UPDATE reference_sample SET lookups = 1", "contradict each other", -EBADMSG},
		{"UPDATE reference_sample SET threshold = 0", "differ from the recorded", -EBADMSG},
		{"UPDATE reference_chunk SET lookups = 0 WHERE seq = 1", "chronological order",
		 -EBADMSG},
	};
	struct reference_sample *s = NULL;
	struct fixture *f = *state;
	const struct store_run run = test_run();
	uint64_t rng = 3;

	assert_int_equal(reference_sample_new(NULL, &s), 0);
	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 3; n++) {
		reads(s, &rng, 300);
		reference_sample_close(s, n * SECOND_NS, 300);
		assert_int_equal(write_with(f, n, s), 0);
	}
	assert_loads(f->scratch.db, s);
	run_sql(f->scratch.db, "CREATE TABLE keep_sample AS SELECT * FROM reference_sample;"
			       "CREATE TABLE keep_page AS SELECT * FROM reference_page;"
			       "CREATE TABLE keep_chunk AS SELECT * FROM reference_chunk;");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run_sql(f->scratch.db, cases[i].sql);
		assert_refused(f->scratch.db, cases[i].code, cases[i].text);
		run_sql(f->scratch.db, "DELETE FROM reference_sample; DELETE FROM reference_page; "
				       "DELETE FROM reference_chunk;"
				       "INSERT INTO reference_sample SELECT * FROM keep_sample;"
				       "INSERT INTO reference_page SELECT * FROM keep_page;"
				       "INSERT INTO reference_chunk SELECT * FROM keep_chunk;");
		assert_loads(f->scratch.db, s);
	}
	reference_sample_free(s);
}

/* Every page is in the sample: estimates of the pages are as often above the lookups as below. */
static void test_an_estimate_may_be_above_the_lookups(void **state)
{
	struct reference_sample *s = NULL;
	struct fixture *f = *state;
	const struct store_run run = test_run();
	struct references r;
	struct errtext err = {};
	uint64_t rng = 3;

	assert_int_equal(reference_sample_new(NULL, &s), 0);
	begin(f, &run, NULL);
	reads(s, &rng, 300);
	reference_sample_close(s, 0, 1000);
	assert_int_equal(write_with(f, 0, s), 0);
	run_sql(f->scratch.db,
		"UPDATE reference_sample SET lookups = 1000, distinct_pages = 1004, "
		"distinct_error = 0.0014; UPDATE reference_chunk SET lookups = 1000");
	if (load(f->scratch.db, &r, &err))
		fail_msg("%s", err.text);
	assert_int_equal(r.distinct_pages, 1000);
	references_free(&r);
	run_sql(f->scratch.db, "UPDATE reference_sample SET distinct_pages = 1008");
	assert_refused(f->scratch.db, -EBADMSG, "number of lookups is impossible");
	run_sql(f->scratch.db,
		"UPDATE reference_sample SET distinct_pages = 1001, distinct_error = 0");
	assert_refused(f->scratch.db, -EBADMSG, "number of lookups is impossible");
	reference_sample_free(s);
}

#define REFERENCE_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REFERENCE_TEST(test_any_interval_is_whole),
		REFERENCE_TEST(test_a_lost_interval_comes_later),
		REFERENCE_TEST(test_absence_has_a_reason),
		REFERENCE_TEST(test_damage_is_refused),
		REFERENCE_TEST(test_an_estimate_may_be_above_the_lookups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
