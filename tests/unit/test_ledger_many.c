/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account */
/* The ledger of a job with a million files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <malloc.h>
#include <cmocka.h>

#include "test_ledger_util.h"

/* A million files in a thousand directories, and in one: exact totals, bounded memory. */
static void run_million(int directories)
{
	enum { FILES = 1000000, SAMPLE = 20000 };
	struct sample_file *files = calloc(SAMPLE, sizeof(*files));
	char(*paths)[80] = calloc(SAMPLE, sizeof(*paths));
	struct sample s = {.files = files, .nr_files = SAMPLE};
	size_t before;
	size_t after;
	struct ledger *l;
	uint64_t counted = 0;

	assert_non_null(files);
	assert_non_null(paths);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(ledger_new(NULL, &l), 0);
	for (int epoch = 0; epoch < 2; epoch++) {
		for (int first = 0; first < FILES; first += SAMPLE) {
			for (int i = 0; i < SAMPLE; i++) {
				int n = first + i;

				snprintf(paths[i], sizeof(paths[i]),
					 "/data/set/train/class%04d/image-%08d.jpeg",
					 n % directories, n);
				files[i] = (struct sample_file){
					.key = {.ino = (uint64_t)n, .dev = 1},
					.job = JOB_WATCHED,
					.path = paths[i],
				};
				files[i].c[C_misses] = 7;
			}
			ledger_apply(l, &s);
		}
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(ledger_job(l, JOB_WATCHED)->total.c[C_misses], 2L * FILES * 7);
	for (size_t i = 0; i < ledger_nr_directories(l); i++) {
		counted += ledger_directory(l, i)->files;
		assert_false(ledger_directory(l, i)->files_estimated);
	}
	assert_int_equal(counted, FILES);
	assert_int_equal(directory(l, "/data/set/train/class0000")->files, FILES / directories);
	assert_int_equal(directory(l, "/data/set/train/class0000")->total.c[C_misses],
			 2L * FILES / directories * 7);
#ifndef __SANITIZE_ADDRESS__
	print_message("%d directories: %zu MiB\n", directories, (after - before) >> 20);
	assert_true(after - before < 44U << 20);
#else
	assert_true(after >= before);
#endif
	ledger_free(l);
	free(files);
	free(paths);
}

/* A node has hundreds of jobs that read a few files. */
static void test_small_job(void **state)
{
	struct sample_file file = {.key = key_of(1), .job = JOB_WATCHED, .path = "/data/file"};
	struct sample s = {.files = &file, .nr_files = 1};
	struct ledger_limits limits = ledger_limits_default();
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, after;
	struct ledger *l;

	limits.interference = 0;
	assert_int_equal(ledger_new(&limits, &l), 0);
	file.c[C_misses] = 7;
	ledger_apply(l, &s);
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(directory(l, "/data")->total.c[C_misses], 7);
#ifndef __SANITIZE_ADDRESS__
	print_message("%zu bytes\n", after - before);
	assert_true(after > before && after - before < 24 << 10);
#else
	assert_true(after >= before);
#endif
	ledger_free(l);
}

static void test_million_files(void **state)
{
	run_million(1000);
	run_million(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_million_files),
		cmocka_unit_test(test_small_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
