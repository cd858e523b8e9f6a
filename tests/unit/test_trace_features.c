/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "advisor/pattern/pattern.h"

#include "advisor/pattern/pattern_file.h"

enum { PAGE = 4096, MAX = 4096 };

struct trace {
	struct trace_event e[MAX];
	size_t nr;
};

static struct trace_event *add(struct trace *t, int kind, uint64_t pos, uint64_t len)
{
	assert_true(t->nr < MAX);
	t->e[t->nr] = (struct trace_event){.kind = (uint8_t)kind, .pos = pos, .len = len};
	return &t->e[t->nr++];
}

static enum pattern_name name_of(const struct trace *t, uint64_t size_bytes, struct features *f)
{
	assert_int_equal(trace_features(t->e, t->nr, size_bytes, PAGE, f), 0);
	return pattern_of_file(f).name;
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct trace));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* Each call requests 64 KiB and gets what was appended since. */
static void a_log_that_grows(void **state)
{
	struct trace *t = *state;
	struct features f = {0};
	uint64_t size = 100 * PAGE;

	add(t, TRACE_OPEN, size, 0);
	for (int i = 0; i < 200; i++) {
		add(t, TRACE_SIZE, size + 8400, 0);
		add(t, TRACE_READ, size, 65536);
		size += 8400;
		add(t, TRACE_READ, size, 65536); /* the file is still empty */
	}
	assert_int_equal(name_of(t, size, &f), PATTERN_append_follow);
	assert_true(f.value[F_reads] == 200);
	assert_true(f.value[F_growth_share] == 1);
	assert_true(f.value[F_sequential_share] == 1);
	assert_true(f.value[F_read_bytes_median] == 8400);
}

static void a_file_of_many_pages(void **state)
{
	struct trace *t = *state;
	struct features f = {0};
	uint64_t size = (uint64_t)100000 * PAGE;

	add(t, TRACE_OPEN, size, 0);
	for (uint64_t pos = 0; pos < size; pos += 1 << 20)
		add(t, TRACE_READ, pos, 1 << 20);
	assert_int_equal(name_of(t, size, &f), PATTERN_scan_once);
	/* 8192 of 100000 pages are touched. */
	assert_true(fabs(f.value[F_coverage] - 1) < 0.05);
	assert_true(f.value[F_growth_share] == 0);
}

/* A touch served by fault-around counts as a fault; further events of the same fault do not. */
static void touches_of_a_mapping(void **state)
{
	struct trace *t = *state;
	struct features f = {0};

	features_set(&f, F_fault_share, 1);
	for (uint64_t page = 0; page < 1024; page += 32) {
		add(t, TRACE_MAP, page, 16)->map.touched = page + 1;
		add(t, TRACE_FAULT, page, 0)->flags = TRACE_MISSING;
		add(t, TRACE_FAULT, page, 0)->flags = TRACE_RETRY;
		add(t, TRACE_MAP, page, 16)->map.touched = page + 1;
		add(t, TRACE_MAP, page + 16, 16)->map.touched = page + 16 + 1;
		add(t, TRACE_MAP, page + 16, 16); /* the task that touched them is not known */
	}
	assert_int_equal(name_of(t, 1024 * PAGE, &f), PATTERN_mmap_sequential);
	assert_true(f.value[F_faults] == 64);
	assert_true(f.value[F_fault_gap_pages] == 16);
	assert_false(f.known[F_reads]);
}

/* Steps and gaps are in pages of that machine: a read after a gap of 12 KiB is consecutive with
 * pages of 16 KiB, and is not with pages of 4 KiB. */
static void larger_pages(void **state)
{
	static const uint64_t bytes[] = {4096, 16384, 65536};
	struct trace *t = *state;

	for (int i = 0; i < 3; i++) {
		struct features f = {0};

		t->nr = 0;
		for (uint64_t page = 0; page < 1024; page += 16)
			add(t, TRACE_FAULT, page, 0)->flags = TRACE_MISSING;
		for (uint64_t at = 0; at < 100; at++)
			add(t, TRACE_READ, at * 16384, 4096);
		assert_int_equal(trace_features(t->e, t->nr, 1024 * bytes[i], bytes[i], &f), 0);
		assert_true(f.value[F_fault_gap_pages] == 16);
		assert_true(f.value[F_sequential_share] == (i ? 1 : 0));
	}
}

/* A size that only a sparse file can have, or no size: there is a result, and soon. */
static void the_largest_file(void **state)
{
	struct trace *t = *state;
	struct features f = {0};

	add(t, TRACE_OPEN, INT64_MAX, 0);
	for (int i = 0; i < 100; i++)
		add(t, TRACE_READ, (uint64_t)i << 50, PAGE);
	add(t, TRACE_READ, 0, INT64_MAX);
	assert_int_equal(name_of(t, INT64_MAX, &f) != PATTERN_NR, 1);
	assert_true(f.known[F_reads]);
	/* Size unknown: a read is as long as requested. */
	t->nr = 0;
	f = (struct features){0};
	add(t, TRACE_READ, 1, INT64_MAX - 1);
	name_of(t, 0, &f);
	assert_true(f.known[F_reads]);
}

static void read_part(struct trace *t, uint32_t actor, uint32_t description, int first, int last)
{
	for (int page = first; page < last; page++) {
		struct trace_event *e = add(t, TRACE_READ, (uint64_t)page * PAGE, PAGE);

		e->actor = actor;
		e->description = description;
	}
}

/* Readers are tasks that read almost the whole file, however often they open it. */
static void who_reads_the_whole_file(void **state)
{
	struct trace *t = *state;
	struct features f = {0};

	add(t, TRACE_OPEN, 100 * PAGE, 0);
	/* One task that opens it again for each pass, and one that reads its beginning. */
	for (uint32_t pass = 0; pass < 3; pass++)
		read_part(t, 0, pass, 0, 100);
	read_part(t, 1, 3, 0, 4);
	name_of(t, 100 * PAGE, &f);
	assert_true(f.value[F_descriptions] == 4);
	assert_true(f.value[F_readers] == 1);

	/* A second task, through the open file of the first, backward and twice. */
	f = (struct features){0};
	for (int page = 99; page > 19; page--)
		read_part(t, 2, 0, page, page + 1);
	read_part(t, 2, 0, 20, 40);
	name_of(t, 100 * PAGE, &f);
	assert_true(f.value[F_readers] == 2);

	/* Four tasks per pass: each reads a quarter, four times. */
	f = (struct features){0};
	t->nr = 1;
	for (uint32_t task = 0; task < 4; task++)
		for (int pass = 0; pass < 4; pass++)
			read_part(t, task, task, 25 * (int)task, 25 * (int)task + 25);
	name_of(t, 100 * PAGE, &f);
	assert_true(f.value[F_readers] == 0);

	/* Without a size, no task read the whole file. */
	f = (struct features){0};
	t->nr = 0;
	read_part(t, 0, 0, 0, 100);
	name_of(t, 0, &f);
	assert_false(f.known[F_readers]);
}

static void nothing(void **state)
{
	struct trace *t = *state;
	struct features f = {0};

	assert_int_equal(name_of(t, 0, &f), PATTERN_unknown);
	for (int i = 0; i < F_NR; i++)
		assert_false(f.known[i]);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	/* A hang is a failure. */
	alarm(60);
	const struct CMUnitTest tests[] = {
		TEST(a_log_that_grows), TEST(a_file_of_many_pages), TEST(touches_of_a_mapping),
		TEST(larger_pages),	TEST(the_largest_file),	    TEST(who_reads_the_whole_file),
		TEST(nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
