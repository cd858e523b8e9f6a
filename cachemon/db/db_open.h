/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one way to a database, for those that write and those that read. A name is a file's name,
 * whatever it looks like; the file and its siblings (-wal, -shm, -journal) are regular files of one
 * owner; what is in the file runs nothing, and costs a bounded time and memory.
 */
#ifndef DB_OPEN_H
#define DB_OPEN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum db_mode {
	DB_READ,
	DB_READ_IMMUTABLE, /* takes no locks and makes no files; a -wal is not read */
	DB_WRITE,	   /* an existing file of the user that the process acts as */
	DB_MEMORY,	   /* path is NULL */
};

/* An SQLite code. As with sqlite3_open(), *ret_db is to be closed on failure too; NULL: no memory.
 */
int db_open(const char *path, enum db_mode mode, sqlite3 **ret_db);

/*
 * The statements of a process share an allowance of SQLite's steps, larger for a large file; when
 * it is used up they fail with SQLITE_INTERRUPT. db_open() gives it, and db_renew() gives it again:
 * for each transaction of a writer, each table that runs are deleted from, and each load of a live
 * view.
 */
void db_renew(sqlite3 *db);
/* After another progress handler: the limit holds again, and nothing is given. */
void db_keep_limit(sqlite3 *db);
/* For another progress handler: false when the allowance is used up. */
bool db_spend(uint64_t steps);

#endif
