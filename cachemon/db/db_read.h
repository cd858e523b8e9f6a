/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a database read-only, even one that a writer is filling, one in a read-only directory, or
 * one of another program. Owns the checks and their messages. Never changes a database.
 */
#ifndef DB_READ_H
#define DB_READ_H

#include <sqlite3.h>
#include <stddef.h>

#include "cachemon/base/errtext.h"

/* 0, or -errno with the error in err. Close with sqlite3_close(). */
int db_read_open(const char *path, sqlite3 **ret_db, struct errtext *err);

/* A database in memory. */
struct db_image {
	void *map; /* not written to */
	size_t bytes;
};
/* The same for an image, which outlives the connection. name: for messages. */
int db_read_image(const struct db_image *image, const char *name, sqlite3 **ret_db,
		  struct errtext *err);
/* The same, in memory of its own, to which rows can be added. */
int db_read_copy(const struct db_image *image, const char *name, sqlite3 **ret_db,
		 struct errtext *err);
/* Adds the rows of an image with the same schema to such a database, all or none. They replace
 * rows with the same key. */
int db_read_add(sqlite3 *db, const struct db_image *part, const char *name, struct errtext *err);
/* -errno of SQLite's last error, with a line in err that names the database. */
int db_read_error(sqlite3 *db, struct errtext *err);
/* -EIO, with a line about damage that SQLite does not detect. */
int db_read_damaged(sqlite3 *db, const char *how, struct errtext *err);

#endif
