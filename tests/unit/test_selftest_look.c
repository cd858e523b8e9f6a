/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/vfs.h>
#include <linux/magic.h>

#include "cachemon/selftest/selftest_look.h"
#include "scratch.h"

#define FILE_BYTES (1 << 20)

struct world {
	struct scratch s;
	int fd;
	struct selftest_look look;
};

static int setup(void **state)
{
	static char zeros[FILE_BYTES];
	static struct world w;
	char path[PATH_MAX];

	scratch_new(&w.s);
	w.fd = open(scratch_path(&w.s, "file", path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(w.fd >= 0);
	assert_int_equal(pwrite(w.fd, zeros, sizeof(zeros), 0), sizeof(zeros));
	assert_int_equal(fsync(w.fd), 0);
	assert_int_equal(look_open(&w.look, w.fd, FILE_BYTES), 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	look_close(&w->look);
	close(w->fd);
	scratch_free(&w->s);
	return 0;
}

/* Skips if pages never leave the cache, or if mincore(2) would be used, which works differently. */
static void begin_empty(struct world *w)
{
	struct statfs fs;
	int64_t pages = -1;

	assert_int_equal(fstatfs(w->fd, &fs), 0);
	if (fs.f_type == TMPFS_MAGIC || selftest_by_mincore())
		skip();
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	assert_int_equal(look_begin(&w->look, &pages), 0);
	if (pages)
		skip(); /* the file is being read: the test would prove nothing */
}

static void read_half(struct world *w)
{
	static char buf[FILE_BYTES / 2];

	assert_int_equal(pread(w->fd, buf, sizeof(buf), 0), sizeof(buf));
}

static void a_call_alone_is_not_disturbed(void **state)
{
	struct world *w = *state;
	int64_t added = 0;
	bool disturbed = false;

	begin_empty(w);
	assert_int_equal(look_before(&w->look, &disturbed), 0);
	read_half(w);
	assert_int_equal(look_after(&w->look, &added, &disturbed), 0);
	assert_false(disturbed);
	assert_true(added >= FILE_BYTES / 2 / sysconf(_SC_PAGESIZE));
}

/* Evictions that leave no shadow in the cache: as when reclaim takes pages and then the memory
 * of their shadows. */
static void pages_that_come_twice_in_one_call_disturb(void **state)
{
	struct world *w = *state;
	int64_t added = 0;
	bool disturbed = false;

	begin_empty(w);
	assert_int_equal(look_before(&w->look, &disturbed), 0);
	read_half(w);
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
	read_half(w);
	assert_int_equal(look_after(&w->look, &added, &disturbed), 0);
	assert_true(disturbed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_call_alone_is_not_disturbed, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_that_come_twice_in_one_call_disturb, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
