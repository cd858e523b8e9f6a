/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan job account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/collector/machine_parse.h"
#include "cachemon/job/memory_cgroup.h"

static const char meminfo[] = "MemTotal:        8000 kB\n"
			      "MemFree:         1000 kB\n"
			      "MemAvailable:    5000 kB\n"
			      "Buffers:          300 kB\n"
			      "Cached:          4000 kB\n"
			      "SwapCached:         7 kB\n"
			      "SwapTotal:       2000 kB\n"
			      "SwapFree:        1500 kB\n"
			      "Dirty:             20 kB\n"
			      "Writeback:          3 kB\n"
			      "Shmem:            100 kB\n"
			      "WritebackTmp:    9999 kB\n";

static void test_meminfo(void **state)
{
	struct sample_memory m;
	int64_t total, swap;

	machine_parse_meminfo(meminfo, &m, &total, &swap);
	assert_int_equal(total, 8000 * 1024);
	assert_int_equal(swap, 2000 * 1024);
	assert_int_equal(m.free_bytes, 1000 * 1024);
	assert_int_equal(m.available_bytes, 5000 * 1024);
	assert_int_equal(m.file_cached_bytes, 4200 * 1024);
	assert_int_equal(m.dirty_bytes, 23 * 1024);
	assert_int_equal(m.swap_free_bytes, 1500 * 1024);
}

/* Missing values are unknown, and so is a sum with a missing part. */
static void test_meminfo_of_less(void **state)
{
	struct sample_memory m;
	int64_t total, swap;

	machine_parse_meminfo(
		"MemTotal: 8 kB\nCached: 4 kB\nBuffers: 1 kB\nDirty: 5 kB\nMemFree: x\n"
		"SwapFree: 99999999999999999999 kB\nMemAvailable: 3",
		&m, &total, &swap);
	assert_int_equal(total, 8 * 1024);
	assert_int_equal(swap, MACHINE_UNKNOWN);
	assert_int_equal(m.free_bytes, MACHINE_UNKNOWN);
	assert_int_equal(m.available_bytes, MACHINE_UNKNOWN);
	assert_int_equal(m.file_cached_bytes, MACHINE_UNKNOWN);
	assert_int_equal(m.dirty_bytes, MACHINE_UNKNOWN);
	assert_int_equal(m.swap_free_bytes, MACHINE_UNKNOWN);
	machine_parse_meminfo("", &m, &total, &swap);
	assert_int_equal(total, MACHINE_UNKNOWN);
}

static void test_numbers(void **state)
{
	assert_int_equal(machine_parse_number("128\n"), 128);
	assert_int_equal(machine_parse_number("0"), 0);
	assert_int_equal(machine_parse_number("max\n"), MACHINE_UNKNOWN);
	assert_int_equal(machine_parse_number("12x\n"), MACHINE_UNKNOWN);
	assert_int_equal(machine_parse_number("-1\n"), MACHINE_UNKNOWN);
	assert_int_equal(machine_parse_number(""), MACHINE_UNKNOWN);
	assert_int_equal(machine_parse_number("99999999999999999999\n"), MACHINE_UNKNOWN);
}

static void test_lists(void **state)
{
	assert_int_equal(machine_parse_list("0\n"), 1);
	assert_int_equal(machine_parse_list("0-3\n"), 4);
	assert_int_equal(machine_parse_list("0-3,8,10-11\n"), 7);
	assert_int_equal(machine_parse_list("3-0\n"), MACHINE_UNKNOWN);
	assert_int_equal(machine_parse_list("\n"), MACHINE_UNKNOWN);
	assert_int_equal(machine_parse_list("0,\n"), MACHINE_UNKNOWN);
}

static void test_words(void **state)
{
	char word[8];

	assert_int_equal(machine_parse_mglru("0x0007\n"), 1);
	assert_int_equal(machine_parse_mglru("0x0000\n"), 0);
	assert_int_equal(machine_parse_mglru("\n"), MACHINE_UNKNOWN);
	machine_parse_chosen("always [madvise] never\n", word, sizeof(word));
	assert_string_equal(word, "madvise");
	machine_parse_chosen("always madvise never\n", word, sizeof(word));
	assert_string_equal(word, "");
	machine_parse_chosen("[muchtoolong]", word, sizeof(word));
	assert_string_equal(word, "");
	machine_parse_device_name("MAJOR=8\nMINOR=1\nDEVNAME=sda1\nDEVTYPE=partition\n", word,
				  sizeof(word));
	assert_string_equal(word, "sda1");
	machine_parse_device_name("MAJOR=8\n", word, sizeof(word));
	assert_string_equal(word, "");
}

static void test_stat(void **state)
{
	static const char text[] = "cache 5\nfile_mapped 7\nfile 9\ntotal_cache 11\n";

	assert_int_equal(memory_cgroup_stat(text, "file"), 9);
	assert_int_equal(memory_cgroup_stat(text, "total_cache"), 11);
	assert_int_equal(memory_cgroup_stat(text, "total"), MACHINE_UNKNOWN);
}

static void test_network(void **state)
{
	assert_true(machine_is_network("nfs4"));
	assert_true(machine_is_network("fuse.sshfs"));
	assert_false(machine_is_network("ext4"));
	assert_false(machine_is_network("fuse"));
	assert_false(machine_is_network(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meminfo), cmocka_unit_test(test_meminfo_of_less),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_words),	cmocka_unit_test(test_stat),
		cmocka_unit_test(test_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
