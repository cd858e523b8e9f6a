/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
/* The readahead model, compared with numbers that were measured or worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "advisor/readahead/ra_model.h"

enum { PAGE = 4096, PAGES = 4097, KB = 1024 };

struct one {
	struct ra_file file;
	struct ra_stream stream;
};

static void open_one(struct one *o, const char *kernel, unsigned int max_order, unsigned int kb)
{
	const struct ra_kernel *k = ra_kernel_named(kernel);

	assert_non_null(k);
	ra_file_init(&o->file, k, (uint64_t)PAGES * PAGE, max_order, 320, kb / 4);
	ra_stream_init(&o->stream, &o->file);
}

static uint64_t added(struct one *o)
{
	uint64_t pages = o->file.totals.added_pages;

	assert_int_equal(o->file.pages.error, 0);
	ra_file_free(&o->file);
	return pages;
}

static uint64_t stride_pages(const char *kernel)
{
	struct one o;

	open_one(&o, kernel, 0, 1024);
	for (uint64_t i = 0; i < 200; i++)
		ra_read(&o.file, &o.stream, i * 64 * KB, 16ULL * KB);
	return added(&o);
}

/* 200 reads of 16 KiB, 64 KiB apart: a miss at the end of the window was once taken for a
 * sequential one. */
static void strides_look_sequential_before_6_12(void **state)
{
	assert_int_equal(stride_pages("5.10"), 3632);
	assert_int_equal(stride_pages("6.1"), 3632);
	assert_int_equal(stride_pages("6.12"), 892);
	assert_int_equal(stride_pages("7.2"), 892);
}

static void no_readahead_is_single_pages(void **state)
{
	struct one o;

	open_one(&o, "6.18", 9, 0);
	ra_read(&o.file, &o.stream, 0, 64ULL * KB);
	assert_int_equal(o.file.nr_adds, 16);
	for (uint64_t i = 0; i < 16; i++) {
		assert_int_equal(o.file.adds[i].first, i);
		assert_int_equal(o.file.adds[i].order, 0);
	}
	assert_int_equal(o.file.totals.requests, 16);
	assert_int_equal(o.file.totals.stalls, 16);
	assert_int_equal(added(&o), 16);
}

static uint64_t touched_pages(const char *kernel, unsigned int max_order)
{
	struct ra_mapping m = {.nr_pages = PAGES};
	uint64_t first, end;
	bool mapped[PAGES] = {0};
	struct one o;

	open_one(&o, kernel, max_order, 128);
	for (uint64_t page = 0; page < 200ULL * 20; page += 20) {
		if (mapped[page])
			continue;
		ra_touch(&o.file, &o.stream, &m, page);
		ra_fault_around(&o.file, &m, page, &first, &end);
		for (uint64_t i = first; i < end; i++)
			mapped[i] = ra_mappable(&o.file, i);
	}
	return added(&o);
}

/* Every twentieth page of a mapping: read-around that brings unused pages switches itself off. */
static void read_around_gives_up_on_7_2_alone(void **state)
{
	assert_int_equal(touched_pages("5.10", 0), 3996);
	assert_int_equal(touched_pages("6.12", 0), 3996);
	assert_int_equal(touched_pages("6.18", 9), 3996);
	assert_int_equal(touched_pages("7.2", 9), 2134);
}

/* The first reads of a file by 4 KiB at 128 KiB: 4 pages, marked at 1; 8 at 4 when 1 is read... */
static void windows_grow(void **state)
{
	static const struct {
		uint64_t page, first, nr;
	} want[] = {{0, 0, 4}, {1, 4, 8}, {4, 12, 16}, {12, 28, 32}, {28, 60, 32}, {60, 92, 32}};
	size_t at = 0;
	struct one o;

	open_one(&o, "6.12", 0, 128);
	for (uint64_t page = 0; page <= 60; page++) {
		ra_read(&o.file, &o.stream, page * PAGE, PAGE);
		if (!o.file.nr_adds)
			continue;
		assert_int_equal(page, want[at].page);
		assert_int_equal(o.file.adds[0].first, want[at].first);
		assert_int_equal(o.file.nr_adds, want[at].nr);
		at++;
	}
	assert_int_equal(at, 6);
	assert_int_equal(o.file.totals.stalls, 1);
	assert_int_equal(o.file.totals.misses, 1);
	assert_int_equal(o.file.totals.demand_pages, 1);
	assert_int_equal(ra_file_wasted(&o.file), 124 - 61);
	assert_int_equal(added(&o), 124);
}

/* Page 102 after page 100: adjacent for kernels that store the first byte that was not read. */
static void one_page_may_be_skipped_since_6_1(void **state)
{
	struct one o;

	open_one(&o, "5.10", 0, 128);
	ra_read(&o.file, &o.stream, 100 * PAGE, PAGE);
	ra_read(&o.file, &o.stream, 102 * PAGE, PAGE);
	assert_int_equal(added(&o), 2);
	open_one(&o, "6.1", 0, 128);
	ra_read(&o.file, &o.stream, 100 * PAGE, PAGE);
	ra_read(&o.file, &o.stream, 102 * PAGE, PAGE);
	assert_int_equal(added(&o), 5);
}

static void advice_is_cut_to_one_request(void **state)
{
	struct one o;

	open_one(&o, "6.18", 9, 128);
	ra_advise(&o.file, &o.stream, RA_ADVICE_WILLNEED, 0, 8ULL << 20);
	assert_int_equal(added(&o), 320);
}

static void advised_random_reads_what_is_asked(void **state)
{
	struct one o;

	open_one(&o, "6.18", 9, 128);
	ra_advise(&o.file, &o.stream, RA_ADVICE_RANDOM, 0, 0);
	for (uint64_t page = 0; page < 64; page += 4)
		ra_read(&o.file, &o.stream, page * PAGE, 4ULL * PAGE);
	assert_int_equal(o.file.totals.stalls, 16);
	assert_int_equal(o.file.totals.demand_pages, 64);
	assert_int_equal(ra_file_wasted(&o.file), 0);
	assert_int_equal(added(&o), 64);
}

static void what_left_unused_is_wasted(void **state)
{
	struct one o;

	open_one(&o, "6.12", 0, 128);
	ra_read(&o.file, &o.stream, 0, PAGE);
	ra_remove(&o.file, 0, 2);
	assert_int_equal(o.file.totals.wasted_pages, 1);
	assert_int_equal(ra_file_wasted(&o.file), 3);
	ra_resize(&o.file, 3 * PAGE);
	assert_int_equal(o.file.totals.wasted_pages, 2);
	assert_int_equal(ra_file_wasted(&o.file), 3);
	assert_int_equal(added(&o), 4);
}

static void reads_behind_the_end_are_nothing(void **state)
{
	struct one o;

	open_one(&o, "6.18", 9, 128);
	ra_read(&o.file, &o.stream, (uint64_t)PAGES * PAGE, PAGE);
	ra_read(&o.file, &o.stream, UINT64_MAX - PAGE, UINT64_MAX);
	ra_read(&o.file, &o.stream, 0, 0);
	assert_int_equal(o.file.totals.lookups, 0);
	assert_int_equal(added(&o), 0);
	open_one(&o, "6.18", 9, 128);
	ra_resize(&o.file, 0);
	ra_read(&o.file, &o.stream, 0, PAGE);
	assert_int_equal(added(&o), 0);
}

static void kernels_are_known_or_not(void **state)
{
	const char *why = NULL;

	assert_string_equal(ra_kernel_of("6.12.117+deb13-cloud-amd64", &why)->name, "6.12");
	assert_string_equal(ra_kernel_of("5.10.0-46-cloud-amd64", &why)->name, "5.10");
	assert_null(why);
	assert_null(ra_kernel_of("6.11.3", &why));
	assert_non_null(why);
	assert_null(ra_kernel_of("6.120.1", &why));
	assert_null(ra_kernel_of("", &why));
}

/* The walk lags behind its index inside a folio: pages 1 to 4 are cached, the hole is found
 * later. */
static void the_search_for_holes_lags(void **state)
{
	struct ra_search exact = {false, false}, lags = {true, false};
	struct ra_pages p = {0};
	bool from_start;

	ra_pages_add(&p, 0, 2, false);
	ra_pages_add(&p, 4, 2, false);
	assert_int_equal(ra_pages_next_hole(&p, 2, 32, exact), 8);
	assert_int_equal(ra_pages_next_hole(&p, 2, 32, lags), 10);
	assert_int_equal(ra_pages_next_hole(&p, 2, 4, exact), 6);
	assert_int_equal(ra_pages_run_before(&p, 7, 32, exact, &from_start), 8);
	assert_true(from_start);
	assert_int_equal(ra_pages_run_before(&p, 7, 32, lags, &from_start), 5);
	assert_false(from_start);
	ra_pages_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strides_look_sequential_before_6_12),
		cmocka_unit_test(no_readahead_is_single_pages),
		cmocka_unit_test(read_around_gives_up_on_7_2_alone),
		cmocka_unit_test(windows_grow),
		cmocka_unit_test(one_page_may_be_skipped_since_6_1),
		cmocka_unit_test(advice_is_cut_to_one_request),
		cmocka_unit_test(advised_random_reads_what_is_asked),
		cmocka_unit_test(what_left_unused_is_wasted),
		cmocka_unit_test(reads_behind_the_end_are_nothing),
		cmocka_unit_test(kernels_are_known_or_not),
		cmocka_unit_test(the_search_for_holes_lags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
