/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advisor/analysis/coverage.h"

enum { PAGE = 4096, PAGES = 640, MAX = 64 };

struct told {
	struct trace_event e[MAX];
	size_t nr;
	struct coverage c;
};

static struct trace_event *tell(struct told *t, int kind, uint64_t pos, uint64_t len)
{
	assert_true(t->nr < MAX);
	t->e[t->nr] = (struct trace_event){.kind = (uint8_t)kind, .pos = pos, .len = len};
	return &t->e[t->nr++];
}

static void tell_read(struct told *t, uint64_t first, uint64_t nr)
{
	tell(t, TRACE_READ, first * PAGE, nr * PAGE);
}

static void count(struct told *t, uint64_t size_bytes)
{
	struct coverage_pages p;
	uint64_t pages = 0;

	for (size_t i = 0; i < t->nr; i++)
		coverage_reach(&pages, &t->e[i], PAGE);
	if (pages < (size_bytes + PAGE - 1) / PAGE)
		pages = (size_bytes + PAGE - 1) / PAGE;
	coverage_divide(&t->c, pages);
	assert_int_equal(coverage_begin(&p, &t->c, PAGE, size_bytes), 0);
	for (size_t i = 0; i < t->nr; i++)
		coverage_event(&p, &t->e[i]);
	assert_int_equal(coverage_end(&p), 0);
}

static uint64_t sum(const uint64_t *parts)
{
	uint64_t n = 0;

	for (size_t i = 0; i < COVERAGE_PARTS; i++)
		n += parts[i];
	return n;
}

static void parts_make_up_the_file(void **state)
{
	(void)state;
	for (uint64_t pages = 0; pages < 5000; pages++) {
		struct coverage c;

		coverage_divide(&c, pages);
		assert_true(c.nr_parts <= COVERAGE_PARTS);
		assert_true(c.nr_parts * c.part_pages >= pages);
		assert_true(!pages || (c.nr_parts - 1) * c.part_pages < pages);
	}
}

/* Readahead brings 32 pages for the 4 requested; 8 more are read; 40 to 63 never. */
static void what_readahead_brought_in_vain(void **state)
{
	struct told t = {0};

	(void)state;
	tell(&t, TRACE_OPEN, (uint64_t)PAGES * PAGE, 0);
	tell_read(&t, 0, 4);
	tell(&t, TRACE_ADD, 0, 32);
	tell(&t, TRACE_ADD, 32, 32);
	tell_read(&t, 32, 8);
	tell(&t, TRACE_REMOVE, 0, 8);
	count(&t, (uint64_t)PAGES * PAGE);
	assert_int_equal(t.c.part_pages, 10);
	assert_int_equal(t.c.nr_parts, 64);
	assert_int_equal(sum(t.c.read), 12);
	assert_int_equal(t.c.read[0], 4);
	assert_int_equal(t.c.read[3], 8);
	assert_int_equal(t.c.evicted[0], 8);
	assert_int_equal(t.c.evicted_unused[0], 4);
	assert_int_equal(sum(t.c.evicted_unused), 4);
	/* 8 to 31 and 40 to 63 */
	assert_int_equal(sum(t.c.resident_unused), 24 + 24);
	assert_int_equal(t.c.resident_unused[0], 2);
	assert_int_equal(t.c.resident_unused[4], 10);
}

/* Only the end of the read is seen: its pages came before its event. */
static void a_read_that_is_told_after_its_pages(void **state)
{
	struct told t = {0};

	(void)state;
	tell(&t, TRACE_ADD, 0, 4);
	tell(&t, TRACE_READ, 0, (uint64_t)4 * PAGE)->flags = TRACE_AFTER;
	count(&t, (uint64_t)PAGES * PAGE);
	assert_int_equal(sum(t.c.read), 4);
	assert_int_equal(sum(t.c.resident_unused), 0);
}

/* A page counts as read once but may be evicted twice; a page that was requested long ago is not
 * requested now. */
static void again_after_eviction(void **state)
{
	struct told t = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		tell_read(&t, 100, 1);
		tell(&t, TRACE_ADD, 100, 1);
		tell(&t, TRACE_REMOVE, 100, 1);
	}
	tell(&t, TRACE_ADD, 100, 1);
	count(&t, (uint64_t)PAGES * PAGE);
	assert_int_equal(t.c.read[10], 1);
	assert_int_equal(t.c.evicted[10], 2);
	assert_int_equal(t.c.evicted_unused[10], 0);
	assert_int_equal(t.c.resident_unused[10], 1);
}

/* A read is cut at the file's end at that time; written pages are not prefetched. */
static void a_file_that_grows(void **state)
{
	struct told t = {0};

	(void)state;
	tell(&t, TRACE_OPEN, (uint64_t)2 * PAGE, 0);
	tell_read(&t, 0, 16);
	tell(&t, TRACE_ADD, 0, 2);
	tell(&t, TRACE_ADD, 2, 6)->flags = TRACE_BY_WRITE;
	tell(&t, TRACE_SIZE, (uint64_t)8 * PAGE, 0);
	tell_read(&t, 6, 16);
	count(&t, (uint64_t)8 * PAGE);
	assert_int_equal(t.c.file_pages, 8);
	assert_int_equal(t.c.part_pages, 1);
	assert_int_equal(sum(t.c.read), 4);
	assert_int_equal(t.c.read[2], 0);
	assert_int_equal(t.c.read[7], 1);
	assert_int_equal(sum(t.c.resident_unused), 0);
}

/* Loads from a mapping leave no event: pages mapped around a touch are neither used nor wasted. */
static void a_mapping(void **state)
{
	struct told t = {0};

	(void)state;
	tell(&t, TRACE_FAULT, 64, 0);
	tell(&t, TRACE_ADD, 60, 16);
	tell(&t, TRACE_MAP, 60, 8)->map.touched = 1 + 65;
	tell(&t, TRACE_REMOVE, 60, 16);
	count(&t, (uint64_t)PAGES * PAGE);
	assert_int_equal(t.c.read[6], 2);
	assert_int_equal(sum(t.c.evicted), 16);
	assert_int_equal(sum(t.c.evicted_unused), 8);
}

static void nonsense_is_bounded(void **state)
{
	struct told t = {0};
	struct coverage_pages p;

	(void)state;
	coverage_divide(&t.c, COVERAGE_PAGES_MAX + 1);
	assert_int_equal(coverage_begin(&p, &t.c, PAGE, 0), -E2BIG);
	t.c = (struct coverage){0};
	tell(&t, TRACE_READ, UINT64_MAX - 5, UINT64_MAX);
	tell(&t, TRACE_ADD, UINT64_MAX - 5, UINT64_MAX);
	tell(&t, TRACE_REMOVE, UINT64_MAX, 1);
	tell(&t, TRACE_MAP, UINT64_MAX, UINT64_MAX)->map.touched = UINT64_MAX;
	tell(&t, TRACE_FAULT, UINT64_MAX, 0);
	count(&t, 3);
	assert_int_equal(sum(t.c.read) + sum(t.c.evicted), 0);
	/* Many times the size of the file. */
	coverage_divide(&t.c, 1 << 20);
	assert_int_equal(coverage_begin(&p, &t.c, PAGE, 0), 0);
	t.e[0] = (struct trace_event){.kind = TRACE_REMOVE, .len = UINT64_MAX};
	for (int i = 0; i < 1000000; i++)
		coverage_event(&p, &t.e[0]);
	assert_int_equal(coverage_end(&p), -E2BIG);
}

static void a_sample_is_scaled(void **state)
{
	uint64_t pages[COVERAGE_PARTS] = {1, 3, 0, 200};
	struct coverage c;

	(void)state;
	coverage_divide(&c, (uint64_t)64 * 100);
	coverage_of_sample(&c, pages, UINT64_C(1) << 30);
	assert_int_equal(c.read[0], 4);
	assert_int_equal(c.read[1], 12);
	assert_int_equal(c.read[2], 0);
	assert_int_equal(c.read[3], 100);
	coverage_divide(&c, (uint64_t)64 * 100);
	coverage_of_sample(&c, pages, UINT64_C(1) << 32);
	assert_int_equal(c.read[1], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_make_up_the_file),
		cmocka_unit_test(what_readahead_brought_in_vain),
		cmocka_unit_test(a_read_that_is_told_after_its_pages),
		cmocka_unit_test(again_after_eviction),
		cmocka_unit_test(a_file_that_grows),
		cmocka_unit_test(a_mapping),
		cmocka_unit_test(nonsense_is_bounded),
		cmocka_unit_test(a_sample_is_scaled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
