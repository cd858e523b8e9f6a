/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/fs_support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "plan/sysfile.h"
#include "util/cleanup.h"
#include "util/mountinfo.h"

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif

#define BLOCK_DEVICE "block device"

static const char *const cover_why[] = {
	[FS_EXACT] = "its cached reads, writes and faults are counted to the page",
	[FS_LAYER_BELOW] = "counted on the filesystem below it, under that one's inodes",
	[FS_PARTLY] = "cached reads are counted; what it serves past the page cache is not",
	[FS_OUTSIDE] = "its data does not pass through the page cache hooks; hit ratios do not "
		       "apply",
	[FS_UNKNOWN] = "not known to work: selftest on it tells",
};

const char *fs_cover_name(enum fs_cover cover)
{
	static const char *const names[] = {
		[FS_EXACT] = "exact",	  [FS_LAYER_BELOW] = "layer below", [FS_PARTLY] = "partly",
		[FS_OUTSIDE] = "outside", [FS_UNKNOWN] = "unknown",
	};

	return names[cover];
}

enum fs_cover fs_support_classify(const char *type, bool dax, const char **ret_why)
{
	static const struct {
		const char *type;
		enum fs_cover cover;
	} known[] = {
		{"ext2", FS_EXACT},	 {"ext3", FS_EXACT},	    {"ext4", FS_EXACT},
		{"xfs", FS_EXACT},	 {"btrfs", FS_EXACT},	    {"f2fs", FS_EXACT},
		{"nfs", FS_PARTLY},	 {BLOCK_DEVICE, FS_EXACT},  {"overlay", FS_LAYER_BELOW},
		{"nfs4", FS_PARTLY},	 {"cifs", FS_PARTLY},	    {"smb3", FS_PARTLY},
		{"ceph", FS_PARTLY},	 {"9p", FS_PARTLY},	    {"virtiofs", FS_PARTLY},
		{"fuse", FS_PARTLY},	 {"fuseblk", FS_PARTLY},    {"tmpfs", FS_OUTSIDE},
		{"zfs", FS_OUTSIDE},	 {"hugetlbfs", FS_OUTSIDE}, {"devtmpfs", FS_OUTSIDE},
		{"proc", FS_OUTSIDE},	 {"sysfs", FS_OUTSIDE},	    {"cgroup", FS_OUTSIDE},
		{"cgroup2", FS_OUTSIDE},
	};
	enum fs_cover cover = FS_UNKNOWN;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].type, type))
			cover = known[i].cover;
	}
	if (!strncmp(type, "fuse.", 5))
		cover = FS_PARTLY;
	if (dax)
		cover = FS_OUTSIDE;
	*ret_why = dax ? "DAX: its reads and mappings go to the device, past the page cache"
		       : cover_why[cover];
	return cover;
}

static void read_mount(const char *root, uint64_t mount_id, struct fs_support *fs)
{
	char path[PATH_MAX];
	struct mountinfo mi;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	if (mountinfo_read(path, &mi))
		return;
	for (size_t i = 0; i < mi.nr; i++) {
		const struct mount *m = &mi.mounts[i];

		if ((uint64_t)m->id != mount_id)
			continue;
		snprintf(fs->type, sizeof(fs->type), "%s", m->fstype);
		fs->dax = mountinfo_has_option(m->options, "dax") ||
			  mountinfo_has_option(m->options, "dax=always");
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
		if (!sysfile_number(root, path, &kb))
			return kb;
	}
	return -1;
}

/* btrfs has a read-ahead setting of its own and its files a device number that no disk has. */
static long long read_ahead_btrfs(const char *path)
{
	struct btrfs_ioctl_fs_info_args info = {0};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
	return sysfile_number("", name, &kb) ? -1 : kb;
}

void fs_support_describe(const char *root, uint64_t mount_id, unsigned int major,
			 unsigned int minor, struct fs_support *ret_fs)
{
	struct fs_support fs = {.major = major, .minor = minor};

	read_mount(root, mount_id, &fs);
	fs.read_ahead_kb = read_ahead(root, major, minor);
	fs.cover = fs_support_classify(fs.type, fs.dax, &fs.why);
	*ret_fs = fs;
}

int fs_support_read(const char *path, struct fs_support *ret_fs)
{
	struct statx st;

	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_MNT_ID, &st))
		return -errno;
	if (S_ISBLK(st.stx_mode)) {
		fs_support_describe("", 0, st.stx_rdev_major, st.stx_rdev_minor, ret_fs);
		snprintf(ret_fs->type, sizeof(ret_fs->type), BLOCK_DEVICE);
	} else {
		fs_support_describe("", st.stx_mnt_id, st.stx_dev_major, st.stx_dev_minor, ret_fs);
		ret_fs->dax |= !!(st.stx_attributes & STATX_ATTR_DAX);
		if (!strcmp(ret_fs->type, "btrfs") && ret_fs->read_ahead_kb < 0)
			ret_fs->read_ahead_kb = read_ahead_btrfs(path);
	}
	ret_fs->cover = fs_support_classify(ret_fs->type, ret_fs->dax, &ret_fs->why);
	return 0;
}
