/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan job account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "cachemon/capture/map_memory.h"
#include "scratch.h"

/* A v1 memory controller that shows the container's part /box, and a v2 tree. */
#define MOUNTS                                                                                     \
	"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"                                                     \
	"2 1 0:30 /box %s/memory rw - cgroup cgroup rw,memory\n"                                   \
	"3 1 0:32 / %s/unified rw - cgroup2 cgroup2 rw\n"

#define NO_LIMIT "9223372036854771712\n"

struct world {
	struct scratch s;
	struct mountinfo mi;
};

static int setup(void **state)
{
	static struct world w;
	char text[4 * PATH_MAX];

	scratch_new(&w.s);
	snprintf(text, sizeof(text), MOUNTS, w.s.dir, w.s.dir);
	assert_int_equal(mountinfo_parse(text, strlen(text), &w.mi), 0);
	scratch_write(&w.s, "self/cgroup",
		      "5:cpu,cpuacct:/other\n4:memory:/box/job\n0::/a.slice/b\n");
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	mountinfo_free(&w->mi);
	scratch_free(&w->s);
	return 0;
}

static struct memory_room *look(struct world *w)
{
	static struct memory_room room;

	memset(&room, 0x5a, sizeof(room));
	memory_room_read(w->s.dir, &w->mi, &room);
	return &room;
}

static void test_no_limit(void **state)
{
	struct world *w = *state;

	assert_true(look(w)->bytes == UINT64_MAX && look(w)->limit_bytes == UINT64_MAX);
	scratch_write(&w->s, "unified/a.slice/b/memory.max", "max\n");
	scratch_write(&w->s, "memory/job/memory.limit_in_bytes", NO_LIMIT);
	scratch_write(&w->s, "memory/memory.limit_in_bytes", "no number\n");
	assert_true(look(w)->bytes == UINT64_MAX && look(w)->limit_bytes == UINT64_MAX);
}

static void test_v2(void **state)
{
	struct world *w = *state;
	char dir[PATH_MAX];

	/* The parent leaves less room, although its limit is higher. 600 of b's 900 are page
	 * cache. */
	scratch_write(&w->s, "unified/a.slice/b/memory.max", "1000\n");
	scratch_write(&w->s, "unified/a.slice/b/memory.current", "900\n");
	scratch_write(&w->s, "unified/a.slice/b/memory.stat", "anon 300\nfile 600\nfile_dirty 7\n");
	assert_true(look(w)->bytes == 700 && look(w)->limit_bytes == 1000);
	scratch_write(&w->s, "unified/a.slice/memory.max", "2000\n");
	scratch_write(&w->s, "unified/a.slice/memory.current", "1900\n");
	scratch_write(&w->s, "unified/a.slice/memory.stat", "file_mapped 1\nfile 100\n");
	assert_true(look(w)->bytes == 200 && look(w)->limit_bytes == 2000);
	assert_string_equal(look(w)->cgroup, scratch_path(&w->s, "unified/a.slice", dir));
	/* Above the limit, because a limit can be lowered below the present use. */
	scratch_write(&w->s, "unified/a.slice/memory.current", "2200\n");
	assert_true(look(w)->bytes == 0);
}

static void test_v1(void **state)
{
	struct world *w = *state;
	char dir[PATH_MAX];

	scratch_write(&w->s, "memory/job/memory.limit_in_bytes", NO_LIMIT);
	scratch_write(&w->s, "memory/memory.limit_in_bytes", "5000\n");
	scratch_write(&w->s, "memory/memory.usage_in_bytes", "4000\n");
	scratch_write(&w->s, "memory/memory.stat", "cache 1\ntotal_cache 1500\n");
	assert_true(look(w)->bytes == 2500 && look(w)->limit_bytes == 5000);
	assert_string_equal(look(w)->cgroup, scratch_path(&w->s, "memory", dir));
}

static void test_outside(void **state)
{
	struct world *w = *state;

	scratch_write(&w->s, "memory/memory.limit_in_bytes", "5000\n");
	scratch_write(&w->s, "unified/memory.max", "5000\n");
	scratch_write(&w->s, "self/cgroup", "4:memory:/boxes/job\n0::/../elsewhere\n");
	assert_true(look(w)->limit_bytes == UINT64_MAX);
}

/* The sum of the map sizes is the size that is judged. */
static void test_bytes(void **state)
{
	struct map_size maps[MAP_SIZES_MAX];
	size_t nr = map_sizes(UINT64_C(8) << 30, (uint64_t)sysconf(_SC_PAGESIZE), 4, maps,
			      MAP_SIZES_MAX);
	uint64_t whole = map_memory_bytes(UINT64_C(8) << 30, 4, 0, 0), sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += maps[i].bytes;
	assert_true(whole > sum && whole < sum + (32 << 20));
	assert_string_equal(maps[0].name, "blocks");
	assert_true(map_memory_bytes(UINT64_C(8) << 30, 4, maps[0].entries - 10, 0) ==
		    whole - 10 * maps[0].bytes_each);
	assert_true(map_memory_bytes(UINT64_C(8) << 30, 4, 0, maps[1].entries * 2) ==
		    whole + 2 * maps[1].entries * maps[1].bytes_each);
}

/* Larger pages do not make files larger, so the same memory gets the same number of blocks. The
 * ring's own pages have that size. */
static void test_page_sizes(void **state)
{
	const uint64_t ram = UINT64_C(512) << 30;
	static const struct {
		uint64_t page_size, ring_bytes;
	} cases[] = {
		/* 4 MiB; 3 pages of positions; an address for these and, twice, for the others. */
		{4 << 10, (4 << 20) + (12 << 10) + 8 * (3 + 2 * 1024)},
		{16 << 10, (4 << 20) + (48 << 10) + 8 * (3 + 2 * 256)},
		{64 << 10, (4 << 20) + (192 << 10) + 8 * (3 + 2 * 64)},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct map_size maps[MAP_SIZES_MAX];
		size_t nr = map_sizes(ram, cases[i].page_size, 4, maps, MAP_SIZES_MAX);

		assert_true(nr <= MAP_SIZES_MAX);
		assert_int_equal(maps[0].entries, 1 << 21);
		for (size_t k = 0; k < nr; k++)
			if (!strcmp(maps[k].name, "names"))
				assert_int_equal(maps[k].bytes, cases[i].ring_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_v2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_v1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outside, setup, teardown),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_page_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
