/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cachemon/access/mountinfo.h"

static int parse(const char *text, struct mountinfo *mi)
{
	return mountinfo_parse(text, strlen(text), mi);
}

static void fields(void **state)
{
	struct mountinfo mi;

	assert_int_equal(parse("36 35 98:1048575 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 "
			       "/dev/root rw,errors=continue\n"
			       "37 36 0:5 /a\\040b\\134c /x\\012y\\011z rw - tmpfs  rw\n"
			       "38 36 4095:0 /\\377\\043 /\\0no\\400 rw - fuse.x src\\040y \n",
			       &mi),
			 0);
	assert_int_equal(mi.nr, 3);
	assert_int_equal(mi.mounts[0].id, 36);
	assert_int_equal(mi.mounts[0].parent, 35);
	assert_true(mi.mounts[0].top);
	assert_int_equal(mi.mounts[0].dev, 98U << 20 | 1048575);
	assert_string_equal(mi.mounts[0].root, "/mnt1");
	assert_string_equal(mi.mounts[0].point, "/mnt2");
	assert_string_equal(mi.mounts[0].fstype, "ext3");
	assert_string_equal(mi.mounts[0].source, "/dev/root");
	assert_string_equal(mi.mounts[0].options, "rw,errors=continue");
	assert_false(mi.mounts[1].top);
	assert_string_equal(mi.mounts[1].root, "/a b\\c");
	assert_string_equal(mi.mounts[1].point, "/x\ny\tz");
	assert_string_equal(mi.mounts[2].root, "/\377#");
	/* Escapes that the kernel does not write: kept. */
	assert_string_equal(mi.mounts[2].point, "/\\0no\\400");
	assert_string_equal(mi.mounts[1].source, "");
	assert_string_equal(mi.mounts[2].source, "src y");
	assert_string_equal(mi.mounts[2].options, "");
	mountinfo_free(&mi);
	mountinfo_free(&mi);
}

static void malformed(void **state)
{
	static const char *const lines[] = {
		"36",
		"36 35 98:0 /r /p rw - ext3 src",
		"36 35 98:0 /r /p rw master:1 ext3 src rw",
		"36 35 98:0 /r p rw - ext3 src rw",
		"x 35 98:0 /r /p rw - ext3 src rw",
		"-36 35 98:0 /r /p rw - ext3 src rw",
		"36 35 98 /r /p rw - ext3 src rw",
		"36 35 4096:0 /r /p rw - ext3 src rw",
		"36 35 1:1048576 /r /p rw - ext3 src rw",
		"36 99999999999 98:0 /r /p rw - ext3 src rw",
		"36 35 98:0 /r /p rw -  src rw",
		"\n36 35 98:0 /r /p rw - ext3 src rw",
		"36 35 98:0 /r /p rw - ext3 src rw\n\n",
	};
	struct mountinfo mi = {.nr = 7};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (parse(lines[i], &mi) != -EBADMSG)
			fail_msg("taken: '%s'", lines[i]);
	}
	assert_int_equal(mountinfo_parse("36 35 98:0 /\0 /p rw - a b c", 27, &mi), -EBADMSG);
	assert_int_equal(mi.nr, 7);
	assert_int_equal(parse("", &mi), 0);
	assert_int_equal(mi.nr, 0);
	mountinfo_free(&mi);
}

static void serving(void **state)
{
	static const char text[] = "1 0 0:1 / / rw - rootfs rootfs rw\n"
				   "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				   "21 20 8:2 / /mnt rw - ext4 /dev/sda2 rw\n"
				   "22 21 8:3 / /mnt/sub rw - ext4 /dev/sda3 rw\n"
				   /* Covers 21, and thus 22. */
				   "23 21 8:4 / /mnt rw - ext4 /dev/sda4 rw\n"
				   "24 20 8:5 / /mnt2 rw - ext4 /dev/sda5 rw\n"
				   "25 20 8:6 / /srv/deep rw - ext4 /dev/sda6 rw\n"
				   /* Covers 25 from above. */
				   "26 20 8:7 / /srv rw - ext4 /dev/sda7 rw\n";
	static const struct {
		const char *path;
		int id;
	} rows[] = {
		{"/", 20},	     {"/x", 20},	 {"/mnt", 23},	{"/mnt/a", 23},
		{"/mnt/sub/a", 23},  {"/mnt2/a", 24},	 {"/mnt3", 20}, {"/srv/x", 26},
		{"/srv/deep/x", 26}, {"/srvx/deep", 20},
	};
	struct mountinfo mi;

	assert_int_equal(parse(text, &mi), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct mount *m = mountinfo_serving(&mi, rows[i].path);

		if (!m || m->id != rows[i].id)
			fail_msg("%s: %d", rows[i].path, m ? m->id : -1);
	}
	mountinfo_free(&mi);
}

static void odd_lists(void **state)
{
	struct mountinfo mi;

	/* In a chroot the mount of its root may be missing. */
	assert_int_equal(parse("5 4 8:1 / /a rw - x x rw\n6 4 8:2 / /a/b rw - x x rw\n", &mi), 0);
	assert_null(mountinfo_serving(&mi, "/x"));
	assert_int_equal(mountinfo_serving(&mi, "/a/x")->id, 5);
	mountinfo_free(&mi);
	/* The first mount is its own parent. No kernel writes cycles, but they must end too. */
	assert_int_equal(parse("1 1 8:1 / / rw - x x rw\n", &mi), 0);
	assert_int_equal(mountinfo_serving(&mi, "/x")->id, 1);
	mountinfo_free(&mi);
	assert_int_equal(parse("1 1 8:1 / / rw - x x rw\n2 3 8:1 / / rw - x x rw\n"
			       "3 2 8:1 / / rw - x x rw\n",
			       &mi),
			 0);
	assert_int_equal(mountinfo_serving(&mi, "/x")->id, 1);
	mountinfo_free(&mi);
	assert_int_equal(parse("2 9 8:1 / / rw - x x rw\n3 2 8:1 / / rw - x x rw\n"
			       "2 3 8:1 / / rw - x x rw\n",
			       &mi),
			 0);
	assert_null(mountinfo_serving(&mi, "/x"));
	mountinfo_free(&mi);
}

static void options(void **state)
{
	assert_true(mountinfo_has_option("rw,memory", "memory"));
	assert_true(mountinfo_has_option("memory,rw", "memory"));
	assert_true(mountinfo_has_option("memory", "memory"));
	assert_false(mountinfo_has_option("rw,xmemory,memory_x", "memory"));
	assert_false(mountinfo_has_option("", "memory"));
}

/* The list of this system, compared with stat(2). Not "/": btrfs gives its files another device. */
static void own_list(void **state)
{
	struct mountinfo mi;
	const char *const paths[] = {"/proc", "/sys"};
	struct stat st;

	assert_int_equal(mountinfo_read("/proc/self/mountinfo", &mi), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct mount *m = mountinfo_serving(&mi, paths[i]);

		assert_int_equal(stat(paths[i], &st), 0);
		assert_non_null(m);
		assert_int_equal(m->dev, major(st.st_dev) << 20 | minor(st.st_dev));
	}
	mountinfo_free(&mi);
	assert_int_equal(mountinfo_read("/proc/self/nothing", &mi), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),  cmocka_unit_test(malformed),
		cmocka_unit_test(serving), cmocka_unit_test(odd_lists),
		cmocka_unit_test(options), cmocka_unit_test(own_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
