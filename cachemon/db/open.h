/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one way to a database, for those that write and those that read. A name is a file's name,
 * whatever it looks like; the file and its siblings (-wal, -shm, -journal) are regular files of one
 * owner; what is in the file runs nothing, and costs a bounded time and memory.
 */
#ifndef DB_OPEN_H
#define DB_OPEN_H

#include <sqlite3.h>

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
 * Statements of a connection may take some seconds of CPU time, more for a large file; after that
 * they fail with SQLITE_INTERRUPT. The time begins with db_open(), and again here: for each
 * transaction of a writer, each load of a live view, and after another progress handler.
 */
void db_restart_time(sqlite3 *db);

#endif
