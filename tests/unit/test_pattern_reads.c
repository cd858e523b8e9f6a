/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
/* The patterns of reads from their accesses and references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect_pattern.h"
#include "made_reads.h"
#include "advisor/pattern/reuse.h"

/* All pages of all reads as references, in order, unsampled. */
static void reuse_of(const struct made *m, struct features *f)
{
	static uint32_t pages[MOST * 20];
	static int64_t lookups[MOST * 20];
	static uint64_t index[FILE_PAGES + 8];
	struct reuse_input in = {.page = pages,
				 .lookup = lookups,
				 .index = index,
				 .nr_pages = FILE_PAGES + 8,
				 .rate = 1,
				 .size_pages = FILE_PAGES};

	for (size_t i = 0; i < FILE_PAGES + 8; i++)
		index[i] = i;
	for (size_t i = 0; i < m->nr; i++)
		for (uint64_t p = m->a[i].pos / PAGE;
		     p <= (m->a[i].pos + m->a[i].len - 1) / PAGE && p < FILE_PAGES; p++) {
			lookups[in.nr] = (int64_t)in.nr;
			pages[in.nr++] = (uint32_t)p;
		}
	assert_int_equal(reuse_features(&in, f), 0);
}

static struct made *make(void (*how)(struct made *m))
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->seed = 42;
	how(m);
	return m;
}

static struct features features_of(const struct made *m)
{
	struct features f = {0};

	assert_int_equal(accesses_features(m->a, m->nr, PAGE, &f), 0);
	reuse_of(m, &f);
	return f;
}

static const struct {
	const char *what;
	void (*how)(struct made *m);
	enum pattern_name name;
	enum pattern_name reversed; /* the same accesses from the last to the first */
} reads[] = {
	{"half a file in order", make_sequential, PATTERN_sequential, PATTERN_backward},
	{"a file once", make_scan, PATTERN_scan_once, PATTERN_backward},
	{"512 bytes at a time", make_small_reads, PATTERN_sequential, PATTERN_backward},
	{"three epochs in order", make_reread, PATTERN_reread, PATTERN_backward},
	{"8 of 64 KiB", make_strided, PATTERN_strided, PATTERN_backward},
	{"backward", make_backward, PATTERN_backward, PATTERN_scan_once},
	{"random", make_random, PATTERN_random, PATTERN_random},
	{"random, a descriptor each", make_random_opened, PATTERN_random, PATTERN_random},
	{"records of four reads", make_records, PATTERN_random, PATTERN_backward},
	{"128 of 1024 KiB, 16 at a time", make_strided_runs, PATTERN_strided, PATTERN_backward},
	{"shuffled epochs", make_shuffled, PATTERN_shuffled_epoch, PATTERN_shuffled_epoch},
	{"shuffled epochs of large records", make_large_records, PATTERN_shuffled_epoch,
	 PATTERN_backward},
	{"one shuffled epoch", make_one_shuffled, PATTERN_shuffled_epoch, PATTERN_shuffled_epoch},
	{"one order, three times", make_fixed_order, PATTERN_reread, PATTERN_reread},
	{"three streams, one descriptor", make_interleaved, PATTERN_interleaved, PATTERN_mixed},
	{"three streams, three descriptors", make_sharded, PATTERN_sequential, PATTERN_backward},
	{"eight streams, one descriptor", make_eight_streams, PATTERN_interleaved, PATTERN_mixed},
	{"columns of 64 rows", make_columns, PATTERN_strided, PATTERN_backward},
	{"nothing", make_nothing, PATTERN_unknown, PATTERN_unknown},
};

enum { NR_READS = sizeof(reads) / sizeof(reads[0]) };

static void names_of_reads(void **state)
{
	(void)state;
	for (int i = 0; i < NR_READS; i++) {
		struct made *m = make(reads[i].how);
		struct features f = features_of(m);
		struct pattern p = pattern_of_file(&f);

		expect(&p, reads[i].name, reads[i].what);
		free(m);
	}
}

static void reversed_order(void **state)
{
	(void)state;
	for (int i = 0; i < NR_READS; i++) {
		struct made *m = make(reads[i].how);
		struct features f;
		struct pattern p;

		for (size_t k = 0; k < m->nr / 2; k++) {
			struct access swap = m->a[k];

			m->a[k] = m->a[m->nr - 1 - k];
			m->a[m->nr - 1 - k] = swap;
		}
		f = features_of(m);
		p = pattern_of_file(&f);
		/* Parallel streams that run backward have no name of their own. */
		if (reads[i].reversed == PATTERN_mixed)
			assert_true(p.name != PATTERN_interleaved);
		else
			expect(&p, reads[i].reversed, reads[i].what);
		free(m);
	}
}

/* Scaling everything tenfold keeps the pattern. */
static void scaled_counts(void **state)
{
	static const enum feature counts[] = {F_reads,	      F_faults,		F_files,
					      F_descriptions, F_period_lookups, F_period_s};

	(void)state;
	for (int i = 0; i < NR_READS; i++) {
		struct made *m = make(reads[i].how);
		struct features f = features_of(m);
		struct pattern p;

		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			f.value[counts[k]] *= 10;
		p = pattern_of_file(&f);
		expect(&p, reads[i].name, reads[i].what);
		free(m);
	}
}

/* Only a sample of one page in 8, without a trace. */
static void names_of_samples(void **state)
{
	static const struct {
		int read;
		enum pattern_name name;
	} seen[] = {
		{0, PATTERN_sequential},      {1, PATTERN_scan_once},
		{3, PATTERN_reread},	      {5, PATTERN_backward},
		{6, PATTERN_random},	      {10, PATTERN_shuffled_epoch},
		{11, PATTERN_shuffled_epoch}, {12, PATTERN_shuffled_epoch},
		{13, PATTERN_reread},	      {14, PATTERN_interleaved},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		static uint32_t pages[MOST * 20];
		static uint64_t index[FILE_PAGES];
		struct made *m = make(reads[seen[i].read].how);
		struct reuse_input in = {
			.page = pages, .index = index, .rate = 0.125, .size_pages = FILE_PAGES};
		uint32_t number[FILE_PAGES];
		struct features f = {0};
		struct pattern p;

		for (uint32_t k = 0; k < FILE_PAGES; k++) {
			number[k] = UINT32_MAX;
			if ((k * 2654435761U) >> 29 == 0) {
				number[k] = (uint32_t)in.nr_pages;
				index[in.nr_pages++] = k;
			}
		}
		for (size_t k = 0; k < m->nr; k++)
			for (uint64_t q = m->a[k].pos / PAGE;
			     q <= (m->a[k].pos + m->a[k].len - 1) / PAGE && q < FILE_PAGES; q++)
				if (number[q] != UINT32_MAX)
					pages[in.nr++] = number[q];
		assert_int_equal(reuse_features(&in, &f), 0);
		p = pattern_of_file(&f);
		expect(&p, seen[i].name, reads[seen[i].read].what);
		free(m);
	}
}

static void mappings(void **state)
{
	static const struct {
		const char *what;
		uint64_t step_pages;
		int way; /* 1 up, -1 down, 0 any */
		enum pattern_name name;
	} table[] = {
		{"every 16th page faults", 16, 1, PATTERN_mmap_sequential},
		{"every page faults", 1, 1, PATTERN_mmap_sequential},
		{"a stride of 20 pages", 20, 1, PATTERN_strided},
		{"a stride of 600 pages", 600, 1, PATTERN_strided},
		{"backward", 16, -1, PATTERN_backward},
		{"random", 0, 0, PATTERN_mmap_random},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct made *m = make(make_nothing);
		struct features f = {0};
		struct pattern p;

		for (uint64_t k = 0; k < 200; k++) {
			uint64_t page = table[i].way ? k * table[i].step_pages : next(m) % 100000;

			if (table[i].way < 0)
				page = (200 - k) * table[i].step_pages;
			add(m, page * PAGE, PAGE, 0);
		}
		features_set(&f, F_fault_share, 1);
		assert_int_equal(faults_features(m->a, m->nr, PAGE, &f), 0);
		p = pattern_of_file(&f);
		expect(&p, table[i].name, table[i].what);
		free(m);
	}
}

static void follows_what_grows(void **state)
{
	struct made *m = make(make_scan);
	struct features f = features_of(m);
	struct pattern p;

	(void)state;
	features_set(&f, F_growth_share, 0.9);
	p = pattern_of_file(&f);
	expect(&p, PATTERN_append_follow, "a log that is followed");
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_reads), cmocka_unit_test(reversed_order),
		cmocka_unit_test(scaled_counts),  cmocka_unit_test(names_of_samples),
		cmocka_unit_test(mappings),	  cmocka_unit_test(follows_what_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
