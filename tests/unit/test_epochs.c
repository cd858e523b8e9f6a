/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account */
/* Passes over files, and the epochs that are found from them. */
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

	/* From 50 to 250 of a file of 100: half of the first pass, the second, half of the third.
	 */
	passes_add(&p, &(struct passes_file){100, 250, 200, 0, 0}, 4096);
	assert_int_equal(p.nr, 3);
	assert_int_equal(read_in(&p, 1), 50);
	assert_int_equal(read_in(&p, 2), 100);
	assert_int_equal(read_in(&p, 3), 50);
	/* A whole second pass of another file goes to the same row. */
	passes_add(&p, &(struct passes_file){40, 80, 40, 0, 0}, 4096);
	assert_int_equal(p.nr, 3);
	assert_int_equal(read_in(&p, 2), 140);
}

static void test_pages_are_of_whole_pages(void **state)
{
	struct passes p = {.nr = 0};

	/* 5,000 bytes are two pages: the third that came is of the second pass. */
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
	/* A small file that was read very often fills the list, and no more. */
	passes_add(&p, &(struct passes_file){1, 1 << 20, 1 << 20, 0, 0}, 4096);
	assert_int_equal(p.nr, PASSES_MAX);
}

static const char *find(const struct epochs_row *rows, size_t nr, size_t *passes, size_t *first)
{
	static size_t all[EPOCHS_MAX];
	const char *why = epochs_find(rows, nr, passes, all);

	memcpy(first, all, 4 * sizeof(*first));
	return why;
}
#define FIND(rows, passes, first) find((rows), sizeof(rows) / sizeof((rows)[0]), (passes), (first))

static void test_passes_are_epochs(void **state)
{
	/* Three passes over 100, and a part of a fourth; the second ends in the midst of 3, the
	 * third in 5, most of which is of the fourth. */
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

/* What is read once only, as the program's own libraries, does not hide the passes. */
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
	/* Random reads of a large file: nobody knows which of its pages. */
	static const struct epochs_row random[] = {
		{0, 1, 50, 1000}, {1, 1, 50, 1000}, {2, 2, 50, 1000}, {3, 2, 50, 1000}};
	static const struct epochs_row quick[] = {{0, 1, 90, 90}, {0, 2, 90, 90}, {0, 3, 90, 90}};
	size_t passes, first[4];

	assert_non_null(strstr(FIND(once, &passes, first), "once"));
	assert_non_null(strstr(FIND(twice, &passes, first), "again before the others"));
	assert_non_null(strstr(FIND(random, &passes, first), "pieces"));
	assert_non_null(strstr(FIND(quick, &passes, first), "too long"));
	assert_non_null(strstr(find(NULL, 0, &passes, first), "once"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_of_the_pass_in_which_they_are_read),
		cmocka_unit_test(test_pages_are_of_whole_pages),
		cmocka_unit_test(test_odd_files_are_left_out),
		cmocka_unit_test(test_passes_are_epochs),
		cmocka_unit_test(test_other_files_do_not_hide_them),
		cmocka_unit_test(test_what_are_no_epochs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
