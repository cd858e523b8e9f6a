/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening a database for reading only: one that a writer is filling, one in a directory the user
 * cannot write, one that is not ours. Owns the checks and their words. Never changes a database.
 */
#ifndef DB_READ_H
#define DB_READ_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"

/* 0, or -errno with a line about what is wrong in err. Close with sqlite3_close(). */
int db_read_open(const char *path, sqlite3 **ret_db, struct errtext *err);
/* -errno of SQLite's last complaint, with a line in err that names the database. */
int db_read_error(sqlite3 *db, struct errtext *err);
/* -EIO, with a line about damage that SQLite does not see. */
int db_read_damaged(sqlite3 *db, const char *how, struct errtext *err);

#endif
