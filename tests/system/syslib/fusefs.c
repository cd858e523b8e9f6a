/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A read-only FUSE filesystem with one file, which has the bytes of FILE:
 *
 *   fusefs cached|kept|direct FILE PLACE
 *
 * cached: through the page cache, the default of FUSE, which drops the pages at each open. kept:
 * each open answers FOPEN_KEEP_CACHE. direct: each open answers FOPEN_DIRECT_IO. Stays in the
 * foreground; prints a line on stdout once it is mounted.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool direct, kept;
static int backing;

static void *on_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	/* With more in flight, the kernel begins readahead, gives up and removes the pages from
	 * the cache again. */
	conn->max_background = 4096;
	conn->congestion_threshold = 4096;
	config->use_ino = 1;
	puts("ready");
	fflush(stdout);
	return NULL;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *file)
{
	(void)file;
	if (fstat(backing, st))
		return -errno;
	if (!strcmp(path, "/")) {
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		st->st_ino = 1;
		return 0;
	}
	st->st_ino = 2;
	return strcmp(path, "/data") ? -ENOENT : 0;
}

static int on_open(const char *path, struct fuse_file_info *file)
{
	if (strcmp(path, "/data") != 0)
		return -ENOENT;
	if ((file->flags & O_ACCMODE) != O_RDONLY)
		return -EROFS;
	file->direct_io = direct;
	file->keep_cache = kept;
	return 0;
}

static int on_read(const char *path, char *to, size_t size, off_t offset,
		   struct fuse_file_info *file)
{
	ssize_t got = pread(backing, to, size, offset);

	(void)path;
	(void)file;
	return got < 0 ? -errno : (int)got;
}

static const struct fuse_operations operations = {
	.init = on_init,
	.getattr = on_getattr,
	.open = on_open,
	.read = on_read,
};

int main(int argc, char **argv)
{
	char *arguments[] = {argv[0], "-f", "-s", argc == 4 ? argv[3] : "", NULL};

	direct = argc == 4 && !strcmp(argv[1], "direct");
	kept = argc == 4 && !strcmp(argv[1], "kept");
	if (argc != 4 || (!direct && !kept && strcmp(argv[1], "cached") != 0)) {
		fprintf(stderr, "fusefs cached|kept|direct FILE PLACE\n");
		return 2;
	}
	backing = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (backing < 0) {
		perror(argv[2]);
		return 1;
	}
	return fuse_main(4, arguments, &operations, NULL);
}
