/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A home on FUSE, like those of sshfs and gocryptfs: it has the content of the user's directory,
 * and no other user may enter it, not even root.
 *
 *   fusehome UID DIRECTORY PLACE
 *
 * Started by root; mounts and becomes the user. Stays in the foreground; prints a line on stdout
 * once it is mounted.
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *backing;

struct name {
	char path[PATH_MAX];
};

static struct name real(const char *path)
{
	struct name name;

	snprintf(name.path, sizeof(name.path), "%s%s", backing, path);
	return name;
}

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static void *on_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->use_ino = 1;
	puts("ready");
	fflush(stdout);
	return NULL;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *file)
{
	return result(file ? fstat((int)file->fh, st) : lstat(real(path).path, st));
}

static int on_mkdir(const char *path, mode_t mode)
{
	return result(mkdir(real(path).path, mode));
}

static int on_unlink(const char *path)
{
	return result(unlink(real(path).path));
}

static int on_rename(const char *from, const char *to, unsigned int flags)
{
	return flags ? -EINVAL : result(rename(real(from).path, real(to).path));
}

static int on_chmod(const char *path, mode_t mode, struct fuse_file_info *file)
{
	return result(file ? fchmod((int)file->fh, mode) : chmod(real(path).path, mode));
}

static int on_truncate(const char *path, off_t size, struct fuse_file_info *file)
{
	return result(file ? ftruncate((int)file->fh, size) : truncate(real(path).path, size));
}

static int opened(int fd, struct fuse_file_info *file)
{
	file->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int on_open(const char *path, struct fuse_file_info *file)
{
	return opened(open(real(path).path, file->flags), file);
}

static int on_create(const char *path, mode_t mode, struct fuse_file_info *file)
{
	return opened(open(real(path).path, file->flags, mode), file);
}

static int on_read(const char *path, char *to, size_t size, off_t offset,
		   struct fuse_file_info *file)
{
	(void)path;
	return result(pread((int)file->fh, to, size, offset));
}

static int on_write(const char *path, const char *from, size_t size, off_t offset,
		    struct fuse_file_info *file)
{
	(void)path;
	return result(pwrite((int)file->fh, from, size, offset));
}

static int on_release(const char *path, struct fuse_file_info *file)
{
	(void)path;
	return result(close((int)file->fh));
}

static int on_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
	DIR *dir = opendir(real(path).path);
	const struct dirent *entry;

	(void)offset;
	(void)file;
	(void)flags;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) && !fill(buf, entry->d_name, NULL, 0, 0))
		;
	closedir(dir);
	return 0;
}

static const struct fuse_operations operations = {
	.init = on_init,
	.getattr = on_getattr,
	.mkdir = on_mkdir,
	.unlink = on_unlink,
	.rename = on_rename,
	.chmod = on_chmod,
	.truncate = on_truncate,
	.open = on_open,
	.create = on_create,
	.read = on_read,
	.write = on_write,
	.release = on_release,
	.readdir = on_readdir,
};

int main(int argc, char **argv)
{
	char place[32], options[128], *arguments[] = {argv[0], "-f", "-s", place, NULL};
	uid_t uid = argc == 4 ? (uid_t)strtoul(argv[1], NULL, 10) : 0;
	int fd = open("/dev/fuse", O_RDWR);

	if (!uid || fd < 0) {
		fprintf(stderr, "fusehome UID DIRECTORY PLACE, with /dev/fuse\n");
		return 2;
	}
	backing = argv[2];
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, uid,
		 uid);
	snprintf(place, sizeof(place), "/dev/fd/%d", fd);
	if (mount("fusehome", argv[3], "fuse.fusehome", MS_NOSUID | MS_NODEV, options) ||
	    setgid(uid) || setuid(uid)) {
		perror(argv[3]);
		return 1;
	}
	return fuse_main(4, arguments, &operations, NULL);
}
