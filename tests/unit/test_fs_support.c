/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
#include "plan_fixture.h"

#include <errno.h>

#include "cachemon/plan/fs_support.h"

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

static void test_decide(void **state)
{
	static const struct {
		struct fs_facts facts;
		enum fs_cover cover;
		const char *says;
	} cases[] = {
		{{"ext4", "rw", false, 0, 0}, FS_EXACT, "counted exactly"},
		{{"xfs", "rw", false, 0, 0}, FS_EXACT, "counted exactly"},
		{{"btrfs", "rw", false, 0, 0}, FS_EXACT, "counted exactly"},
		{{"f2fs", NULL, false, 0, 0}, FS_EXACT, "counted exactly"},
		{{"block device", NULL, false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"bdev", NULL, false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"tmpfs", "rw", false, 0, 0}, FS_BYPASSED, "memory"},
		{{"hugetlbfs", "rw", false, 0, 0}, FS_BYPASSED, "hit ratios"},
		{{"xfs", "rw", true, 0, 0}, FS_BYPASSED, "DAX"},
		{{"bcachefs", "rw", true, 0, 0}, FS_BYPASSED, "DAX"},
		{{"xfs", "rw", false, FS_TRIAL_PAST, 0}, FS_EXACT, "counted exactly"},
		{{"fuse", "rw", false, 0, 0}, FS_PARTLY, "direct_io"},
		{{"fuse.sshfs", "rw", false, FS_TRIAL_CACHED, 0}, FS_PARTLY, "direct_io"},
		{{"fuse.sshfs", "rw", false, FS_TRIAL_PAST, 0}, FS_BYPASSED, "test: "},
		{{"fused", "rw", false, 0, 0}, FS_UNKNOWN, "selftest"},
		{{"fused", "rw", false, FS_TRIAL_CACHED, 0}, FS_UNKNOWN, "selftest"},
		{{"fused", "rw", false, FS_TRIAL_PAST, 0}, FS_BYPASSED, "test: "},
		{{"nfs4", "rw,vers=4.2,hard", false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"nfs4", "rw,vers=4.2,fsc", false, 0, 0}, FS_PARTLY, "local cache"},
		{{"nfs4", "rw,vers=4.2,nofsc", false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"cifs", "rw,cache=strict", false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"cifs", "rw,cache=none", false, 0, 0}, FS_BYPASSED, "cache=none"},
		{{"cifs", "rw,cache=none", false, FS_TRIAL_CACHED, 0}, FS_PARTLY, "O_DIRECT"},
		{{"9p", "rw,trans=virtio", false, 0, 0}, FS_BYPASSED, "without a cache"},
		{{"9p", "rw,trans=virtio,cache=loose", false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"9p", NULL, false, 0, 0}, FS_PARTLY, "O_DIRECT"},
		{{"", NULL, false, 0, 0}, FS_UNKNOWN, "selftest"},
		/* Filesystems whose direct reads are counted. */
		{{"block device", NULL, false, 0, FS_DIRECT_BLOCK}, FS_EXACT, "direct reads"},
		{{"block device", NULL, false, 0, FS_DIRECT_NFS}, FS_PARTLY, "not observed"},
		{{"nfs4", "rw", false, 0, FS_DIRECT_NFS}, FS_EXACT, "direct reads"},
		{{"nfs4", "rw,fsc", false, 0, FS_DIRECT_NFS}, FS_EXACT, "local cache"},
		{{"nfs", "rw", false, 0, FS_DIRECT_FUSE}, FS_PARTLY, "not observed"},
		{{"squashfs", "ro", false, 0, 0}, FS_PARTLY, "no event"},
		{{"squashfs", "ro", false, 0, FS_READS_BY_CALL}, FS_EXACT, "counted exactly"},
		{{"fuse.sshfs", "rw", false, 0, FS_DIRECT_FUSE}, FS_EXACT, "direct reads"},
		{{"fuse", NULL, false, FS_TRIAL_PAST, FS_DIRECT_FUSE}, FS_BYPASSED, "as direct"},
		{{"fuse", NULL, true, 0, FS_DIRECT_FUSE}, FS_BYPASSED, "DAX"},
		{{"cifs", "rw", false, 0, ~0u}, FS_PARTLY, "not observed"},
		{{"tmpfs", "rw", false, 0, ~0u}, FS_BYPASSED, "memory"},
		{{"btrfs", "rw", false, 0, 0}, FS_EXACT, "counted as both"},
		{{"btrfs", "rw", false, 0, FS_DIRECT_GIVEN}, FS_EXACT, "counted exactly"},
		{{"btrfs", "rw", false, 0, FS_DIRECT_GIVEN | FS_SUBVOLUMES_AS_ONE},
		 FS_PARTLY,
		 "snapshots are one row"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = NULL;
		enum fs_cover cover = fs_cover_decide(&cases[i].facts, &why);

		if (cover != cases[i].cover || !strstr(why, cases[i].says))
			fail_msg("%s %s: %s: %s", cases[i].facts.type,
				 cases[i].facts.options ? cases[i].facts.options : "-",
				 fs_cover_name(cover), why);
	}
}

static int note_layer(const char *path, void *ctx)
{
	char *all = ctx;

	sprintf(all + strlen(all), "[%s]", path);
	return 0;
}

static void test_layers(void **state)
{
	static const struct {
		const char *options, *layers;
	} cases[] = {
		{"rw,lowerdir=/a:/b,upperdir=/u,workdir=/w", "[/a][/b][/u]"},
		{"ro,lowerdir=/a::/data", "[/a][/data]"},
		{"rw,lowerdir+=/a,lowerdir+=/b:c,datadir+=/d", "[/a][/b][c][/d]"},
		{"rw,lowerdir=/with\\134:colon:/two\\054words\\040here",
		 "[/with:colon][/two,words here]"},
		{"rw,uuid=on", ""},
		{"rw,lowerdir=", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char all[256] = "";

		assert_int_equal(fs_support_each_layer(cases[i].options, note_layer, all), 0);
		assert_string_equal(all, cases[i].layers);
	}
}

#define MOUNTS                                                                                     \
	"21 1 8:1 / / rw - ext4 /dev/sda1 rw,errors=remount-ro\n"                                  \
	"22 21 8:17 / /data rw,noatime shared:3 - xfs /dev/sdb1 rw,dax=always,quota\n"             \
	"23 21 8:33 / /never rw - xfs /dev/sdc1 rw,dax=never\n"                                    \
	"24 21 0:40 / /net rw - nfs4 server:/x rw\n"                                               \
	"25 21 0:41 / /merged rw - overlay none rw,lowerdir=rel,upperdir=/u\n"

static void describe(void **state, uint64_t id, unsigned int major, unsigned int minor,
		     struct fs_support *fs)
{
	struct fake_root *root = *state;

	memset(fs, 0x5a, sizeof(*fs));
	fs_support_describe(root->dir, id, major, minor, NULL, false, 0, fs);
	assert_int_equal(fs->major, major);
	assert_int_equal(fs->minor, minor);
	assert_true(*fs->why);
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
	assert_int_equal(fs.cover, FS_BYPASSED);
	assert_int_equal(fs.read_ahead_kb, 4096);
	describe(state, 23, 8, 33, &fs);
	assert_false(fs.dax);
	assert_int_equal(fs.read_ahead_kb, -1);
	describe(state, 24, 0, 40, &fs);
	assert_int_equal(fs.cover, FS_PARTLY);
	assert_int_equal(fs.read_ahead_kb, 15360);
	describe(state, 25, 0, 41, &fs);
	assert_string_equal(fs.mount, "/merged");
	assert_int_equal(fs.cover, FS_UNKNOWN);
	assert_non_null(strstr(fs.why, "layers"));
	describe(state, 2, 8, 0, &fs); /* no such mount */
	assert_string_equal(fs.type, "");
	assert_int_equal(fs.cover, FS_UNKNOWN);
	assert_int_equal(fs.read_ahead_kb, 128);
}

static void test_real_paths(void **state)
{
	struct fs_support fs = {.major = 77};

	assert_int_equal(fs_support_read("/no/such/path", 0, &fs), -ENOENT);
	assert_int_equal(fs.major, 77);
	assert_int_equal(fs_support_read("/proc/self/status", 0, &fs), 0);
	assert_string_equal(fs.type, "proc");
	assert_int_equal(fs.cover, FS_BYPASSED);
	assert_int_equal(fs.read_ahead_kb, -1);
	assert_int_equal(fs_support_read("/", 0, &fs), 0);
	assert_true(*fs.type);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_decide),
		T(test_layers),
		T(test_describe),
		T(test_real_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
