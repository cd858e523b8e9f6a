/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* The limits of the files that users have open: the kernel says who still has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cachemon/daemon/snapshots.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define NOW    (1000 * SECOND)

enum { ALICE = 4001, BOB = 4002 };

static struct snapshots *snapshots;
static struct errtext err;

static int setup(void **state)
{
	(void)state;
	return snapshots_new(&snapshots, &err);
}

static int teardown(void **state)
{
	(void)state;
	snapshots_free(snapshots);
	return 0;
}

static int check(uid_t uid, uint64_t now)
{
	uint64_t retry_s;

	return snapshots_check(snapshots, uid, now, &retry_s, &err);
}

/* The user's descriptor. */
static int give(uid_t uid, off_t bytes, uint64_t took, uint64_t now)
{
	int made = memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd = -1;

	assert_true(made >= 0);
	assert_int_equal(ftruncate(made, bytes), 0);
	assert_int_equal(check(uid, now), 0);
	snapshots_pay(snapshots, uid, took, now);
	assert_int_equal(snapshots_add(snapshots, uid, made, &fd), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	return fd;
}

static int path_of(int fd)
{
	char name[32];
	int r;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	r = open(name, O_PATH | O_CLOEXEC);
	assert_true(r >= 0);
	return r;
}

static void test_open_files(void **state)
{
	int fds[SNAPSHOTS_OF_USER], more;
	void *map;

	(void)state;
	for (int i = 0; i < SNAPSHOTS_OF_USER; i++)
		fds[i] = give(ALICE, 4096, 0, NOW);
	assert_int_equal(check(ALICE, NOW), -EBUSY);
	close(give(BOB, 4096, 0, NOW));

	/* A map keeps it too. */
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fds[0], 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	close(fds[0]);
	assert_int_equal(check(ALICE, NOW), -EBUSY);
	munmap(map, 4096);
	assert_int_equal(check(ALICE, NOW), 0);

	/* So does a descriptor that cannot be read, but opens the file again. */
	more = path_of(fds[0] = give(ALICE, 4096, 0, NOW));
	close(fds[0]);
	assert_int_equal(check(ALICE, NOW), -EBUSY);
	close(more);
	assert_int_equal(check(ALICE, NOW), 0);

	/* And a copy of the descriptor. */
	more = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
	close(fds[1]);
	fds[0] = give(ALICE, 4096, 0, NOW);
	assert_int_equal(check(ALICE, NOW), -EBUSY);
	close(more);
	assert_int_equal(check(ALICE, NOW), 0);
	close(fds[0]);
	close(fds[2]);
	close(fds[3]);
}

static void test_bytes(void **state)
{
	int fds[SNAPSHOTS_ALL_MB / SNAPSHOTS_USER_MB];
	const int nr = SNAPSHOTS_ALL_MB / SNAPSHOTS_USER_MB;

	(void)state;
	for (int i = 0; i < nr; i++) {
		fds[i] = give((uid_t)(ALICE + i), (off_t)SNAPSHOTS_USER_MB << 20, 0, NOW);
		assert_int_equal(check((uid_t)(ALICE + i), NOW), -EBUSY);
	}
	assert_int_equal(check((uid_t)(ALICE + nr), NOW), -EBUSY);
	for (int i = 0; i < nr; i++)
		close(fds[i]);
	assert_int_equal(check((uid_t)(ALICE + nr), NOW), 0);
}

static void test_time(void **state)
{
	(void)state;
	/* A copy of 500 ms costs a pause of 10 s, less the second in advance; for others, 1 s. */
	close(give(ALICE, 4096, 500 * MS, NOW));
	assert_int_equal(check(ALICE, NOW + 9 * SECOND - 1), -EBUSY);
	assert_int_equal(check(ALICE, NOW + 9 * SECOND), 0);
	assert_int_equal(check(BOB, NOW + SECOND - 1), -EBUSY);
	assert_int_equal(check(BOB, NOW + SECOND), 0);
	/* Small copies are possible at once. */
	for (int i = 0; i < 5; i++)
		close(give(BOB, 4096, 10 * MS, NOW + 20 * SECOND));
}

static int check_read(uid_t uid, uint64_t now)
{
	uint64_t retry_s;

	return snapshots_check_read(snapshots, uid, now, &retry_s, &err);
}

/* Its limits are those of copying, and its time is not that of copying. */
static void test_reads(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(check_read(ALICE, NOW), 0);
		snapshots_pay_read(snapshots, ALICE, 10 * MS, NOW);
	}
	snapshots_pay_read(snapshots, ALICE, 450 * MS, NOW);
	assert_int_equal(check_read(ALICE, NOW + 9 * SECOND - 1), -EBUSY);
	assert_int_equal(check_read(ALICE, NOW + 9 * SECOND), 0);
	assert_int_equal(check_read(BOB, NOW + SECOND - 1), -EBUSY);
	assert_int_equal(check_read(BOB, NOW + SECOND), 0);
	close(give(ALICE, 4096, 10 * MS, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
