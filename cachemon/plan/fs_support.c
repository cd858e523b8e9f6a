/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/fs_support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/file.h"
#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif

/* Nested overlays: deeper than the kernel allows. */
enum { LAYERS_DEEP_MAX = 4 };

struct layers {
	int depth;
	unsigned int direct;
	enum fs_cover cover; /* the worst cover among them */
	char types[96];
	char why[sizeof(((struct fs_support *)0)->why)];
};

/* The next path of *list, which ends at a colon without a backslash; unescaped in place. NULL:
 * none. */
static char *next_path(char **list)
{
	char *from = *list, *to = *list, *p = *list;

	if (!p)
		return NULL;
	for (; *p && *p != ':'; p++) {
		if (*p == '\\' && p[1])
			p++;
		*to++ = *p;
	}
	*list = *p ? p + 1 : NULL;
	*to = '\0';
	return from;
}

static int visit_paths(char *list, int (*visit)(const char *path, void *ctx), void *ctx)
{
	int ret = 0;
	char *path;

	while (!ret && (path = next_path(&list)))
		if (*path) /* "::" precedes data-only layers */
			ret = visit(path, ctx);
	return ret;
}

int fs_support_each_layer(const char *options, int (*visit)(const char *path, void *ctx), void *ctx)
{
	static const char *const keys[] = {"lowerdir=", "lowerdir+=", "datadir+=", "upperdir="};
	_cleanup_free_ char *copy = strdup(options);
	char *rest = copy, *option;
	int ret = 0;

	if (!copy)
		return -1;
	/* Splits at commas between options first: commas of a path are escaped and not yet
	 * decoded. */
	while (!ret && (option = strsep(&rest, ","))) {
		mountinfo_decode(option);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !ret; i++) {
			size_t len = strlen(keys[i]);

			if (!strncmp(option, keys[i], len))
				ret = visit_paths(option + len, visit, ctx);
		}
	}
	return ret;
}

/* mincore(2) always reports the pages of another user's read-only files as present. */
static bool mincore_tells(const char *path, const struct stat *st)
{
	return st->st_uid == geteuid() || !access(path, W_OK);
}

static enum fs_trial where_is(void *page, size_t size)
{
	unsigned char there;

	if (mincore(page, size, &there))
		return FS_TRIAL_NONE;
	return there & 1 ? FS_TRIAL_CACHED : FS_TRIAL_PAST;
}

static enum fs_trial try_read(int fd, void *page, size_t size)
{
	/* Pages present right after opening the file came from earlier reads through the cache. */
	enum fs_trial before = where_is(page, size);
	char byte;

	if (before != FS_TRIAL_PAST)
		return before;
	return pread(fd, &byte, 1, 0) == 1 ? where_is(page, size) : FS_TRIAL_NONE;
}

/* A page may be reclaimed at once, but not three times in a row. */
static enum fs_trial try_thrice(int fd, void *page, size_t size)
{
	enum fs_trial trial = FS_TRIAL_PAST;

	for (int i = 0; i < 3 && trial == FS_TRIAL_PAST; i++)
		trial = try_read(fd, page, size);
	return trial;
}

/* Tests whether reads of a file go through the page cache, by reading its first byte: FUSE
 * servers decide at each open, and no mount flag shows it. FS_TRIAL_NONE: not a regular file,
 * empty, or unknown to the kernel. */
static enum fs_trial try_file(const char *path)
{
	_cleanup_close_ int fd = access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	enum fs_trial trial;
	struct stat st;
	void *page;

	if (fd < 0 || fstat(fd, &st) || !st.st_size || !mincore_tells(path, &st))
		return FS_TRIAL_NONE;
	/* A private mapping, because a shared one fails if direct_io is on. */
	page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return FS_TRIAL_NONE;
	trial = try_thrice(fd, page, size);
	munmap(page, size);
	return trial;
}

static void of_mount(const struct mount *m, int depth, unsigned int direct,
		     struct fs_support *ret_fs);

static bool is_dax(const char *options)
{
	return mountinfo_has_option(options, "dax") || mountinfo_has_option(options, "dax=always");
}

static void decide_cover(struct fs_support *fs, const char *options, unsigned int direct)
{
	const struct fs_facts facts = {.type = fs->type,
				       .options = options,
				       .dax = fs->dax,
				       .trial = fs->trial,
				       .direct = direct};
	const char *why;

	fs->cover = fs_cover_decide(&facts, &why);
	snprintf(fs->why, sizeof(fs->why), "%s", why);
}

static void add_type(struct layers *l, const char *type)
{
	size_t len = strlen(l->types);

	if (!strstr(l->types, type) && len + strlen(type) + 3 < sizeof(l->types))
		sprintf(l->types + len, "%s%s", len ? ", " : "", type);
}

static int add_layer(const char *path, void *ctx)
{
	struct layers *l = ctx;
	struct mountinfo mi;
	struct fs_support fs = {.cover = FS_UNKNOWN, .why = "its layers are not visible here"};
	struct statx st;

	if (path[0] == '/' && !statx(AT_FDCWD, path, 0, STATX_MNT_ID, &st) &&
	    !mountinfo_read("/proc/self/mountinfo", &mi)) {
		for (size_t i = 0; i < mi.nr; i++)
			if ((uint64_t)mi.mounts[i].id == st.stx_mnt_id)
				of_mount(&mi.mounts[i], l->depth, l->direct, &fs);
		mountinfo_free(&mi);
	}
	if (*fs.type)
		add_type(l, fs.type);
	/* In the order of the names: exact, partly, bypassed, unknown. */
	if (!*l->why || fs.cover > l->cover) {
		l->cover = fs.cover;
		memcpy(l->why, fs.why, sizeof(l->why));
	}
	return 0;
}

/* An overlay has no pages of its own: it is covered as well as its worst layer. */
static void of_overlay(const struct mount *m, int depth, unsigned int direct, struct fs_support *fs)
{
	struct layers l = {.depth = depth + 1, .direct = direct, .cover = FS_UNKNOWN};

	if (depth < LAYERS_DEEP_MAX)
		fs_support_each_layer(m->options, add_layer, &l);
	fs->cover = l.cover;
	snprintf(fs->why, sizeof(fs->why), "counted on its layers%s%s%s, under their inodes: %.*s",
		 *l.types ? " (" : "", l.types, *l.types ? ")" : "", 180,
		 *l.why ? l.why : "they are not visible here");
}

static void of_mount(const struct mount *m, int depth, unsigned int direct, struct fs_support *fs)
{
	snprintf(fs->type, sizeof(fs->type), "%s", m->fstype);
	snprintf(fs->mount, sizeof(fs->mount), "%s", m->point);
	fs->dax = is_dax(m->options);
	decide_cover(fs, m->options, direct);
	if (!strcmp(fs->type, "overlay"))
		of_overlay(m, depth, direct, fs);
}

void fs_support_of_mount(const struct mount *m, unsigned int direct, struct fs_support *ret_fs)
{
	of_mount(m, 0, direct, ret_fs);
}

/* path: for a trial if the type does not decide; NULL: none. */
static void read_mount(const char *root, uint64_t mount_id, const char *path, bool dax,
		       unsigned int direct, struct fs_support *fs)
{
	char name[PATH_MAX];
	struct mountinfo mi;

	decide_cover(fs, NULL, direct);
	snprintf(name, sizeof(name), "%s/proc/self/mountinfo", root);
	if (mountinfo_read(name, &mi))
		return;
	for (size_t i = 0; i < mi.nr; i++) {
		const struct mount *m = &mi.mounts[i];

		if ((uint64_t)m->id != mount_id)
			continue;
		of_mount(m, 0, direct, fs);
		fs->dax |= dax;
		if (path && !fs->dax && fs_cover_wants_trial(fs->type))
			fs->trial = try_file(path);
		if (fs->dax || fs->trial != FS_TRIAL_NONE)
			decide_cover(fs, m->options, direct);
	}
	mountinfo_free(&mi);
}

static long long read_ahead(const char *root, unsigned int major, unsigned int minor)
{
	static const char *const formats[] = {
		"/sys/class/bdi/%u:%u/read_ahead_kb", /* disks, NFS, FUSE */
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb", /* partitions */
	};
	char path[128];
	long long kb;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		snprintf(path, sizeof(path), formats[i], major, minor);
		if (!file_number(root, path, &kb))
			return kb;
	}
	return -1;
}

static int open_path(const char *path)
{
	int fd = access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR);

	return fd == -EINVAL ? access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_DIRECTORY) : fd;
}

/* btrfs has its own readahead setting, and its files have a device number that no disk has. */
static long long read_ahead_btrfs(const char *path)
{
	struct btrfs_ioctl_fs_info_args info = {0};
	_cleanup_close_ int fd = open_path(path);
	const uint8_t *u = info.fsid;
	char name[128];
	long long kb;

	if (fd < 0 || ioctl(fd, BTRFS_IOC_FS_INFO, &info))
		return -1;
	snprintf(
		name, sizeof(name),
		"/sys/fs/btrfs/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x"
		"/bdi/read_ahead_kb",
		u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		u[13], u[14], u[15]);
	return file_number("", name, &kb) ? -1 : kb;
}

void fs_support_describe(const char *root, uint64_t mount_id, unsigned int major,
			 unsigned int minor, const char *path, bool dax, unsigned int direct,
			 struct fs_support *ret_fs)
{
	memset(ret_fs, 0, sizeof(*ret_fs));
	ret_fs->major = major;
	ret_fs->minor = minor;
	read_mount(root, mount_id, path, dax, direct, ret_fs);
	ret_fs->read_ahead_kb = read_ahead(root, major, minor);
}

static void describe_device(unsigned int major, unsigned int minor, unsigned int direct,
			    struct fs_support *fs)
{
	fs_support_describe("", 0, major, minor, NULL, false, direct, fs);
	snprintf(fs->type, sizeof(fs->type), FS_BLOCK_DEVICE);
	decide_cover(fs, NULL, direct);
}

int fs_support_read(const char *path, unsigned int direct, struct fs_support *ret_fs)
{
	struct statx st;

	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_MNT_ID, &st))
		return -errno;
	if (S_ISBLK(st.stx_mode)) {
		describe_device(st.stx_rdev_major, st.stx_rdev_minor, direct, ret_fs);
		return 0;
	}
	fs_support_describe("", st.stx_mnt_id, st.stx_dev_major, st.stx_dev_minor, path,
			    st.stx_attributes & STATX_ATTR_DAX, direct, ret_fs);
	if (!strcmp(ret_fs->type, "btrfs") && ret_fs->read_ahead_kb < 0)
		ret_fs->read_ahead_kb = read_ahead_btrfs(path);
	return 0;
}
