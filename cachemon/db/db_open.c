/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/db_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STEPS_EACH = 2000
}; /* steps of SQLite's virtual machine between two checks of the allowance */

/* Limits steps instead of time: a slow machine takes longer, but reads the same. Some seconds on
 * a fast one. A report over a million files (300 MB) takes 2 s. */
#define STEPS_BASE     UINT64_C(300000000)
#define STEPS_PER_BYTE 5
#define STEPS_MAX      UINT64_C(20000000000)

/* For all connections of the process. The analysis of the largest run needs 100 MiB. */
#define HEAP_MAX (256LL << 20)

/* Per process, like SQLite's memory limit: a process reads or writes one database. There is no
 * limit before the first one is opened. */
static uint64_t steps_left = UINT64_MAX;

bool db_spend(uint64_t steps)
{
	steps_left -= steps < steps_left ? steps : steps_left;
	return steps_left;
}

static int is_used_up(void *arg)
{
	return !db_spend(STEPS_EACH);
}

void db_keep_limit(sqlite3 *db)
{
	sqlite3_progress_handler(db, STEPS_EACH, is_used_up, NULL);
}

void db_renew(sqlite3 *db)
{
	const char *path = sqlite3_db_filename(db, "main");
	sqlite3_int64 bytes = 0;
	struct stat st;

	if (path && *path && !stat(path, &st))
		bytes = st.st_size;
	else
		sqlite3_serialize(db, "main", &bytes, SQLITE_SERIALIZE_NOCOPY);
	steps_left = STEPS_BASE + (bytes > 0 ? (uint64_t)bytes * STEPS_PER_BYTE : 0);
	if (steps_left > STEPS_MAX)
		steps_left = STEPS_MAX;
	db_keep_limit(db);
}

#define VFS_NAME "cachemon"

/*
 * The files that SQLite may open. Rejected are links in place of a database or its siblings,
 * siblings of another owner, files of another user for writing, and any file that a journal names.
 */

/* The database whose sibling this file name is. */
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

/* 0, or the errno with which to refuse opening it. */
static int judge_opened(const char *path, int flags, int fd)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	uid_t self = (uid_t)setfsuid((uid_t)-1); /* user who opens and creates the files */
	struct stat database;
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	if (!S_ISREG(st.st_mode)) {
		/* SQLite syncs directories, reads the one device and fills descriptors with the
		 * other. */
		bool known = S_ISDIR(st.st_mode) || !strcmp(path, "/dev/urandom") ||
			     !strcmp(path, "/dev/null");

		return known && !writes ? 0 : EPERM;
	}
	if (writes && st.st_uid != self)
		return EPERM;
	/* SQLite only creates siblings, so this is a hard link to another file of this user. */
	if (writes && (flags & O_CREAT) && st.st_nlink > 1)
		return EPERM;
	if (database_of(path, &database) && st.st_uid != database.st_uid && st.st_uid != self)
		return EPERM;
	return 0;
}

/* Does not wait for a FIFO. */
static int open_judged(const char *path, int flags, int mode)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
	int error = fd < 0 ? 0 : judge_opened(path, flags, fd);

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

/* Registers the VFS "cachemon". An SQLite code; may be called again. */
static int register_vfs(void)
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
	vfs.zName = VFS_NAME;
	vfs.pAppData = base;
	vfs.xOpen = vfs_open;
	rc = sqlite3_vfs_register(&vfs, 0);
	if (rc != SQLITE_OK)
		vfs.zName = NULL;
	return rc;
}

/* Percent-encodes special characters of a URI. "./" makes ":memory:" a file name. */
static bool make_uri(const char *path, const char *query, char *ret_uri, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = (size_t)snprintf(ret_uri, size, "file:%s", path[0] == '/' ? "//" : "./");

	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("/._-", *p);

		if (n + 4 >= size)
			return false;
		if (plain) {
			ret_uri[n++] = (char)*p;
		} else {
			ret_uri[n++] = '%';
			ret_uri[n++] = hex[*p >> 4];
			ret_uri[n++] = hex[*p & 15];
		}
	}
	if (n + strlen(query) >= size)
		return false;
	memcpy(ret_uri + n, query, strlen(query) + 1);
	return true;
}

/* The schema of an untrusted file runs nothing. */
static int distrust(sqlite3 *db)
{
	static const struct {
		int option;
		int value;
	} options[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_DQS_DDL, 0},
		{SQLITE_DBCONFIG_DQS_DML, 0},
		{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(db, options[i].option, options[i].value, NULL);
	return rc;
}

/* The longest stored value is a chunk of a trace, of some 100 KiB; the longest text built from
 * rows has 1 MiB. */
static void limit_costs(sqlite3 *db)
{
	static const struct {
		int id;
		int value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, 16 << 20},
		{SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
		{SQLITE_LIMIT_COLUMN, 500},
		{SQLITE_LIMIT_EXPR_DEPTH, 200},
		{SQLITE_LIMIT_COMPOUND_SELECT, 100},
		{SQLITE_LIMIT_VDBE_OP, 1 << 20},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 1000},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 10}, /* a cascade of foreign keys counts as one */
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i].id, limits[i].value);
}

int db_open(const char *path, enum db_mode mode, sqlite3 **ret_db)
{
	char uri[3 * PATH_MAX + 64] = ":memory:";
	int flags = mode == DB_READ || mode == DB_READ_IMMUTABLE ? SQLITE_OPEN_READONLY
								 : SQLITE_OPEN_READWRITE;
	int rc = register_vfs();

	*ret_db = NULL;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_hard_heap_limit64(HEAP_MAX);
	if (mode == DB_TEMPORARY)
		*uri = '\0';
	if (!path)
		flags |= SQLITE_OPEN_CREATE | (mode == DB_MEMORY ? SQLITE_OPEN_MEMORY : 0);
	else if (!make_uri(path, mode == DB_READ_IMMUTABLE ? "?immutable=1" : "", uri, sizeof(uri)))
		return SQLITE_TOOBIG;
	rc = sqlite3_open_v2(uri, ret_db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, VFS_NAME);
	if (rc == SQLITE_OK)
		rc = distrust(*ret_db);
	if (rc != SQLITE_OK)
		return rc;
	limit_costs(*ret_db);
	/* An in-memory database shares the allowance of its file. */
	if (mode == DB_MEMORY)
		db_keep_limit(*ret_db);
	else
		db_renew(*ret_db);
	return SQLITE_OK;
}
