/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* A disk that fills up and is freed again: a small tmpfs in a mount namespace of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <cmocka.h>
#include <sys/mount.h>

#include "test_store_util.h"

static bool put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Without root: a user namespace that maps only this user and group. */
static bool enter_namespaces(void)
{
	unsigned int uid = geteuid();
	unsigned int gid = getegid();
	char users[48];
	char groups[48];

	snprintf(users, sizeof(users), "%u %u 1", uid, uid);
	snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
	if (!uid)
		return !unshare(CLONE_NEWNS);
	return !unshare(CLONE_NEWNS | CLONE_NEWUSER) && put("/proc/self/uid_map", users) &&
	       put("/proc/self/setgroups", "deny") && put("/proc/self/gid_map", groups);
}

static bool mount_small(const char *dir)
{
	return enter_namespaces() && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("small", dir, "tmpfs", 0, "size=2m");
}

static void fill(const char *name)
{
	static const char zeros[4096];
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros))
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static int write_one(struct store *st, struct ledger *l, uint64_t n, struct errtext *err)
{
	struct test_sample t;

	test_sample(&t, n, 50);
	ledger_apply(l, &t.s);
	return store_write(st, l, &t.s, err);
}

static void test_disk_full_and_free_again(void **state)
{
	const struct store_run run = test_run();
	struct store_config c = {0};
	struct errtext err;
	struct scratch scratch;
	char filler[300];
	struct ledger *l;
	struct store *st;
	uint64_t n = 0;

	scratch = scratch_make();
	if (!mount_small(scratch.dir)) {
		rmdir(scratch.dir);
		print_message("no mount namespace here: %s\n", strerror(errno));
		skip();
	}
	c.path = scratch.db;
	snprintf(filler, sizeof(filler), "%s/filler", scratch.dir);
	fill(filler);
	assert_int_equal(store_open(&c, &st, &err), -ENOSPC);
	unlink(filler);
	if (store_open(&c, &st, &err) || store_begin(st, &run, &err))
		fail_msg("%s", err.text);
	assert_int_equal(ledger_new(NULL, &l), 0);
	assert_int_equal(write_one(st, l, n++, &err), 0);
	fill(filler);
	for (int i = 0; i < 3; i++)
		assert_int_equal(write_one(st, l, n++, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "no space left on the disk. Free some space there. "
					 "The sums are kept"));
	assert_int_equal(store_end(st, l, &(struct store_end){0}, &err), -ENOSPC);
	unlink(filler);
	assert_int_equal(write_one(st, l, n++, &err), 0);
	assert_int_equal(store_end(st, l, &(struct store_end){0}, &err), 0);
	store_close(st);
	ledger_free(l);
	assert_true(is_sound(scratch.db));
	assert_true(adds_up(scratch.db));
	assert_int_equal(ask(scratch.db, "SELECT misses FROM job WHERE slot = 1"), test_misses(n));
	assert_int_equal(ask(scratch.db, "SELECT loss_intervals FROM run"), 3);
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM interval"), 2);
	assert_int_equal(scratch_files(&scratch, true), 1);
	umount(scratch.dir);
	rmdir(scratch.dir);
}

/* Two runs in one transaction: neither loses anything but rows of the timeline. */
static void test_batch_on_a_full_disk(void **state)
{
	const struct store_run run = test_run();
	struct store *st[2];
	struct ledger *l[2];
	struct store_config c = {0};
	struct scratch scratch = scratch_make();
	struct errtext err;
	char filler[300];
	uint64_t n = 0;

	if (!mount_small(scratch.dir)) {
		rmdir(scratch.dir);
		print_message("no mount namespace here: %s\n", strerror(errno));
		skip();
	}
	c.path = scratch.db;
	snprintf(filler, sizeof(filler), "%s/filler", scratch.dir);
	if (store_open(&c, &st[0], &err) || store_open_beside(st[0], &st[1], &err))
		fail_msg("%s", err.text);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ledger_new(NULL, &l[i]), 0);
		assert_int_equal(store_begin(st[i], &run, &err), 0);
	}
	for (int round = 0; round < 5; round++) {
		bool full = round >= 1 && round < 4;

		if (round == 1)
			fill(filler);
		if (round == 4)
			unlink(filler);
		store_batch_begin(st[0]);
		assert_int_equal(write_one(st[0], l[0], n, &err), 0);
		assert_int_equal(write_one(st[1], l[1], n++, &err), 0);
		assert_int_equal(store_batch_end(st[0], &err), full ? -ENOSPC : 0);
		if (full)
			assert_non_null(strstr(err.text, "no space left on the disk. Free some "
							 "space there. The sums are kept"));
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_end(st[i], l[i], &(struct store_end){0}, &err), 0);
		store_close(st[i]);
		ledger_free(l[i]);
	}
	assert_true(is_sound(scratch.db));
	assert_true(adds_up(scratch.db));
	assert_int_equal(ask(scratch.db, "SELECT min(misses) FROM job WHERE slot = 1"),
			 test_misses(n));
	assert_int_equal(ask(scratch.db, "SELECT max(misses) FROM job WHERE slot = 1"),
			 test_misses(n));
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM run WHERE loss_intervals = 3"), 2);
	assert_int_equal(ask(scratch.db, "SELECT count(*) FROM interval"), 4);
	assert_int_equal(scratch_files(&scratch, true), 1);
	umount(scratch.dir);
	rmdir(scratch.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disk_full_and_free_again),
		cmocka_unit_test(test_batch_on_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
