/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/db_open.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/db/vfs.h"

enum { STEPS_EACH = 2000 }; /* of SQLite's machine, between two looks at the allowance */

/* Steps and not time: a slow machine takes longer, and reads the same. Some seconds on a fast one.
 * A report over a million files, of 300 MB, takes 2 s. */
#define STEPS_BASE     UINT64_C(300000000)
#define STEPS_PER_BYTE 5
#define STEPS_MAX      UINT64_C(20000000000)

/* Of all connections of the process. The analysis of the largest run needs 100 MiB. */
#define HEAP_MAX (256LL << 20)

/* Of the process, as SQLite's limit of memory is: it has one database that it reads or writes.
 * There is no limit before the first one is opened. */
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
	struct stat st;

	steps_left = STEPS_BASE;
	if (path && *path && !stat(path, &st))
		steps_left += (uint64_t)st.st_size * STEPS_PER_BYTE;
	if (steps_left > STEPS_MAX)
		steps_left = STEPS_MAX;
	db_keep_limit(db);
}

/* Percent-encodes what means something in a URI. "./" keeps ":memory:" a file's name. */
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

/* The schema of a file that anybody may have written runs nothing. */
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

/* The longest value that is stored is a chunk of a trace, of some 100 KiB; of a text that a reader
 * makes of rows, 1 MiB. */
static void limit(sqlite3 *db)
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
		{SQLITE_LIMIT_TRIGGER_DEPTH, 10}, /* a cascade of foreign keys is one */
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
	int rc = db_vfs_register();

	*ret_db = NULL;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_hard_heap_limit64(HEAP_MAX);
	if (mode == DB_MEMORY)
		flags |= SQLITE_OPEN_MEMORY | SQLITE_OPEN_CREATE;
	else if (!make_uri(path, mode == DB_READ_IMMUTABLE ? "?immutable=1" : "", uri, sizeof(uri)))
		return SQLITE_TOOBIG;
	rc = sqlite3_open_v2(uri, ret_db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			     DB_VFS_NAME);
	if (rc == SQLITE_OK)
		rc = distrust(*ret_db);
	if (rc != SQLITE_OK)
		return rc;
	limit(*ret_db);
	/* One in memory shares the allowance of the file that it serves. */
	if (mode == DB_MEMORY)
		db_keep_limit(*ret_db);
	else
		db_renew(*ret_db);
	return SQLITE_OK;
}
