/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* The machine's facts from samples in the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_store_fixture.h"

static struct sample_device disk = {.dev = 259 << 20 | 3,
				    .name = "nvme0n1p3",
				    .rotational = 0,
				    .read_ahead_kb = 128,
				    .max_sectors_kb = 1280,
				    .io_pages = 320};
static struct sample_machine machine;

static void machine_init(void)
{
	disk.read_ahead_kb = 128;
	machine = (struct sample_machine){
		.total_bytes = 1 << 30,
		.swap_bytes = MACHINE_UNKNOWN,
		.mglru = 1,
		.nr_cpus = 2,
		.numa_nodes = 1,
		.thp = "madvise",
		.memory = {1, 2, 3, MACHINE_UNKNOWN, 5},
		.limit = {100, 90, 80, 2, "/sys/fs/cgroup/a"},
		.devices = &disk,
		.nr_devices = 1,
	};
}

static void write_machine(struct fixture *f, uint64_t n)
{
	struct test_sample t;

	test_sample(&t, n, 20);
	t.s.machine = &machine;
	ledger_apply(f->l, &t.s);
	if (store_write(f->st, f->l, &t.s, &f->err))
		fail_msg("%s", f->err.text);
}

static void test_rows(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	const char *db = f->scratch.db;

	machine_init();
	begin(f, &run, NULL);
	write_machine(f, 0);
	assert_int_equal(ask(db, "SELECT memory_total_bytes FROM machine"), 1 << 30);
	assert_int_equal(ask(db, "SELECT swap_bytes FROM machine"), -1);
	assert_int_equal(ask(db, "SELECT thp = 'madvise' AND mglru AND nr_cpus = 2 FROM machine"),
			 1);
	assert_int_equal(ask(db, "SELECT free_bytes FROM machine_interval"), 1);
	assert_int_equal(ask(db, "SELECT dirty_bytes FROM machine_interval"), -1);
	assert_int_equal(ask(db, "SELECT job_file_bytes FROM machine_interval"), 80);
	assert_int_equal(ask(db, "SELECT oom_kills FROM job_limit"), 2);
	assert_int_equal(ask(db, "SELECT limit_bytes FROM job_limit JOIN job ON job.id = job_id "
				 "WHERE slot = 1 AND at = CAST('/sys/fs/cgroup/a' AS BLOB)"),
			 100);
	assert_int_equal(ask(db, "SELECT io_pages FROM device WHERE name = 'nvme0n1p3' AND "
				 "dev_major = 259 AND dev_minor = 3"),
			 320);
	assert_true(is_sound(db));
}

/* The first values are in device, changes in a table of their own; the limit is that of the end. */
static void test_changes(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	const char *db = f->scratch.db;

	machine_init();
	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 2; n++)
		write_machine(f, n);
	assert_int_equal(ask(db, "SELECT count(*) FROM device_change"), 0);
	disk.read_ahead_kb = 1024;
	machine.limit.limit_bytes = MACHINE_UNKNOWN;
	for (uint64_t n = 2; n < 4; n++)
		write_machine(f, n);
	disk.read_ahead_kb = MACHINE_UNKNOWN;
	write_machine(f, 4);
	disk.read_ahead_kb = 128;
	write_machine(f, 5);
	assert_int_equal(ask(db, "SELECT read_ahead_kb FROM device"), 128);
	assert_int_equal(ask(db, "SELECT count(*) FROM device_change"), 2);
	assert_int_equal(ask(db, "SELECT read_ahead_kb FROM device_change WHERE seen_ns = "
				 "3000000000"),
			 1024);
	assert_int_equal(ask(db, "SELECT read_ahead_kb FROM device_change WHERE seen_ns = "
				 "6000000000"),
			 128);
	assert_int_equal(ask(db, "SELECT limit_bytes FROM job_limit"), -1);
	assert_int_equal(ask(db, "SELECT count(*) FROM machine"), 1);
}

/* A merged row has the free memory at the end of its last interval. */
static void test_merged(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	const char *db = f->scratch.db;

	machine_init();
	begin(f, &run, NULL);
	for (uint64_t n = 0; n < 1100; n++) {
		machine.memory.free_bytes = (int64_t)n;
		write_machine(f, n);
	}
	assert_true(ask(db, "SELECT count(*) FROM interval WHERE rolled = 60") > 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM interval LEFT JOIN machine_interval ON "
				 "interval_id = id WHERE free_bytes IS NOT "
				 "(start_ns + duration_ns) / 1000000000 - 1"),
			 0);
	assert_true(is_sound(db));
}

/* A sample without these facts adds no row. */
static void test_not_looked_at(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();

	begin(f, &run, NULL);
	write_ok(f, 0, 20);
	assert_int_equal(ask(f->scratch.db, "SELECT (SELECT count(*) FROM machine) + "
					    "(SELECT count(*) FROM machine_interval) + "
					    "(SELECT count(*) FROM job_limit)"),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_rows),
		STORE_TEST(test_changes),
		STORE_TEST(test_merged),
		STORE_TEST(test_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
