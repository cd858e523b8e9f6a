/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account */
/* Passes over files, and the epochs that are derived from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/series/epochs.h"
#include "cachemon/account/passes.h"

static uint64_t read_in(const struct passes *p, uint64_t pass)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->list[i].pass == pass)
			return p->list[i].read_bytes;
	return 0;
}

static void test_bytes_are_of_the_pass_in_which_they_are_read(void **state)
{
	struct passes p = {.nr = 0};

	/* Bytes 50 to 250 of a file of 100: half of the first pass, the second, half of the
	 * third. */
	passes_add(&p, &(struct passes_file){100, 250, 200, 0, 0}, 4096);
	assert_int_equal(p.nr, 3);
	assert_int_equal(read_in(&p, 1), 50);
	assert_int_equal(read_in(&p, 2), 100);
	assert_int_equal(read_in(&p, 3), 50);
	/* A complete second pass of another file is in the same row. */
	passes_add(&p, &(struct passes_file){40, 80, 40, 0, 0}, 4096);
	assert_int_equal(p.nr, 3);
	assert_int_equal(read_in(&p, 2), 140);
}

static void test_pages_are_of_whole_pages(void **state)
{
	struct passes p = {.nr = 0};

	/* 5,000 bytes are two pages: the third page belongs to the second pass. */
	passes_add(&p, &(struct passes_file){5000, 0, 0, 3, 3}, 4096);
	assert_int_equal(p.nr, 2);
	assert_int_equal(p.list[0].brought_pages, 2);
	assert_int_equal(p.list[1].brought_pages, 1);
	assert_int_equal(p.list[1].file_pages, 2);
	assert_int_equal(p.list[1].file_bytes, 0);
}

static void test_odd_files_are_left_out(void **state)
{
	static const struct passes_file odd[] = {
		{0, 10, 10, 1, 1}, {UINT64_MAX, 10, 10, 1, 1}, {10, UINT64_MAX, 5, 1, 1}};
	struct passes p = {.nr = 0};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		passes_add(&p, &odd[i], 4096);
	assert_int_equal(p.nr, 0);
	/* Files with many passes fill the list without overflowing it. */
	for (uint64_t pass = 1; pass <= PASSES_MAX + 1; pass++)
		passes_add(&p, &(struct passes_file){10, 10 * pass, 10, 0, 0}, 4096);
	assert_int_equal(p.nr, PASSES_MAX);
}

/* An index that is read repeatedly does not take the place of files in their passes. */
static void test_an_index_is_left_out(void **state)
{
	struct passes p = {.nr = 0};

	passes_add(&p, &(struct passes_file){4096, 20 * 4096, 20 * 4096, 20, 20}, 4096);
	for (uint64_t pass = 1; pass <= 3; pass++)
		passes_add(&p, &(struct passes_file){1 << 20, pass << 20, 1 << 20, 0, 0}, 4096);
	assert_int_equal(p.nr, 3);
	for (uint64_t pass = 1; pass <= 3; pass++)
		assert_int_equal(read_in(&p, pass), 1 << 20);
}

static void test_a_file_counts_where_its_pass_begins(void **state)
{
	struct passes p = {.nr = 0};

	passes_add(&p, &(struct passes_file){100, 150, 150, 0, 0}, 4096);
	assert_int_equal(p.list[0].file_bytes, 100);
	assert_int_equal(p.list[1].file_bytes, 100);
	p.nr = 0;
	passes_add(&p, &(struct passes_file){100, 200, 50, 0, 0}, 4096);
	assert_int_equal(p.nr, 1);
	assert_int_equal(p.list[0].read_bytes, 50);
	assert_int_equal(p.list[0].file_bytes, 0);
}

static const char *find(const struct epochs_row *rows, size_t nr, size_t *passes, size_t *first)
{
	static size_t all[EPOCHS_MAX];
	const char *why = epochs_find(rows, nr, false, passes, all);

	memcpy(first, all, 4 * sizeof(*first));
	return why;
}
#define FIND(rows, passes, first) find((rows), sizeof(rows) / sizeof((rows)[0]), (passes), (first))

static void test_passes_are_epochs(void **state)
{
	/* Three passes over 100 and a part of a fourth. The second ends within interval 3, the
	 * third within 5, most of which belongs to the fourth. */
	static const struct epochs_row rows[] = {
		{0, 1, 60, 60}, {1, 1, 40, 40}, {2, 2, 70, 70}, {3, 2, 30, 30},
		{3, 3, 20, 20}, {4, 3, 75, 75}, {5, 3, 5, 5},	{5, 4, 30, 30},
	};
	size_t passes, first[4];

	assert_null(FIND(rows, &passes, first));
	assert_int_equal(passes, 4);
	assert_int_equal(first[0], 2);
	assert_int_equal(first[1], 4);
	assert_int_equal(first[2], 5);
}

/* Files that are read only once, such as the program's libraries, do not hide the passes. */
static void test_other_files_do_not_hide_them(void **state)
{
	static const struct epochs_row rows[] = {
		{0, 1, 80, 80}, {1, 1, 100, 100}, {2, 2, 100, 100}, {3, 3, 100, 100}};
	size_t passes, first[4];

	assert_null(FIND(rows, &passes, first));
	assert_int_equal(passes, 3);
	assert_int_equal(first[0], 2);
	assert_int_equal(first[1], 3);
}

static void test_what_are_no_epochs(void **state)
{
	static const struct epochs_row once[] = {{0, 1, 100, 100}, {1, 1, 100, 100}, {1, 2, 4, 4}};
	/* Each file twice before the next one. */
	static const struct epochs_row twice[] = {
		{0, 1, 50, 50}, {0, 2, 50, 50}, {1, 1, 50, 50}, {1, 2, 50, 50}};
	/* Random reads of a large file: which of its pages were read is not known. */
	static const struct epochs_row random[] = {
		{0, 1, 500, 1000}, {1, 1, 500, 0}, {2, 2, 50, 1000}, {3, 2, 950, 0}};
	static const struct epochs_row quick[] = {{0, 1, 90, 90}, {0, 2, 90, 90}, {0, 3, 90, 90}};
	size_t passes, first[4], all[EPOCHS_MAX];

	assert_non_null(strstr(FIND(once, &passes, first), "once"));
	assert_non_null(strstr(FIND(twice, &passes, first), "again before all others"));
	assert_non_null(strstr(FIND(random, &passes, first), "pieces"));
	/* If it is read from the beginning to the end, each pass is an epoch. */
	assert_null(epochs_find(random, 4, true, &passes, all));
	assert_int_equal(passes, 2);
	assert_int_equal(all[0], 3);
	assert_non_null(strstr(FIND(quick, &passes, first), "too long"));
	assert_non_null(strstr(find(NULL, 0, &passes, first), "once"));
}

enum { SHARDS = 4, SHARD_EPOCHS = 3, SHARD_MB = 100, MB_PER_S = 150, SHARD_ROWS = 128 };

/* The rows of a job that reads its shards in order, with intervals of that many ms. */
static size_t read_shards(int interval_ms, struct epochs_row *rows)
{
	const uint64_t each = SHARD_MB * 1000000ULL, all = each * SHARDS * SHARD_EPOCHS,
		       step = MB_PER_S * 1000ULL * (uint64_t)interval_ms;
	uint64_t read[SHARDS] = {0};
	size_t nr = 0, interval = 0;

	for (uint64_t at = 0; at < all; interval++) {
		uint64_t end = at + step < all ? at + step : all, was[SHARDS];
		struct passes p = {.nr = 0};

		memcpy(was, read, sizeof(was));
		while (at < end) {
			uint64_t to = (at / each + 1) * each;

			to = to < end ? to : end;
			read[at / each % SHARDS] += to - at;
			at = to;
		}
		for (size_t i = 0; i < SHARDS; i++)
			passes_add(&p, &(struct passes_file){each, read[i], read[i] - was[i], 0, 0},
				   4096);
		for (size_t i = 0; i < p.nr; i++) {
			assert_true(nr < SHARD_ROWS);
			rows[nr++] = (struct epochs_row){interval, p.list[i].pass,
							 (double)p.list[i].read_bytes,
							 (double)p.list[i].file_bytes};
		}
	}
	return nr;
}

/* The store merges old rows so: sums by pass. */
static size_t merge_rows(struct epochs_row *rows, size_t nr, size_t intervals)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t at = 0;

		rows[i].interval /= intervals;
		while (at < kept &&
		       (rows[at].interval != rows[i].interval || rows[at].pass != rows[i].pass))
			at++;
		if (at == kept) {
			rows[kept++] = rows[i];
			continue;
		}
		rows[at].amount += rows[i].amount;
		rows[at].whole += rows[i].whole;
	}
	return kept;
}

static void test_the_length_of_intervals_changes_nothing(void **state)
{
	/* An epoch takes 2,667 ms: it ends in interval 10 of 250 ms, and in interval 2 of 1 s. */
	static const size_t of_250[] = {11, 21}, of_1000[] = {3, 5};
	struct epochs_row brief[SHARD_ROWS], rows[SHARD_ROWS];
	size_t nr_brief = read_shards(250, brief), nr = read_shards(1000, rows);
	size_t passes, first[4];

	assert_null(find(brief, nr_brief, &passes, first));
	assert_int_equal(passes, SHARD_EPOCHS);
	assert_memory_equal(first, of_250, sizeof(of_250));
	assert_null(find(rows, nr, &passes, first));
	assert_int_equal(passes, SHARD_EPOCHS);
	assert_memory_equal(first, of_1000, sizeof(of_1000));
	nr = merge_rows(brief, nr_brief, 4);
	assert_null(find(brief, nr, &passes, first));
	assert_int_equal(passes, SHARD_EPOCHS);
	assert_memory_equal(first, of_1000, sizeof(of_1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_of_the_pass_in_which_they_are_read),
		cmocka_unit_test(test_pages_are_of_whole_pages),
		cmocka_unit_test(test_odd_files_are_left_out),
		cmocka_unit_test(test_an_index_is_left_out),
		cmocka_unit_test(test_a_file_counts_where_its_pass_begins),
		cmocka_unit_test(test_passes_are_epochs),
		cmocka_unit_test(test_other_files_do_not_hide_them),
		cmocka_unit_test(test_what_are_no_epochs),
		cmocka_unit_test(test_the_length_of_intervals_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
