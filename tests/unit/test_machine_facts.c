/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan job account access */
/* Fake machines below a root: constants, devices, the limit of a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/collector/machine_facts.h"
#include "scratch.h"

enum { PID = 77 };
#define NO_LIMIT "9223372036854771712\n"

struct world {
	struct scratch s;
	struct machine_facts *f;
};

static int setup(void **state)
{
	static struct world w;
	char text[4 * PATH_MAX];

	scratch_new(&w.s);
	w.f = NULL;
	snprintf(text, sizeof(text),
		 "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
		 "2 1 0:30 / %s/memory rw - cgroup cgroup rw,memory\n"
		 "3 1 0:32 / %s/unified rw - cgroup2 cgroup2 rw\n",
		 w.s.dir, w.s.dir);
	scratch_write(&w.s, "proc/self/mountinfo", text);
	*state = &w;
	return 0;
}

static void read_mounts(struct world *w, struct mountinfo *ret)
{
	char path[PATH_MAX];

	assert_int_equal(mountinfo_read(scratch_path(&w->s, "proc/self/mountinfo", path), ret), 0);
}

static int of_process(struct world *w)
{
	struct mountinfo mounts;
	int r;

	read_mounts(w, &mounts);
	r = machine_facts_of_process(w->f, &mounts, PID);
	mountinfo_free(&mounts);
	return r;
}

static int teardown(void **state)
{
	struct world *w = *state;

	machine_facts_free(w->f);
	scratch_free(&w->s);
	return 0;
}

static const struct sample_machine *take(struct world *w, const struct sample_filesystem *fs,
					 size_t nr)
{
	if (!w->f)
		assert_int_equal(machine_facts_new(w->s.dir, 4096, &w->f), 0);
	return machine_facts_take(w->f, fs, nr);
}

static void test_nothing_is_told(void **state)
{
	const struct sample_machine *m = take(*state, NULL, 0);

	assert_int_equal(m->total_bytes, MACHINE_UNKNOWN);
	assert_int_equal(m->mglru, MACHINE_UNKNOWN);
	assert_int_equal(m->nr_cpus, MACHINE_UNKNOWN);
	assert_int_equal(m->numa_nodes, MACHINE_UNKNOWN);
	assert_string_equal(m->thp, "");
	assert_int_equal(m->memory.free_bytes, MACHINE_UNKNOWN);
	assert_int_equal(m->limit.limit_bytes, MACHINE_UNKNOWN);
	assert_string_equal(m->limit.at, "");
	assert_int_equal(m->nr_devices, 0);
}

static void test_constants(void **state)
{
	struct world *w = *state;
	const struct sample_machine *m;

	scratch_write(&w->s, "proc/meminfo", "MemTotal: 16 kB\nSwapTotal: 0 kB\nMemFree: 4 kB\n");
	scratch_write(&w->s, "sys/devices/system/cpu/online", "0-1\n");
	scratch_write(&w->s, "sys/devices/system/node/online", "0\n");
	scratch_write(&w->s, "sys/kernel/mm/transparent_hugepage/enabled", "[always] never\n");
	m = take(w, NULL, 0);
	assert_int_equal(m->total_bytes, 16384);
	assert_int_equal(m->swap_bytes, 0);
	assert_int_equal(m->nr_cpus, 2);
	assert_int_equal(m->numa_nodes, 1);
	assert_string_equal(m->thp, "always");
	/* No such file: this kernel has two LRU lists. */
	assert_int_equal(m->mglru, 0);
	assert_int_equal(m->memory.free_bytes, 4096);
	scratch_write(&w->s, "proc/meminfo", "MemTotal: 16 kB\nMemFree: 8 kB\n");
	assert_int_equal(take(w, NULL, 0)->memory.free_bytes, 8192);
}

static void test_generations(void **state)
{
	struct world *w = *state;

	scratch_write(&w->s, "sys/kernel/mm/lru_gen/enabled", "0x0007\n");
	assert_int_equal(take(w, NULL, 0)->mglru, 1);
}

/* A disk, one of its partitions, and a network filesystem. */
static void test_devices(void **state)
{
	static const struct sample_filesystem list[] = {
		{.dev = 8 << 20 | 0, .type = "ext4"},
		{.dev = 8 << 20 | 1, .type = "xfs"},
		{.dev = 45, .type = "nfs4"},
		{.dev = 46, .type = "btrfs"},
	};
	struct world *w = *state;
	const struct sample_machine *m;

	scratch_write(&w->s, "sys/devices/sda/uevent", "DEVNAME=sda\n");
	scratch_write(&w->s, "sys/devices/sda/queue/rotational", "1\n");
	scratch_write(&w->s, "sys/devices/sda/queue/max_sectors_kb", "1280\n");
	scratch_write(&w->s, "sys/devices/sda/queue/read_ahead_kb", "256\n");
	scratch_write(&w->s, "sys/devices/sda/sda1/uevent", "DEVNAME=sda1\n");
	scratch_symlink(&w->s, "sys/dev/block/8:0", "../../devices/sda");
	scratch_symlink(&w->s, "sys/dev/block/8:1", "../../devices/sda/sda1");
	scratch_write(&w->s, "sys/class/bdi/8:0/read_ahead_kb", "512\n");
	scratch_write(&w->s, "sys/class/bdi/0:45/read_ahead_kb", "128\n");
	m = take(w, list, 4);
	assert_int_equal(m->nr_devices, 4);
	assert_string_equal(m->devices[0].name, "sda");
	assert_int_equal(m->devices[0].rotational, 1);
	assert_int_equal(m->devices[0].read_ahead_kb, 512);
	assert_int_equal(m->devices[0].io_pages, 320);
	assert_string_equal(m->devices[1].name, "sda1");
	assert_int_equal(m->devices[1].rotational, 1);
	assert_int_equal(m->devices[1].read_ahead_kb, 256);
	assert_int_equal(m->devices[1].max_sectors_kb, 1280);
	assert_false(m->devices[1].network);
	assert_string_equal(m->devices[2].name, "");
	assert_int_equal(m->devices[2].read_ahead_kb, 128);
	assert_int_equal(m->devices[2].rotational, MACHINE_UNKNOWN);
	assert_int_equal(m->devices[2].io_pages, MACHINE_UNKNOWN);
	assert_true(m->devices[2].network);
	assert_int_equal(m->devices[3].read_ahead_kb, MACHINE_UNKNOWN);
}

/* Reads since the start of the run; for a device that was added later, all of its reads. A device
 * that counts less than before is another device. */
static void test_reads_of_devices(void **state)
{
	static const struct sample_filesystem list[] = {
		{.dev = 8 << 20 | 1, .type = "ext4"},
		{.dev = 7 << 20 | 12, .type = "xfs"},
		{.dev = 253 << 20 | 0, .type = "xfs"},
		{.dev = 45, .type = "nfs4"},
	};
	struct world *w = *state;
	const struct sample_machine *m;

	scratch_write(&w->s, "proc/diskstats",
		      "   8       0 sda 90 1 90 90 0 0 0 0 0 0 0\n"
		      "   8       1 sda1 100 7 4096 250 5 6 7 8 0 9 10 0 0 0 0 0 0\n"
		      " 253       0 dm-0 50 0 400 20 0 0 0 0 0 0 0\n");
	take(w, NULL, 0);
	/* Only the files of the job's devices are read: no list of all, and none of major 0. */
	scratch_write(&w->s, "proc/diskstats", "");
	scratch_write(&w->s, "sys/dev/block/7:12/stat", "       3        0       24        9\n");
	scratch_write(
		&w->s, "sys/dev/block/8:1/stat",
		"4294967400        7     9999     1250        5        6        7        8\n");
	scratch_write(&w->s, "sys/dev/block/253:0/stat", "      40        0      400       30\n");
	scratch_write(&w->s, "sys/dev/block/0:45/stat", "       5        0       40        6\n");
	m = take(w, list, 4);
	assert_int_equal(m->devices[0].reads, 4294967300);
	assert_int_equal(m->devices[0].read_ms, 1000);
	assert_int_equal(m->devices[1].reads, 3);
	assert_int_equal(m->devices[1].read_ms, 9);
	assert_int_equal(m->devices[2].reads, MACHINE_UNKNOWN);
	assert_int_equal(m->devices[2].read_ms, MACHINE_UNKNOWN);
	assert_int_equal(m->devices[3].reads, MACHINE_UNKNOWN);
}

static void limit_is(struct world *w, int64_t limit, const char *at, int64_t usage, int64_t file)
{
	const struct sample_limit *l = &take(w, NULL, 0)->limit;
	char dir[PATH_MAX];

	assert_int_equal(l->limit_bytes, limit);
	assert_string_equal(l->at, scratch_path(&w->s, at, dir));
	assert_int_equal(l->usage_bytes, usage);
	assert_int_equal(l->file_bytes, file);
}

static void oom_is(struct world *w, int64_t kills)
{
	assert_int_equal(take(w, NULL, 0)->limit.oom_kills, kills);
}

/* Processes killed before the run, elsewhere, or because the machine ran out of memory do not
 * count for the limit. */
static void test_oom_v2(void **state)
{
	struct world *w = *state;

	scratch_write(&w->s, "proc/77/cgroup", "0::/a/b\n");
	scratch_write(&w->s, "unified/a/memory.max", "5000\n");
	scratch_write(&w->s, "unified/a/memory.events", "oom 4\noom_kill 9\n");
	scratch_write(&w->s, "unified/a/b/memory.max", "max\n");
	scratch_write(&w->s, "unified/a/b/memory.events", "low 1\noom 3\noom_kill 7\n");
	take(w, NULL, 0);
	oom_is(w, MACHINE_UNKNOWN);
	assert_int_equal(of_process(w), 0);
	oom_is(w, 0);
	/* Killed by the machine: no allocation failed at the limit. */
	scratch_write(&w->s, "unified/a/b/memory.events", "oom 3\noom_kill 8\n");
	oom_is(w, 0);
	scratch_write(&w->s, "unified/a/memory.events", "oom 5\noom_kill 11\n");
	scratch_write(&w->s, "unified/a/b/memory.events", "oom 4\noom_kill 10\n");
	oom_is(w, 3);
	/* The job moves to a cgroup where others were killed; then one more of its own is. */
	scratch_write(&w->s, "proc/77/cgroup", "0::/a\n");
	oom_is(w, 3);
	scratch_write(&w->s, "unified/a/memory.events", "oom 6\noom_kill 12\n");
	oom_is(w, 4);
	/* The process and its cgroup are gone. */
	scratch_write(&w->s, "proc/77/cgroup", "");
	oom_is(w, 4);
}

/* Kills are counted in the cgroup of the process; the limit may be above it. */
static void test_oom_v1(void **state)
{
	struct world *w = *state;

	scratch_write(&w->s, "proc/77/cgroup", "9:memory:/a\n");
	scratch_write(&w->s, "memory/a/memory.limit_in_bytes", "67108864\n");
	scratch_write(&w->s, "memory/a/memory.max_usage_in_bytes", "4096\n");
	scratch_write(&w->s, "memory/a/memory.oom_control", "under_oom 0\noom_kill 2\n");
	scratch_write(&w->s, "memory/a/b/memory.oom_control", "under_oom 0\noom_kill 1\n");
	take(w, NULL, 0);
	assert_int_equal(of_process(w), 0);
	oom_is(w, 0);
	scratch_write(&w->s, "memory/a/b/memory.oom_control", "under_oom 0\noom_kill 2\n");
	oom_is(w, 0);
	scratch_write(&w->s, "memory/a/memory.max_usage_in_bytes", "67100672\n");
	oom_is(w, 1);
	/* A cgroup that is removed takes its count with it. */
	scratch_write(&w->s, "memory/a/b/memory.oom_control", "under_oom 0\noom_kill 0\n");
	oom_is(w, 1);
	scratch_write(&w->s, "memory/a/memory.oom_control", "under_oom 0\noom_kill 3\n");
	oom_is(w, 2);
	scratch_write(&w->s, "memory/a/memory.oom_control", "under_oom 0\noom_kill 4\n");
	oom_is(w, 3);
	/* The process is gone, its cgroup remains. */
	scratch_write(&w->s, "proc/77/cgroup", "");
	oom_is(w, 3);
	/* A process that exits is shown in the root. */
	scratch_write(&w->s, "proc/77/stat", "77 (a) S) Z 1 77 77 0 -1 4194564 0 0\n");
	scratch_write(&w->s, "proc/77/cgroup", "9:memory:/\n");
	oom_is(w, 3);
	assert_string_equal(strrchr(take(w, NULL, 0)->limit.at, '/'), "/a");
	/* Another process got the number. */
	scratch_write(&w->s, "proc/77/stat",
		      "77 (x) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5000 0 0\n");
	scratch_write(&w->s, "memory/z/memory.limit_in_bytes", "1000\n");
	scratch_write(&w->s, "proc/77/cgroup", "9:memory:/z\n");
	assert_string_equal(strrchr(take(w, NULL, 0)->limit.at, '/'), "/a");
	/* Kernels before 4.13 have no such count. */
	scratch_write(&w->s, "memory/a/memory.oom_control", "under_oom 0\n");
	oom_is(w, MACHINE_UNKNOWN);
}

static void test_limit_v2(void **state)
{
	struct world *w = *state;

	scratch_write(&w->s, "proc/77/cgroup", "0::/a/b\n");
	scratch_write(&w->s, "unified/a/b/memory.max", "max\n");
	scratch_write(&w->s, "unified/a/b/memory.current", "700\n");
	take(w, NULL, 0);
	assert_int_equal(of_process(w), 0);
	limit_is(w, MACHINE_UNKNOWN, "unified/a/b", 700, MACHINE_UNKNOWN);
	scratch_write(&w->s, "unified/a/memory.max", "5000\n");
	scratch_write(&w->s, "unified/a/memory.current", "900\n");
	scratch_write(&w->s, "unified/a/memory.stat", "anon 1\nfile 300\n");
	limit_is(w, 5000, "unified/a", 900, 300);
	/* First its own limit is lower; then both are equal, and the nearer one counts. */
	scratch_write(&w->s, "unified/a/b/memory.max", "4000\n");
	limit_is(w, 4000, "unified/a/b", 700, MACHINE_UNKNOWN);
	scratch_write(&w->s, "unified/a/b/memory.max", "5000\n");
	limit_is(w, 5000, "unified/a/b", 700, MACHINE_UNKNOWN);
	/* The process moves; then it is gone, and its last place counts. */
	scratch_write(&w->s, "proc/77/cgroup", "0::/\n");
	limit_is(w, MACHINE_UNKNOWN, "unified", MACHINE_UNKNOWN, MACHINE_UNKNOWN);
	scratch_write(&w->s, "proc/77/cgroup", "");
	limit_is(w, MACHINE_UNKNOWN, "unified", MACHINE_UNKNOWN, MACHINE_UNKNOWN);
}

static void test_limit_v1(void **state)
{
	struct world *w = *state;

	/* With both hierarchies, memory belongs to v1. */
	scratch_write(&w->s, "proc/77/cgroup", "5:cpu:/x\n4:memory:/job\n0::/a\n");
	scratch_write(&w->s, "unified/a/memory.max", "1\n");
	scratch_write(&w->s, "memory/memory.limit_in_bytes", NO_LIMIT);
	scratch_write(&w->s, "memory/job/memory.limit_in_bytes", "6000\n");
	scratch_write(&w->s, "memory/job/memory.usage_in_bytes", "100\n");
	scratch_write(&w->s, "memory/job/memory.stat", "cache 5\ntotal_cache 50\n");
	take(w, NULL, 0);
	assert_int_equal(of_process(w), 0);
	limit_is(w, 6000, "memory/job", 100, 50);
	/* The process is gone, and its last place counts. */
	scratch_write(&w->s, "proc/77/cgroup", "");
	limit_is(w, 6000, "memory/job", 100, 50);
}

static void test_cgroup(void **state)
{
	struct world *w = *state;
	struct cgroup_ref ref = {.kind = CGROUP_V2};
	struct mountinfo mounts;
	char dir[PATH_MAX];

	ref.dir = (char *)scratch_path(&w->s, "unified/a", dir);
	scratch_write(&w->s, "unified/a/memory.max", "5000\n");
	take(w, NULL, 0);
	read_mounts(w, &mounts);
	assert_int_equal(machine_facts_of_cgroup(w->f, &mounts, &ref), 0);
	mountinfo_free(&mounts);
	limit_is(w, 5000, "unified/a", MACHINE_UNKNOWN, MACHINE_UNKNOWN);
}

int main(void)
{
#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_is_told), CASE(test_constants),	 CASE(test_generations),
		CASE(test_devices),	    CASE(test_reads_of_devices), CASE(test_limit_v2),
		CASE(test_limit_v1),	    CASE(test_cgroup),		 CASE(test_oom_v2),
		CASE(test_oom_v1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
