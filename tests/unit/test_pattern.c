/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pattern/accesses.h"
#include "pattern/pattern.h"
#include "pattern/reuse.h"

enum { PAGE = 4096, FILE_PAGES = 1024, MOST = 40000 };

/* What a program reads, access by access. */
struct made {
	struct access a[MOST];
	size_t nr;
	uint64_t seed;
};

static uint64_t next(struct made *m)
{
	uint64_t z = m->seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void add(struct made *m, uint64_t pos, uint64_t len, uint32_t description)
{
	assert_true(m->nr < MOST);
	m->a[m->nr++] = (struct access){pos, len, description};
}

static void permute(struct made *m, uint32_t *order, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	for (uint32_t i = nr; i > 1; i--) {
		uint32_t k = (uint32_t)(next(m) % i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[k];
		order[k] = swap;
	}
}

static void make_sequential(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES / 2 * PAGE; pos += 16384)
		add(m, pos, 16384, 0);
}

static void make_scan(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES * PAGE; pos += 20000)
		add(m, pos, 20000, 0);
}

static void make_small_reads(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES * PAGE / 2; pos += 512)
		add(m, pos, 512, 0);
}

static void make_reread(struct made *m)
{
	for (uint32_t epoch = 0; epoch < 3; epoch++)
		for (uint64_t pos = 0; pos < FILE_PAGES * PAGE; pos += 65536)
			add(m, pos, 65536, epoch);
}

static void make_strided(struct made *m)
{
	for (uint64_t pos = 0; pos < FILE_PAGES * PAGE; pos += 65536)
		add(m, pos, 8192, 0);
}

static void make_strided_runs(struct made *m)
{
	for (uint64_t pos = 0; pos < (uint64_t)64 << 20; pos += 1 << 20)
		for (uint64_t at = 0; at < 128 << 10; at += 16384)
			add(m, pos + at, 16384, 0);
}

static void make_backward(struct made *m)
{
	for (uint64_t page = FILE_PAGES; page > 0; page--)
		add(m, (page - 1) * PAGE, PAGE, 0);
}

static void make_random(struct made *m)
{
	for (int i = 0; i < 600; i++)
		add(m, next(m) % FILE_PAGES * PAGE, PAGE, 0);
}

/* One descriptor a read, as a loader that opens for each record. */
static void make_random_opened(struct made *m)
{
	for (uint32_t i = 0; i < 600; i++)
		add(m, next(m) % FILE_PAGES * PAGE, PAGE, i);
}

static void make_records(struct made *m)
{
	for (int i = 0; i < 200; i++) {
		uint64_t pos = next(m) % (FILE_PAGES / 32) * 32 * PAGE;

		for (int k = 0; k < 4; k++)
			add(m, pos + (uint64_t)k * 8 * PAGE, (uint64_t)8 * PAGE, 0);
	}
}

static void make_shuffled(struct made *m)
{
	uint32_t order[FILE_PAGES / 8];

	for (int epoch = 0; epoch < 3; epoch++) {
		permute(m, order, FILE_PAGES / 8);
		for (int i = 0; i < FILE_PAGES / 8; i++)
			add(m, (uint64_t)order[i] * 8 * PAGE, (uint64_t)8 * PAGE, 0);
	}
}

/* A MiB at a time, by 16 KiB: hardly a step is a jump. */
static void make_large_records(struct made *m)
{
	uint32_t order[64];

	for (int epoch = 0; epoch < 2; epoch++) {
		permute(m, order, 64);
		for (int i = 0; i < 64; i++)
			for (uint64_t at = 0; at < 16; at++)
				add(m, ((uint64_t)order[i] * 16 + at) * PAGE, PAGE, 0);
	}
}

static void make_one_shuffled(struct made *m)
{
	uint32_t order[FILE_PAGES];

	permute(m, order, FILE_PAGES);
	for (int i = 0; i < FILE_PAGES; i++)
		add(m, (uint64_t)order[i] * PAGE, PAGE, 0);
}

/* The same permutation in each epoch. */
static void make_fixed_order(struct made *m)
{
	uint32_t order[FILE_PAGES];

	permute(m, order, FILE_PAGES);
	for (int epoch = 0; epoch < 3; epoch++)
		for (int i = 0; i < FILE_PAGES; i++)
			add(m, (uint64_t)order[i] * PAGE, PAGE, 0);
}

static void make_interleaved(struct made *m)
{
	for (uint64_t i = 0; i < FILE_PAGES / 4; i++)
		for (uint64_t stream = 0; stream < 3; stream++)
			add(m, (stream * FILE_PAGES / 3 + i) * PAGE, PAGE, 0);
}

/* Streams with a description each are each sequential. */
static void make_sharded(struct made *m)
{
	for (uint64_t i = 0; i < FILE_PAGES / 4; i++)
		for (uint32_t stream = 0; stream < 3; stream++)
			add(m, ((uint64_t)stream * FILE_PAGES / 3 + i) * PAGE, PAGE, stream);
}

static void make_nothing(struct made *m)
{
	(void)m;
}

/* All pages of all reads as references, in order; nothing is sampled. */
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

	assert_int_equal(accesses_features(m->a, m->nr, &f), 0);
	reuse_of(m, &f);
	return f;
}

static void expect(const struct pattern *p, enum pattern_name want, const char *what)
{
	if (p->name != want)
		fail_msg("%s: expected %s, got %s (%.2f)", what, pattern_name(want),
			 pattern_name(p->name), p->confidence);
	if (want == PATTERN_unknown)
		assert_true(p->confidence == 0);
	else
		assert_true(p->confidence > 0 && p->confidence <= 1 && p->nr_decided > 0);
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
		/* Streams that run backward beside each other have no name of their own. */
		if (reads[i].reversed == PATTERN_mixed)
			assert_true(p.name != PATTERN_interleaved);
		else
			expect(&p, reads[i].reversed, reads[i].what);
		free(m);
	}
}

/* Ten times as much of everything is the same pattern. */
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

/* A sample of one page in 8 alone, without a trace. */
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
		assert_int_equal(faults_features(m->a, m->nr, &f), 0);
		p = pattern_of_file(&f);
		expect(&p, table[i].name, table[i].what);
		free(m);
	}
}

struct figure {
	enum feature which;
	double value;
};

static struct features known(const struct figure *figures)
{
	struct features f = {0};

	for (int i = 0; figures[i].which != F_NR; i++)
		features_set(&f, figures[i].which, figures[i].value);
	return f;
}

/* Counters alone name less, and never surely. */
static void names_of_counters(void **state)
{
	static const struct {
		struct figure figures[8];
		enum pattern_name name;
	} table[] = {
		{{{F_direct_share, 1}, {F_NR, 0}}, PATTERN_direct},
		{{{F_fault_share, 1}, {F_async_share, 0.7}, {F_NR, 0}}, PATTERN_mmap_sequential},
		{{{F_fault_share, 1}, {F_async_share, 0}, {F_NR, 0}}, PATTERN_mmap_random},
		{{{F_fault_share, 1}, {F_NR, 0}}, PATTERN_unknown},
		{{{F_prefetch_coverage, 0.98},
		  {F_async_share, 0.9},
		  {F_lookups_per_page, 1},
		  {F_NR, 0}},
		 PATTERN_scan_once},
		{{{F_prefetch_coverage, 0.98},
		  {F_async_share, 0.9},
		  {F_lookups_per_page, 3},
		  {F_NR, 0}},
		 PATTERN_reread},
		{{{F_prefetch_coverage, 0.98}, {F_async_share, 0.9}, {F_NR, 0}},
		 PATTERN_sequential},
		{{{F_prefetch_coverage, 0.01}, {F_bytes_per_call, 4096}, {F_NR, 0}},
		 PATTERN_random},
		{{{F_lookups_per_page, 5}, {F_NR, 0}}, PATTERN_unknown},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct features f = known(table[i].figures);
		struct pattern p = pattern_of_file(&f);

		expect(&p, table[i].name, "counters");
		assert_true(table[i].name == PATTERN_direct || p.confidence <= 0.5);
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

static void directories(void **state)
{
	static const struct pattern_part same[] = {{PATTERN_scan_once, 0.9, 10},
						   {PATTERN_scan_once, 0.7, 10}};
	static const struct pattern_part little[] = {
		{PATTERN_unknown, 0, 10}, {PATTERN_unknown, 0, 5}, {PATTERN_strided, 0.9, 10}};
	static const struct pattern_part unlike[] = {{PATTERN_scan_once, 0.9, 10},
						     {PATTERN_strided, 0.9, 10}};
	static const struct {
		const char *what;
		struct figure figures[6];
		const struct pattern_part *parts;
		size_t nr;
		enum pattern_name name;
	} table[] = {
		{"alike", {{F_files, 2}, {F_NR, 0}}, same, 2, PATTERN_scan_once},
		{"unlike", {{F_files, 2}, {F_NR, 0}}, unlike, 2, PATTERN_mixed},
		{"nothing known", {{F_NR, 0}}, NULL, 0, PATTERN_unknown},
		{"little known", {{F_files, 3}, {F_NR, 0}}, little, 3, PATTERN_unknown},
		{"most known", {{F_files, 2}, {F_NR, 0}}, &little[1], 2, PATTERN_strided},
		{"small files",
		 {{F_files, 500}, {F_pages_per_file, 2}, {F_NR, 0}},
		 same,
		 2,
		 PATTERN_small_files},
		{"small files, shuffled",
		 {{F_files, 500},
		  {F_pages_per_file, 2},
		  {F_epochs, 3},
		  {F_order_similarity, 0.05},
		  {F_NR, 0}},
		 same,
		 2,
		 PATTERN_shuffled_epoch},
		{"files in the same order again",
		 {{F_files, 8}, {F_epochs, 3}, {F_order_similarity, 0.99}, {F_NR, 0}},
		 same,
		 2,
		 PATTERN_reread},
		{"strided files in the same order again",
		 {{F_files, 8}, {F_epochs, 3}, {F_order_similarity, 0.99}, {F_NR, 0}},
		 &unlike[1],
		 1,
		 PATTERN_strided},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct features f = known(table[i].figures);
		struct pattern p = pattern_of_directory(&f, table[i].parts, table[i].nr);

		expect(&p, table[i].name, table[i].what);
	}
}

/* By hand: 3 pages, twice, the second time backward; then what is no epoch. */
static void epochs_by_hand(void **state)
{
	static const uint32_t pages[] = {0, 0, 1, 2, 2, 2, 1, 0};
	static const uint32_t forth[] = {0, 1, 2, 0, 1, 2};
	static const int64_t lookups[] = {0, 10, 20, 30, 40, 50};
	struct reuse_input in = {.page = pages, .nr = 8, .nr_pages = 3, .rate = 1};
	struct features f = {0};

	(void)state;
	assert_int_equal(reuse_features(&in, &f), 0);
	/* 0 1 2 1 0: page 2 is read once on end. */
	assert_true(fabs(f.value[F_reuse] - 5.0 / 3) < 1e-12);
	assert_true(fabs(f.value[F_order_similarity] + 1) < 1e-12);
	f = (struct features){0};
	in = (struct reuse_input){
		.page = forth, .lookup = lookups, .nr = 6, .nr_pages = 3, .rate = 1};
	assert_int_equal(reuse_features(&in, &f), 0);
	assert_true(f.value[F_epochs] == 2);
	assert_true(f.value[F_epoch_separation] == 1);
	assert_true(f.value[F_order_similarity] == 1);
	assert_true(f.value[F_period_lookups] == 30);
	assert_false(f.known[F_period_s]);
	assert_false(f.known[F_coverage]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_reads),     cmocka_unit_test(reversed_order),
		cmocka_unit_test(scaled_counts),      cmocka_unit_test(names_of_samples),
		cmocka_unit_test(mappings),	      cmocka_unit_test(names_of_counters),
		cmocka_unit_test(follows_what_grows), cmocka_unit_test(directories),
		cmocka_unit_test(epochs_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
