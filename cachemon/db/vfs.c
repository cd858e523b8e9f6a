/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

/* The database of a file that is named like a sibling of one. */
static bool database_of(const char *path, struct stat *ret)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	char name[PATH_MAX];
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t end = strlen(ends[i]);

		if (len <= end || len - end >= sizeof(name) || strcmp(path + len - end, ends[i]))
			continue;
		memcpy(name, path, len - end);
		name[len - end] = '\0';
		return !lstat(name, ret);
	}
	return false;
}

/* 0, or the errno that opening it is to fail with. */
static int judge(const char *path, int flags, int fd)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	uid_t self = (uid_t)setfsuid((uid_t)-1); /* files are opened, and made, as this user */
	struct stat database;
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	if (!S_ISREG(st.st_mode)) {
		/* Directories are synced; SQLite reads the one device and fills descriptors with
		 * the other. */
		bool known = S_ISDIR(st.st_mode) || !strcmp(path, "/dev/urandom") ||
			     !strcmp(path, "/dev/null");

		return known && !writes ? 0 : EPERM;
	}
	if (writes && st.st_uid != self)
		return EPERM;
	/* Another name of some file of this user's. SQLite makes siblings, and nothing else. */
	if (writes && (flags & O_CREAT) && st.st_nlink > 1)
		return EPERM;
	if (database_of(path, &database) && st.st_uid != database.st_uid && st.st_uid != self)
		return EPERM;
	return 0;
}

/* A FIFO must not be waited for. */
static int open_judged(const char *path, int flags, int mode)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
	int error = fd < 0 ? 0 : judge(path, flags, fd);

	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

/* A journal may name a file that lists the databases of one transaction. cachemon has no such
 * transactions, and SQLite would delete the file. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *ret_flags)
{
	sqlite3_vfs *base = vfs->pAppData;

	file->pMethods = NULL;
	if (flags & SQLITE_OPEN_SUPER_JOURNAL)
		return SQLITE_CANTOPEN;
	return base->xOpen(base, name, file, flags, ret_flags);
}

int db_vfs_register(void)
{
	/* SQLite keeps the address for the life of the process. */
	static sqlite3_vfs vfs;
	sqlite3_vfs *base = NULL;
	int rc = SQLITE_OK;

	if (vfs.zName)
		return SQLITE_OK;
	base = sqlite3_vfs_find(NULL);
	if (!base || base->iVersion < 3 || !base->xSetSystemCall)
		return SQLITE_CANTOPEN;
	rc = base->xSetSystemCall(base, "open", (sqlite3_syscall_ptr)open_judged);
	if (rc != SQLITE_OK)
		return rc;
	vfs = *base;
	vfs.pNext = NULL;
	vfs.zName = DB_VFS_NAME;
	vfs.pAppData = base;
	vfs.xOpen = vfs_open;
	rc = sqlite3_vfs_register(&vfs, 0);
	if (rc != SQLITE_OK)
		vfs.zName = NULL;
	return rc;
}
