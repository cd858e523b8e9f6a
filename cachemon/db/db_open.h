/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only way to open a database, for writers and readers. A name is always a file name; the file
 * and its siblings (-wal, -shm, -journal) are regular files of one owner; the file's contents run
 * nothing, and cost limited time and memory.
 */
#ifndef DB_OPEN_H
#define DB_OPEN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum db_mode {
	DB_READ,
	DB_READ_IMMUTABLE, /* takes no locks, creates no files, ignores a -wal */
	DB_WRITE,	   /* an existing file of the process's user */
	DB_MEMORY,	   /* path is NULL */
	DB_TEMPORARY,	   /* path is NULL: a file without a name, gone when it is closed */
};

/* An SQLite code. As with sqlite3_open(), close *ret_db on failure too; NULL: no memory. */
int db_open(const char *path, enum db_mode mode, sqlite3 **ret_db);

/*
 * All statements of a process share an allowance of SQLite steps, larger for a large file; when it
 * is used up they fail with SQLITE_INTERRUPT. db_open() grants it, and db_renew() grants it again:
 * for each transaction of a writer, each table that runs are deleted from, and each load of a live
 * view.
 */
void db_renew(sqlite3 *db);
/* Restores the limit after another progress handler, without a new allowance. */
void db_keep_limit(sqlite3 *db);
/* For another progress handler: false if the allowance is used up. */
bool db_spend(uint64_t steps);

#endif
