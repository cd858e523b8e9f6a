/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: readaheadcheck advisor */
/* The model, compared with recordings of real kernels (tests/vm/readahead,
 * tests/system/readahead.py --save). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "check.h"
#include "patterns.h"

static void every_run_is_exact(const char *name)
{
	const unsigned int *kb;
	struct check_result result;
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), FIXTURES "/readahead/%s.txt", name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(recording_check(f, stdout, &result), 0);
	fclose(f);
	assert_int_equal(result.runs, pattern_count() * pattern_settings(&kb));
	assert_int_equal(result.exact, result.runs);
}

#define RECORDING(function, name)                                                                  \
	static void function(void **state)                                                         \
	{                                                                                          \
		every_run_is_exact(name);                                                          \
	}

RECORDING(ext4_of_5_10, "5.10-ext4")
RECORDING(ext4_of_6_1, "6.1-ext4")
RECORDING(xfs_of_6_1, "6.1-xfs")
RECORDING(xfs_of_6_12, "6.12-xfs")
RECORDING(ext4_of_6_18, "6.18-ext4")
RECORDING(btrfs_of_6_18, "6.18-btrfs")
RECORDING(ext4_of_7_2, "7.2-ext4")

/* A changed word is detected: otherwise every recording would count as exact. */
static void a_difference_is_seen(void **state)
{
	char text[] = "kernel 6.18.1\nfstype ext4\nio_pages 320\npattern seq_1m 128\n0 0+255@0\n";
	char told[1024] = "";
	struct check_result result;
	FILE *in = fmemopen(text, sizeof(text) - 1, "r"), *out = fmemopen(told, sizeof(told), "w");

	assert_int_equal(recording_check(in, out, &result), 0);
	fclose(in);
	fclose(out);
	assert_int_equal(result.runs, 1);
	assert_int_equal(result.exact, 0);
	assert_non_null(strstr(told, "kernel  0+255@0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ext4_of_5_10), cmocka_unit_test(ext4_of_6_1),
		cmocka_unit_test(xfs_of_6_1),	cmocka_unit_test(xfs_of_6_12),
		cmocka_unit_test(ext4_of_6_18), cmocka_unit_test(btrfs_of_6_18),
		cmocka_unit_test(ext4_of_7_2),	cmocka_unit_test(a_difference_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
