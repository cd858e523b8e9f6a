/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account util */
#include "plan_fixture.h"

#include <errno.h>

#include "plan/fs_support.h"

static int setup(void **state)
{
	static struct fake_root root;

	fake_root_make(&root);
	*state = &root;
	return 0;
}

static int teardown(void **state)
{
	fake_root_remove(*state);
	return 0;
}

static void test_classify(void **state)
{
	static const struct {
		const char *type;
		bool dax;
		enum fs_cover cover;
	} cases[] = {
		{"ext4", false, FS_EXACT},	   {"xfs", false, FS_EXACT},
		{"btrfs", false, FS_EXACT},	   {"f2fs", false, FS_EXACT},
		{"block device", false, FS_EXACT}, {"overlay", false, FS_LAYER_BELOW},
		{"tmpfs", false, FS_OUTSIDE},	   {"hugetlbfs", false, FS_OUTSIDE},
		{"xfs", true, FS_OUTSIDE},	   {"fuse", false, FS_PARTLY},
		{"fuse.sshfs", false, FS_PARTLY},  {"fused", false, FS_UNKNOWN},
		{"nfs4", false, FS_PARTLY},	   {"bcachefs", false, FS_UNKNOWN},
		{"", false, FS_UNKNOWN},	   {"bcachefs", true, FS_OUTSIDE},
	};
	const char *why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why = NULL;
		assert_int_equal(fs_support_classify(cases[i].type, cases[i].dax, &why),
				 cases[i].cover);
		assert_true(why && *why);
		if (cases[i].dax)
			assert_non_null(strstr(why, "DAX"));
		assert_true(*fs_cover_name(cases[i].cover));
	}
}

#define MOUNTS                                                                                     \
	"21 1 8:1 / / rw - ext4 /dev/sda1 rw,errors=remount-ro\n"                                  \
	"22 21 8:17 / /data rw,noatime shared:3 - xfs /dev/sdb1 rw,dax=always,quota\n"             \
	"23 21 8:33 / /never rw - xfs /dev/sdc1 rw,dax=never\n"                                    \
	"24 21 0:40 / /net rw - nfs4 server:/x rw\n"

static void describe(void **state, uint64_t id, unsigned int major, unsigned int minor,
		     struct fs_support *fs)
{
	struct fake_root *root = *state;

	memset(fs, 0x5a, sizeof(*fs));
	fs_support_describe(root->dir, id, major, minor, fs);
	assert_int_equal(fs->major, major);
	assert_int_equal(fs->minor, minor);
	assert_non_null(fs->why);
}

static void test_describe(void **state)
{
	struct fs_support fs;

	fake_root_write(*state, "/proc/self/mountinfo", MOUNTS);
	fake_root_write(*state, "/sys/class/bdi/8:0/read_ahead_kb", "128\n");
	fake_root_write(*state, "/sys/class/bdi/0:40/read_ahead_kb", "15360\n");
	fake_root_write(*state, "/sys/dev/block/8:16/queue/read_ahead_kb", "4096\n");
	/* sysfs has links here: 8:1 -> …/sda/sda1, whose parent has the queue. */
	fake_root_write(*state, "/sys/devices/sda/queue/read_ahead_kb", "64\n");
	fake_root_write(*state, "/sys/devices/sda/sda1/partition", "1\n");
	{
		char link[PATH_MAX];

		snprintf(link, sizeof(link), "%s/sys/dev/block/8:1",
			 ((struct fake_root *)*state)->dir);
		assert_int_equal(symlink("../../devices/sda/sda1", link), 0);
	}
	describe(state, 21, 8, 1, &fs);
	assert_string_equal(fs.type, "ext4");
	assert_false(fs.dax);
	assert_int_equal(fs.cover, FS_EXACT);
	assert_int_equal(fs.read_ahead_kb, 64);
	describe(state, 22, 8, 16, &fs);
	assert_string_equal(fs.type, "xfs");
	assert_true(fs.dax);
	assert_int_equal(fs.cover, FS_OUTSIDE);
	assert_int_equal(fs.read_ahead_kb, 4096);
	describe(state, 23, 8, 33, &fs);
	assert_false(fs.dax);
	assert_int_equal(fs.read_ahead_kb, -1);
	describe(state, 24, 0, 40, &fs);
	assert_int_equal(fs.cover, FS_PARTLY);
	assert_int_equal(fs.read_ahead_kb, 15360);
	describe(state, 2, 8, 0, &fs); /* no such mount */
	assert_string_equal(fs.type, "");
	assert_int_equal(fs.cover, FS_UNKNOWN);
	assert_int_equal(fs.read_ahead_kb, 128);
}

static void test_real_paths(void **state)
{
	struct fs_support fs = {.major = 77};

	assert_int_equal(fs_support_read("/no/such/path", &fs), -ENOENT);
	assert_int_equal(fs.major, 77);
	assert_int_equal(fs_support_read("/proc/self/status", &fs), 0);
	assert_string_equal(fs.type, "proc");
	assert_int_equal(fs.cover, FS_OUTSIDE);
	assert_int_equal(fs.read_ahead_kb, -1);
	assert_int_equal(fs_support_read("/", &fs), 0);
	assert_true(*fs.type);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_classify),
		T(test_describe),
		T(test_real_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
