/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
/* The patterns of files from counters alone, and of directories from their files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect_pattern.h"

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

/* Counters alone give fewer names, with less confidence. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_counters),
		cmocka_unit_test(directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
