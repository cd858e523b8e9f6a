/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account */
/* Examples of the ledger: names, folding, marks, filesystems, advice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cachemon/account/fileset.h"
#include "test_ledger_util.h"

static void test_size_stays_known(void **state)
{
	struct sample_file f = {.key = key_of(1), .job = JOB_WATCHED};
	struct sample s = {.files = &f, .nr_files = 1};
	struct ledger *l;

	assert_int_equal(ledger_new(&roomy, &l), 0);
	f.size_bytes = SAMPLE_SIZE_UNKNOWN;
	ledger_apply(l, &s);
	assert_true(ledger_file(l, 0)->size_bytes == SAMPLE_SIZE_UNKNOWN);
	f.size_bytes = 10;
	ledger_apply(l, &s);
	f.size_bytes = SAMPLE_SIZE_UNKNOWN;
	ledger_apply(l, &s);
	assert_int_equal(ledger_file(l, 0)->size_bytes, 10);
	ledger_free(l);
}

static void apply_one(struct ledger *l, uint64_t n, const char *path, int64_t misses)
{
	struct sample_file f = {.key = key_of(n), .job = JOB_WATCHED, .path = path};
	struct sample s = {.files = &f, .nr_files = 1};

	f.c[C_misses] = misses;
	ledger_apply(l, &s);
}

static void test_late_name_and_rename(void **state)
{
	struct ledger *l;

	assert_int_equal(ledger_new(&roomy, &l), 0);
	apply_one(l, 1, NULL, 5);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 5);
	assert_int_equal(directory(l, NULL)->files, 1);
	apply_one(l, 1, "/a/x", 2);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 0);
	assert_int_equal(directory(l, NULL)->files, 0);
	assert_int_equal(directory(l, "/a")->total.c[C_misses], 7);
	apply_one(l, 1, "/b/y", 1);
	assert_int_equal(directory(l, "/a")->total.c[C_misses], 0);
	assert_int_equal(directory(l, "/b")->total.c[C_misses], 8);
	assert_int_equal(directory(l, "/b")->files, 1);
	/* A file keeps its name if a sample has none. */
	apply_one(l, 1, NULL, 1);
	assert_string_equal(ledger_file(l, 0)->path, "/b/y");
	assert_int_equal(directory(l, "/b")->total.c[C_misses], 9);
	/* In the root, and a name that is not a path. */
	apply_one(l, 2, "/z", 3);
	assert_int_equal(directory(l, "/")->total.c[C_misses], 3);
	apply_one(l, 3, "memfd:x", 4);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 4);
	ledger_free(l);
}

/* A folded file that was counted without a name moves to its directory once a name arrives. */
static void test_named_after_folding(void **state)
{
	struct ledger_limits limits = roomy;
	struct ledger *l;

	limits.files = 1;
	assert_int_equal(ledger_new(&limits, &l), 0);
	apply_one(l, 1, "/big", 1000);
	apply_one(l, 2, NULL, 3);
	assert_int_equal(ledger_nr_files(l), 1);
	assert_int_equal(directory(l, NULL)->files, 1);
	apply_one(l, 2, "/d/f", 4);
	assert_int_equal(directory(l, NULL)->files, 0);
	assert_int_equal(directory(l, "/d")->files, 1);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 3);
	assert_int_equal(directory(l, "/d")->total.c[C_misses], 4);
	ledger_free(l);
}

/* A name is sent once, possibly before the first count: later counts of a folded file are added
 * there too. */
static void test_folded_file_keeps_its_directory(void **state)
{
	struct ledger_limits limits = roomy;
	struct ledger *l;

	limits.files = 1;
	assert_int_equal(ledger_new(&limits, &l), 0);
	apply_one(l, 1, "/big", 1000);
	apply_one(l, 2, "/d/f", 0);
	apply_one(l, 2, NULL, 3);
	apply_one(l, 2, NULL, 4);
	assert_int_equal(directory(l, "/d")->files, 1);
	assert_int_equal(directory(l, "/d")->total.c[C_misses], 7);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 0);
	/* Renamed: later counts are added to the new directory. */
	apply_one(l, 2, "/e/f", 5);
	apply_one(l, 2, NULL, 6);
	assert_int_equal(directory(l, "/d")->files, 0);
	assert_int_equal(directory(l, "/d")->total.c[C_misses], 7);
	assert_int_equal(directory(l, "/e")->files, 1);
	assert_int_equal(directory(l, "/e")->total.c[C_misses], 11);
	ledger_free(l);
}

/* A small file that starts late can overtake, although each of its intervals is below the
 * others. */
static void test_late_heavy_file_is_kept(void **state)
{
	struct ledger_limits limits = roomy;
	const struct ledger_file *found = NULL;
	struct ledger *l;

	limits.files = 50;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (uint64_t n = 0; n < 200; n++)
		apply_one(l, n, "/d/small", 50);
	for (int i = 0; i < 100; i++)
		apply_one(l, 300, "/d/late", 10);
	for (size_t i = 0; i < ledger_nr_files(l); i++)
		if (ledger_file(l, i)->key.ino == 1300)
			found = ledger_file(l, i);
	assert_non_null(found);
	assert_true(found->folded_before);
	assert_in_range(found->total.c[C_misses] + found->before, 600, 1600);
	assert_int_equal(directory(l, "/d")->total.c[C_misses], 200 * 50 + 1000);
	ledger_free(l);
}

/* Small additions are not rounded away: correct on average, over many files. */
static void test_weights_add_up(void **state)
{
	enum { FILES = 500, ADDITIONS = 300 };
	struct fileset *set = fileset_new(FILES);
	int64_t sum = 0;
	bool added;

	assert_non_null(set);
	for (uint64_t i = 1; i <= FILES; i++) {
		uint64_t hash = i * 0x9e3779b97f4a7c15ULL;

		for (int n = 0; n < ADDITIONS; n++) {
			struct fileset_entry *entry = fileset_get(set, hash, &added);

			assert_non_null(entry);
			assert_int_equal(added, n == 0);
			fileset_add_weight(set, entry, 1);
		}
		assert_int_equal(fileset_find(set, hash)->place, 0);
		fileset_find(set, hash)->place = (uint16_t)i;
		sum += fileset_weight(set, fileset_find(set, hash));
	}
	assert_in_range(sum, FILES * ADDITIONS * 9L / 10, FILES * ADDITIONS * 11L / 10);
	for (uint64_t i = 1; i <= FILES; i++)
		assert_int_equal(fileset_find(set, i * 0x9e3779b97f4a7c15ULL)->place, i);
	assert_null(fileset_get(set, 12345, &added));
	assert_null(fileset_find(set, 12345));
	fileset_free(set);
}

/* Like a successful transaction of the store. */
static void write_all(struct ledger *l)
{
	for (size_t i = 0; i < ledger_nr_files(l); i++)
		ledger_file(l, i)->mark.written = true;
	for (size_t i = 0; i < ledger_nr_filesystems(l); i++)
		ledger_filesystem(l, i)->mark.written = true;
	for (size_t i = 0; i < ledger_nr_advice(l); i++)
		ledger_advice(l, i)->mark.written = true;
	ledger_written(l);
}

static void test_marks(void **state)
{
	struct ledger_limits limits = roomy;
	size_t nr;
	struct ledger *l;

	limits.files = 1;
	assert_int_equal(ledger_new(&limits, &l), 0);
	apply_one(l, 1, "/a/x", 5);
	assert_true(ledger_file(l, 0)->mark.dirty);
	assert_true(directory(l, "/a")->mark.dirty);
	assert_false(directory(l, "/")->mark.dirty);
	/* An id from a failed transaction is void, and the row still has to be written. */
	ledger_file(l, 0)->mark.db_id = 7;
	ledger_file(l, 0)->mark.fresh = ledger_file(l, 0)->mark.written = true;
	ledger_unwritten(l);
	assert_int_equal(ledger_file(l, 0)->mark.db_id, 0);
	assert_true(ledger_file(l, 0)->mark.dirty);
	/* The same holds for a successful transaction that left out the row. */
	ledger_written(l);
	assert_true(ledger_file(l, 0)->mark.dirty);
	ledger_file(l, 0)->mark.db_id = 8;
	ledger_file(l, 0)->mark.fresh = true;
	write_all(l);
	assert_false(ledger_file(l, 0)->mark.dirty);
	assert_int_equal(ledger_file(l, 0)->mark.db_id, 8);
	ledger_unwritten(l);
	assert_int_equal(ledger_file(l, 0)->mark.db_id, 8);
	/* Folded: only then its row is deleted. */
	ledger_dead(l, &nr);
	assert_int_equal(nr, 0);
	apply_one(l, 2, "/a/y", 6);
	assert_int_equal(ledger_dead(l, &nr)[0], 8);
	assert_int_equal(nr, 1);
	ledger_unwritten(l);
	ledger_dead(l, &nr);
	assert_int_equal(nr, 1);
	write_all(l);
	ledger_dead(l, &nr);
	assert_int_equal(nr, 0);
	ledger_rewrite(l);
	assert_false(ledger_file(l, 0)->mark.dirty);
	ledger_file(l, 0)->mark.db_id = 9;
	ledger_rewrite(l);
	assert_true(ledger_file(l, 0)->mark.dirty);
	ledger_free(l);
}

static void test_active_files(void **state)
{
	struct ledger_limits limits = roomy;
	struct sample_file files[4] = {0};
	struct sample s = {.files = files, .nr_files = 4};
	struct ledger *l;

	limits.active = 2;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (uint64_t i = 0; i < 4; i++) {
		files[i].key = key_of(i == 3 ? 0 : i);
		files[i].job = JOB_WATCHED;
		files[i].c[C_misses] = 10 + (int64_t)i;
	}
	/* The first file is there twice: 10 + 13 misses. */
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_active(l), 2);
	assert_int_equal(ledger_active(l, 0)->last.c[C_misses], 23);
	assert_int_equal(ledger_active(l, 1)->last.c[C_misses], 12);
	s.nr_files = 2;
	ledger_apply(l, &s);
	assert_int_equal(ledger_active(l, 0)->last.c[C_misses], 11);
	assert_int_equal(ledger_active(l, 1)->last.c[C_misses], 10);
	assert_int_equal(ledger_active(l, 1)->total.c[C_misses], 33);
	s.nr_files = 0;
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_active(l), 0);
	ledger_free(l);
}

/* Directories do not depend on the rows of files; a renamed file takes its earlier counts along. */
static void test_active_directories(void **state)
{
	struct ledger_limits limits = roomy;
	char names[6][32];
	struct sample_file files[6] = {0};
	struct sample s = {.files = files, .nr_files = 6};
	struct ledger *l;

	limits.active = limits.files = 1;
	limits.active_directories = 2;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (uint64_t i = 0; i < 6; i++) {
		snprintf(names[i], sizeof(names[i]), "/%c/%d", "abbaac"[i], (int)i);
		files[i].key = key_of(i);
		files[i].job = JOB_WATCHED;
		files[i].path = names[i];
		files[i].c[C_misses] = 1 << i;
	}
	ledger_apply(l, &s);
	/* Only c has 32; a has 1 + 8 + 16; b has 2 + 4 and gets no row. */
	assert_int_equal(ledger_nr_active_directories(l), 2);
	assert_string_equal(ledger_active_directory(l, 0)->path, "/c");
	assert_int_equal(ledger_active_directory(l, 0)->last.c[C_misses], 32);
	assert_string_equal(ledger_active_directory(l, 1)->path, "/a");
	assert_int_equal(ledger_active_directory(l, 1)->last.c[C_misses], 25);
	strcpy(names[5], "/b/5");
	s.files = &files[5];
	s.nr_files = 1;
	files[5].c[C_misses] = 3;
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_active_directories(l), 1);
	assert_string_equal(ledger_active_directory(l, 0)->path, "/b");
	assert_int_equal(ledger_active_directory(l, 0)->last.c[C_misses], 3);
	s.nr_files = 0;
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_active_directories(l), 0);
	ledger_free(l);
}

/* Exact sums by device, independent of the rows of files; a device too many joins the rest. */
static void test_filesystems(void **state)
{
	static const struct sample_filesystem known[] = {
		{.dev = 1, .type = "ext4", .mount = "/a", .cover = "exact", .why = "counted"},
		{.dev = 9, .type = "xfs", .mount = "/nothing", .cover = "exact", .why = "counted"},
	};
	struct ledger_limits limits = roomy;
	struct sample_file files[4] = {0};
	struct sample s = {
		.files = files, .nr_files = 4, .filesystems = known, .nr_filesystems = 2};
	int64_t sum = 0;
	struct ledger *l;

	limits.files = 1;
	limits.filesystems = 3;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (uint32_t i = 0; i < 4; i++) {
		files[i] = (struct sample_file){.key = {.ino = 10 + i, .dev = i < 2 ? 1 : i},
						.job = JOB_WATCHED,
						.size_bytes = SAMPLE_SIZE_UNKNOWN};
		files[i].c[C_misses] = 1 + i;
	}
	s.rest[JOB_WATCHED][C_misses] = 100;
	s.rest[JOB_OTHERS][C_misses] = 1000;
	ledger_apply(l, &s);
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_filesystems(l), 3);
	assert_true(ledger_filesystem(l, 0)->rest);
	assert_int_equal(ledger_filesystem(l, 0)->total.c[C_misses], 2 * (100 + 4));
	assert_true(ledger_filesystem(l, 0)->files_estimated);
	assert_int_equal(ledger_filesystem(l, 1)->total.c[C_misses], 2 * (1 + 2));
	assert_int_equal(ledger_filesystem(l, 1)->files, 2);
	assert_false(ledger_filesystem(l, 1)->files_estimated);
	assert_string_equal(ledger_filesystem(l, 1)->mount, "/a");
	assert_int_equal(ledger_filesystem(l, 2)->total.c[C_misses], 2 * 3);
	assert_null(ledger_filesystem(l, 2)->type);
	for (size_t i = 0; i < 3; i++) {
		assert_true(ledger_filesystem(l, i)->mark.dirty);
		sum += ledger_filesystem(l, i)->total.c[C_misses];
	}
	assert_int_equal(sum, ledger_job(l, JOB_WATCHED)->total.c[C_misses]);
	write_all(l);
	s.nr_files = 0;
	memset(s.rest, 0, sizeof(s.rest));
	ledger_apply(l, &s);
	for (size_t i = 0; i < 3; i++)
		assert_false(ledger_filesystem(l, i)->mark.dirty);
	ledger_free(l);
}

static void test_job_facts(void **state)
{
	struct sample s = {0};
	struct ledger *l;

	assert_int_equal(ledger_new(NULL, &l), 0);
	s.jobs[JOB_WATCHED] = (struct sample_job){.cpu_ns = 100, .rchar_bytes = 50};
	s.rest[JOB_WATCHED][C_used] = 1;
	s.unsettled_error_pages = -3;
	ledger_apply(l, &s);
	s.jobs[JOB_WATCHED] = (struct sample_job){.cpu_ns = 170, .rchar_bytes = 40};
	s.rest[JOB_WATCHED][C_used] = 0;
	s.rest[JOB_WATCHED][C_prefetched_sync] = 2;
	s.unsettled_error_pages = 0;
	ledger_apply(l, &s);
	assert_int_equal(ledger_job(l, JOB_WATCHED)->last_cpu_ns, 70);
	assert_int_equal(ledger_job(l, JOB_WATCHED)->last_rchar_bytes, 0);
	assert_int_equal(ledger_job(l, JOB_WATCHED)->facts.cpu_ns, 170);
	assert_int_equal(ledger_law_error(l), 1 + 3 + 2);
	ledger_free(l);
}

static void test_advice(void **state)
{
	struct ledger_limits limits = roomy;
	struct sample_advice advice[3] = {0};
	struct sample_file file = {.key = key_of(1), .job = JOB_WATCHED, .path = "/a/x"};
	struct sample s = {.advice = advice, .nr_advice = 3};
	struct ledger *l;

	limits.advice = 2;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (int i = 0; i < 3; i++) {
		advice[i].file = key_of(1);
		advice[i].job = JOB_WATCHED;
		advice[i].kind = (uint8_t)(ADVICE_WILLNEED + i);
		advice[i].call = CALL_FADVISE;
		advice[i].row.calls = 5;
	}
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_advice(l), 2);
	assert_int_equal(ledger_advice_lost(l), 1);
	assert_null(ledger_advice(l, 0)->path);
	write_all(l);
	s.nr_advice = 2;
	advice[1].row.calls = 6;
	ledger_apply(l, &s);
	assert_false(ledger_advice(l, 0)->mark.dirty);
	assert_true(ledger_advice(l, 1)->mark.dirty);
	/* The name arrives with the file, for all advice on it. */
	s.files = &file;
	s.nr_files = 1;
	ledger_apply(l, &s);
	assert_string_equal(ledger_advice(l, 0)->path, "/a/x");
	assert_string_equal(ledger_advice(l, 1)->path, "/a/x");
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_stays_known),
		cmocka_unit_test(test_late_name_and_rename),
		cmocka_unit_test(test_named_after_folding),
		cmocka_unit_test(test_folded_file_keeps_its_directory),
		cmocka_unit_test(test_late_heavy_file_is_kept),
		cmocka_unit_test(test_weights_add_up),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_active_files),
		cmocka_unit_test(test_active_directories),
		cmocka_unit_test(test_filesystems),
		cmocka_unit_test(test_job_facts),
		cmocka_unit_test(test_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
