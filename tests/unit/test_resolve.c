/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/base/clock.h"
#include "resolve_world.h"

/* Mounts of the machine that cachemon runs on. */
static const char host[] =
	"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
	"2 1 8:2 / /data rw - xfs /dev/sdb1 rw\n"
	/* The same filesystem again: whole at a longer path; a part of it at a shorter path. */
	"3 1 8:2 / /mnt/archive rw - xfs /dev/sdb1 rw\n"
	"4 1 8:2 /pub/set /set rw - xfs /dev/sdb1 rw\n"
	/* A single file. */
	"5 1 8:2 /etc/one /o rw - xfs /dev/sdb1 rw\n"
	/* Only a part of it is mounted. */
	"6 1 8:3 /home /home rw - btrfs /dev/sdc1 rw,subvol=/home\n"
	/* Covered by another mount. */
	"7 1 8:4 / /covered rw - ext4 /dev/sdd1 rw\n"
	"8 7 8:5 / /covered rw - ext4 /dev/sde1 rw\n"
	/* Partly covered. */
	"9 1 8:6 / /part rw - ext4 /dev/sdf1 rw\n"
	"10 9 8:7 / /part/top rw - ext4 /dev/sdg1 rw\n"
	"11 1 8:8 / /with\\040blank\\134 rw - ext4 /dev/sdh1 rw\n"
	/* A directory that was removed while it was mounted. */
	"12 1 8:9 /gone//deleted /gone rw - ext4 /dev/sdi1 rw\n";

static int setup(void **state)
{
	static struct world w;
	char proc[PATH_MAX], sys[PATH_MAX];

	memset(&w, 0, sizeof(w));
	scratch_new(&w.s);
	scratch_write(&w.s, "proc/self/mountinfo", host);
	scratch_symlink(&w.s, "proc/self/ns/mnt", "mnt:[4026531840]");
	scratch_symlink(&w.s, "proc/self/root", "/");
	scratch_write(&w.s, "sys/dev/block/8:16/uevent",
		      "MAJOR=8\nMINOR=16\nDEVNAME=sdb\nDEVTYPE=disk\n");
	scratch_write(&w.s, "sys/dev/block/253:1048575/uevent", "DEVNAME=cciss/c0d0\n");
	scratch_write(&w.s, "sys/dev/block/7:0/uevent", "MAJOR=7\nXDEVNAME=x\n");
	scratch_write(&w.s, "sys/dev/block/7:1/uevent", "DEVNAME=\nMAJOR=7\n");
	assert_int_equal(resolver_new(scratch_path(&w.s, "proc", proc),
				      scratch_path(&w.s, "sys", sys), &w.r),
			 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	resolver_free(w->r);
	scratch_free(&w->s);
	return 0;
}

static void add_process(struct world *w, const char *pid, const char *ns, const char *root,
			const char *mountinfo)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%s/ns/mnt", pid);
	scratch_symlink(&w->s, name, ns);
	snprintf(name, sizeof(name), "proc/%s/root", pid);
	scratch_symlink(&w->s, name, root);
	snprintf(name, sizeof(name), "proc/%s/mountinfo", pid);
	scratch_write(&w->s, name, mountinfo);
}

static void full_walks(void **state)
{
	static const char *const paths[] = {
		"/a",	"/a/b/c",	  "/\xff\xfe/\x01\n\t\x7f",
		"/ / ", "/\\040/\"'$`;|", "/\xe2\x80\xae\x1b[2J/-rf *",
		"/...",
	};
	char deep[4096] = "", leaf[257];

	for (size_t i = 0; i < NELEMS(paths); i++) {
		expect(*state, paths[i], 0, DEV(8, 1), NOBODY, paths[i]);
		expect(*state, paths[i], NAME_UNLINKED, DEV(8, 1), NOBODY, paths[i]);
	}
	for (int i = 0; i < 2000; i++)
		strcat(deep, "/d");
	expect(*state, deep, 0, DEV(8, 1), NOBODY, deep);
	memset(leaf, 'l', 256);
	leaf[0] = '/';
	leaf[256] = '\0';
	expect(*state, leaf, 0, DEV(8, 1), NOBODY, leaf);
}

static void beginning_unknown(void **state)
{
	expect(*state, "/y/z", NAME_TRUNCATED, DEV(8, 1), NOBODY, ".../y/z");
	expect(*state, "/y/z", NAME_TRUNCATED | NAME_NO_MOUNT, DEV(8, 2), NOBODY, ".../y/z");
	expect(*state, "/y", NAME_TRUNCATED | NAME_UNLINKED, DEV(8, 2), NOBODY, ".../y");
}

/* "#INODE", the dentry of an O_TMPFILE file, is not a name; other files may be called so. */
static void tmpfile_has_no_name(void **state)
{
	static const struct {
		uint32_t flags;
		uint64_t ino;
		bool named;
	} rows[] = {
		{NAME_UNLINKED, 77, false},
		{NAME_UNLINKED | NAME_NO_MOUNT, 77, false},
		{NAME_UNLINKED, 78, true},
		{NAME_UNLINKED, 7, true},
		{0, 77, true},
	};
	struct world *w = *state;

	for (size_t i = 0; i < NELEMS(rows); i++) {
		struct resolved name = {0};
		struct name_record record;
		size_t size = fill(&record, "/dir/#77", rows[i].flags, DEV(8, 1), NOBODY);

		record.file.ino = rows[i].ino;
		assert_int_equal(resolver_name(w->r, &record, size, &name), 0);
		assert_int_equal(name.path != NULL, rows[i].named);
		free(name.path);
	}
}

static void placed(void **state)
{
	static const struct {
		unsigned int minor;
		const char *inside, *want;
	} rows[] = {
		{1, "/a/b", "/a/b"},
		{2, "/x/y", "/data/x/y"},
		/* The shortest mount point that shows it. */
		{2, "/pub/set/f", "/set/f"},
		{2, "/pub/settle/f", "/data/pub/settle/f"},
		{2, "/pub/f", "/data/pub/f"},
		{2, "/etc/one", "/o"},
		{2, "/etc/one2", "/data/etc/one2"},
		{3, "/home/u/f", "/home/u/f"},
		{3, "/root/f", ".../root/f"}, /* outside of the mounted part */
		{4, "/f", ".../f"},	      /* /covered/f would be another file */
		{5, "/f", "/covered/f"},
		{6, "/f", "/part/f"},
		{6, "/top/f", ".../top/f"},
		{6, "/topple/f", "/part/topple/f"},
		{7, "/f", "/part/top/f"},
		{8, "/f", "/with blank\\/f"},
		{8, "/\xff\n", "/with blank\\/\xff\n"},
		{9, "/gone/f", ".../gone/f"},
		{99, "/f", ".../f"}, /* mounted nowhere */
	};

	for (size_t i = 0; i < NELEMS(rows); i++) {
		expect(*state, rows[i].inside, NAME_NO_MOUNT, DEV(8, rows[i].minor), NOBODY,
		       rows[i].want);
		expect(*state, rows[i].inside, NAME_NO_MOUNT | NAME_UNLINKED, DEV(8, rows[i].minor),
		       NOBODY, rows[i].want);
	}
	/* A filesystem mounted below the root of another one hides its files there. */
	expect(*state, "/data/x", NAME_NO_MOUNT, DEV(8, 1), NOBODY, ".../data/x");
}

static void other_namespaces(void **state)
{
	struct world *w = *state;

	add_process(w, "70", "mnt:[4026532001]", "/",
		    "1 0 0:40 / / rw - overlay overlay rw\n2 1 8:2 /pub /in rw - xfs s rw\n");
	/* The same namespace, in a chroot. */
	add_process(w, "71", "mnt:[4026532001]", w->s.dir, "2 1 8:2 /pub /jail rw - xfs s rw\n");
	/* In cachemon's own namespace, with a list that must not be read. */
	add_process(w, "72", "mnt:[4026531840]", "/", "1 0 8:2 / /wrong rw - xfs s rw\n");
	/* Without a readable list. */
	add_process(w, "73", "mnt:[4026532003]", "/", "garbage\n");
	expect(w, "/pub/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/in/f");
	expect(w, "/pub/f", NAME_NO_MOUNT, DEV(8, 2), 71, "/jail/f");
	expect(w, "/pub/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/in/f");
	expect(w, "/pub/f", NAME_NO_MOUNT, DEV(8, 2), 72, "/data/pub/f");
	expect(w, "/pub/f", NAME_NO_MOUNT, DEV(8, 2), 73, "/data/pub/f");
	expect(w, "/pub/f", NAME_NO_MOUNT, DEV(8, 2), NOBODY, "/data/pub/f");
	/* Not visible there: cachemon's own view has the place. */
	expect(w, "/x", NAME_NO_MOUNT, DEV(8, 2), 70, "/data/x");
	expect(w, "/x", NAME_NO_MOUNT, DEV(8, 5), 70, "/covered/x");
}

static void read_again(void **state)
{
	static const char before[] = "1 0 8:2 / /old rw - xfs s rw\n";
	static const char after[] = "1 0 8:2 / /new rw - xfs s rw\n2 1 8:77 / /new/m rw - x s rw\n";
	struct world *w = *state;

	add_process(w, "70", "mnt:[4026532001]", "/", before);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/old/f");
	/* A device that is not in the table: the list is read at once. */
	scratch_write(&w->s, "proc/70/mountinfo", after);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/old/f");
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 77), 70, "/new/m/f");
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/new/f");
	/* Otherwise once per interval. */
	scratch_write(&w->s, "proc/70/mountinfo", before);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/new/f");
	resolver_refresh(w->r);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/old/f");
	/* Thousands of unknown devices do not cause a read each: four, then no more. */
	for (int i = 0; i < 4; i++)
		expect(w, "/f", NAME_NO_MOUNT, DEV(9, 1), 70, ".../f");
	scratch_write(&w->s, "proc/70/mountinfo", after);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 77), 70, ".../f");
	resolver_refresh(w->r);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 77), 70, "/new/m/f");
	/* A list that cannot be read again is not used in its old state. */
	scratch_write(&w->s, "proc/70/mountinfo", "garbage\n");
	resolver_refresh(w->r);
	expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 70, "/data/f");
}

/* More namespaces than are cached: each still gets its own answer. */
static void many_namespaces(void **state)
{
	enum { NR = 150 };
	struct world *w = *state;
	char pid[16], ns[32], list[64], want[32];

	for (unsigned int i = 0; i < NR; i++) {
		snprintf(pid, sizeof(pid), "%u", 1000 + i);
		snprintf(ns, sizeof(ns), "mnt:[%u]", 5000 + i);
		snprintf(list, sizeof(list), "1 0 8:2 / /ns%u rw - xfs s rw\n", i);
		add_process(w, pid, ns, "/", list);
	}
	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < NR; i++) {
			snprintf(want, sizeof(want), "/ns%u/f", i);
			expect(w, "/f", NAME_NO_MOUNT, DEV(8, 2), 1000 + i, want);
		}
	}
}

/* Mounts of one place, each on the last one, below a mount that covers them all. */
static char *deep_stack(size_t nr)
{
	char *text = malloc(nr * 80 + 200);
	size_t len = 0;

	assert_non_null(text);
	len += (size_t)sprintf(text, "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
	for (size_t i = 2; i < nr + 2; i++)
		len += (size_t)sprintf(text + len, "%zu %zu 8:6 / /a rw - xfs /dev/sdf1 rw\n", i,
				       i - 1);
	sprintf(text + len, "%zu %zu 0:9 / /a rw - tmpfs none rw\n", nr + 2, nr + 1);
	return text;
}

/* A user makes such tables in a namespace of their own. */
static void hostile_tables(void **state)
{
	/* One that is read, and one that has too much text. */
	static const size_t sizes[] = {5000, 100000};
	uint64_t from_ns;

	alarm(60);
	for (size_t i = 0; i < NELEMS(sizes); i++) {
		char *text = deep_stack(sizes[i]), pid[8], ns[32];

		snprintf(pid, sizeof(pid), "%zu", 300 + i);
		snprintf(ns, sizeof(ns), "mnt:[402653300%zu]", i);
		add_process(*state, pid, ns, "/", text);
		from_ns = clock_own_cpu_ns();
		for (int k = 0; k < 200; k++)
			expect(*state, "/x", NAME_NO_MOUNT, DEV(8, 6), (uint32_t)(300 + i),
			       "/part/x");
		assert_true(clock_own_cpu_ns() - from_ns < UINT64_C(1000000000));
		free(text);
	}
	alarm(0);
}

static void block_devices(void **state)
{
	static const struct {
		uint32_t rdev;
		const char *want;
	} rows[] = {
		{DEV(8, 16), "/dev/sdb"}, {DEV(253, 1048575), "/dev/cciss/c0d0"},
		{DEV(7, 0), NULL},	  {DEV(7, 1), NULL},
		{DEV(7, 2), NULL},
	};
	struct world *w = *state;

	for (size_t i = 0; i < NELEMS(rows); i++) {
		struct name_record record;
		struct resolved name = {0};
		size_t size = fill(&record, "/tmp/node", NAME_BLOCK_DEVICE | NAME_UNLINKED, 0, 1);

		record.rdev = rows[i].rdev;
		assert_int_equal(resolver_name(w->r, &record, size, &name), 0);
		if (rows[i].want)
			assert_string_equal(name.path, rows[i].want);
		else
			assert_null(name.path);
		assert_false(name.deleted);
		free(name.path);
	}
}

static void no_name(void **state)
{
	static const uint32_t flags[] = {NAME_NONE, NAME_NONE | NAME_UNLINKED, 0, NAME_NO_MOUNT,
					 NAME_TRUNCATED};
	struct world *w = *state;

	for (size_t i = 0; i < NELEMS(flags); i++) {
		struct name_record record;
		struct resolved name = {.path = (char *)1};
		size_t size = fill(&record, "", flags[i], DEV(8, 1), NOBODY);

		assert_int_equal(resolver_name(w->r, &record, size, &name), 0);
		assert_null(name.path);
	}
}

static void no_record(void **state)
{
	static const struct {
		const char *data;
		uint32_t len;
	} rows[] = {
		{"a", 1},     {"a\0b", 3},  {"\0", 1},	{"a\0\0", 3},	  {"a\0\0b\0", 5},
		{"\0a\0", 3}, {"a/b\0", 4}, {"/\0", 2}, {"a\0../x\0", 7},
	};
	struct world *w = *state;
	struct resolved name = {.path = (char *)1};
	struct name_record record;
	size_t head = offsetof(struct name_record, data);

	for (size_t i = 0; i < NELEMS(rows); i++) {
		memset(&record, 0, sizeof(record));
		memcpy(record.data, rows[i].data, rows[i].len);
		record.data_len = rows[i].len;
		if (resolver_name(w->r, &record, head + rows[i].len, &name) != -EBADMSG)
			fail_msg("row %zu", i);
	}
	fill(&record, "/a", 0, 0, 0);
	assert_int_equal(resolver_name(w->r, &record, head + 1, &name), -EBADMSG);
	assert_int_equal(resolver_name(w->r, &record, head - 1, &name), -EBADMSG);
	assert_int_equal(resolver_name(w->r, &record, 0, &name), -EBADMSG);
	record.data_len = UINT32_MAX;
	assert_int_equal(resolver_name(w->r, &record, sizeof(record), &name), -EBADMSG);
	record.data_len = NAME_DATA_MAX + 1;
	assert_int_equal(resolver_name(w->r, &record, sizeof(record) + 1, &name), -EBADMSG);
	assert_ptr_equal(name.path, (char *)1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(full_walks, setup, teardown),
		cmocka_unit_test_setup_teardown(beginning_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(tmpfile_has_no_name, setup, teardown),
		cmocka_unit_test_setup_teardown(placed, setup, teardown),
		cmocka_unit_test_setup_teardown(other_namespaces, setup, teardown),
		cmocka_unit_test_setup_teardown(read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(many_namespaces, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(block_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(no_name, setup, teardown),
		cmocka_unit_test_setup_teardown(no_record, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
