/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/db_read.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/db/db_rows.h"
#include "cachemon/db/views.h"
#include "cachemon/db/db_open.h"
#include "cachemon/db/schema.h"
#include "cachemon/base/escape.h"
#include "cachemon/access/access.h"

enum { BUSY_TIMEOUT_MS = 5000, NAME_SHOWN = 512 };

static int sqlite_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_READONLY:
		return -EACCES;
	case SQLITE_NOTADB:
		return -EMEDIUMTYPE;
	default:
		return -EIO;
	}
}

static void shown_name(sqlite3 *db, char name[NAME_SHOWN])
{
	const char *path = db ? sqlite3_db_filename(db, "main") : NULL;

	escape_inert_to(name, NAME_SHOWN, path && *path ? path : "the database");
}

int db_read_damaged(sqlite3 *db, const char *how, struct errtext *err)
{
	char name[NAME_SHOWN];

	shown_name(db, name);
	return errtext_set(err, -EIO,
			   "%s is damaged (%s); 'sqlite3 FILE .recover' may save part of it.", name,
			   how);
}

int db_read_error(sqlite3 *db, struct errtext *err)
{
	char name[NAME_SHOWN];
	char said[512];

	shown_name(db, name);
	/* The text quotes names of an untrusted schema. */
	escape_inert_to(said, sizeof(said), sqlite3_errmsg(db));
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_NOTADB:
		errtext_set(err, 0, "%s is not a cachemon database.", name);
		break;
	case SQLITE_CORRUPT:
		db_read_damaged(db, said, err);
		break;
	case SQLITE_INTERRUPT:
		errtext_set(err, 0,
			    "reading %s takes too long for its size: it is damaged. Name "
			    "another database with --db.",
			    name);
		break;
	case SQLITE_NOMEM:
	case SQLITE_TOOBIG:
		errtext_set(
			err, 0,
			"reading %s takes more memory than cachemon allows (%s): it is damaged, or "
			"the machine has too little memory. Name another database with --db.",
			name, said);
		break;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		errtext_set(err, 0, "%s is locked by another program; try again.", name);
		break;
	default:
		errtext_set(err, 0, "cannot read %s: %s.", name, said);
	}
	return sqlite_errno(sqlite3_errcode(db));
}

static int file_check(const char *path, const char *name, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];
	struct stat st;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0) {
		int ret = -errno;

		access_denied(path, ret, denied);
		if (ret == -ENOENT)
			return errtext_set(
				err, ret,
				"no database at %s; record a run with 'cachemon watch', or name "
				"another with --db.",
				name);
		return errtext_set(err, ret, "cannot read the database %s: %s%s.", name,
				   strerror(-ret), denied);
	}
	if (S_ISDIR(st.st_mode))
		return errtext_set(err, -EISDIR, "%s is a directory; --db needs a database file.",
				   name);
	if (!S_ISREG(st.st_mode))
		return errtext_set(err, -EMEDIUMTYPE,
				   "%s is not a regular file; --db needs a database file.", name);
	return 0;
}

/* Reads the first page, so that errors show here. SQLite code. */
static int touch(sqlite3 *db)
{
	sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
	return sqlite3_exec(db,
			    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2000; "
			    "PRAGMA cell_size_check = ON; SELECT 1 FROM sqlite_schema LIMIT 1",
			    NULL, NULL, NULL);
}

static int open_and_touch(const char *path, enum db_mode mode, sqlite3 **ret_db)
{
	int rc = db_open(path, mode, ret_db);

	return rc == SQLITE_OK ? touch(*ret_db) : rc;
}

static bool wal_has_data(const char *path)
{
	char wal[PATH_MAX + 8];
	struct stat st;

	snprintf(wal, sizeof(wal), "%s-wal", path);
	/* SQLite did not create a link. */
	return lstat(wal, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/*
 * A database in WAL mode needs its index file, which a user cannot create in a read-only
 * directory. Without a remaining write-ahead log only the database file matters, and it can be
 * read as immutable. With a log, that would silently leave out the last intervals.
 */
static int open_readable(const char *path, const char *name, sqlite3 **ret_db, struct errtext *err)
{
	int rc = open_and_touch(path, DB_READ, ret_db) & 0xff;

	if (rc == SQLITE_OK)
		return 0;
	if (rc == SQLITE_TOOBIG)
		return errtext_set(err, -ENAMETOOLONG, "the name of the database is too long: %s",
				   name);
	if (rc != SQLITE_CANTOPEN && rc != SQLITE_READONLY && rc != SQLITE_PERM)
		return db_read_error(*ret_db, err);
	if (sqlite3_extended_errcode(*ret_db) == SQLITE_READONLY_ROLLBACK)
		return errtext_set(
			err, -EACCES,
			"cannot read %s: a write to it was interrupted, and %s-journal has the "
			"earlier contents. Record another run into it to restore them.",
			name, name);
	if (wal_has_data(path))
		return errtext_set(
			err, -EACCES,
			"cannot read %s: its last intervals are still in %s-wal, and the directory "
			"is not writable. Copy both files to a directory of your own.",
			name, name);
	sqlite3_close(*ret_db);
	rc = open_and_touch(path, DB_READ_IMMUTABLE, ret_db);
	return rc == SQLITE_OK ? 0 : db_read_error(*ret_db, err);
}

static int check_schema(sqlite3 *db, const char *name, struct errtext *err)
{
	int64_t version = 0;
	int64_t id = 0;
	char what[256] = "";

	if (rows_first(db, "PRAGMA application_id", &id) != SQLITE_OK ||
	    rows_first(db, "PRAGMA user_version", &version) != SQLITE_OK)
		return db_read_error(db, err);
	if (id != STORE_APPLICATION_ID || version < 1)
		return errtext_set(err, -EMEDIUMTYPE, "%s is not a cachemon database.", name);
	if (version > SCHEMA_NEWEST)
		return errtext_set(
			err, -EPROTO,
			"%s was written by a newer cachemon (schema %d, this one reads up to %d); "
			"update cachemon.",
			name, (int)version, SCHEMA_NEWEST);
	if (schema_check(db, true, what, sizeof(what)) != SQLITE_OK)
		return db_read_error(db, err);
	if (*what)
		return errtext_set(err, -EMEDIUMTYPE,
				   "cannot read %s: %s. Name another database with --db.", name,
				   what);
	return 0;
}

/* db is open; closes it after a failure. */
static int prepare(sqlite3 *db, const char *name, struct errtext *err)
{
	int ret = check_schema(db, name, err);

	if (!ret && views_of_counters(db) != SQLITE_OK)
		ret = db_read_error(db, err);
	if (ret < 0)
		sqlite3_close(db);
	return ret;
}

int db_read_open(const char *path, sqlite3 **ret_db, struct errtext *err)
{
	char name[512];
	sqlite3 *db = NULL;
	int ret = 0;

	escape_inert_to(name, sizeof(name), path);
	if (strlen(path) >= PATH_MAX)
		return errtext_set(err, -ENAMETOOLONG, "the name of the database is too long.");
	ret = file_check(path, name, err);
	if (ret < 0)
		return ret;
	ret = open_readable(path, name, &db, err);
	if (ret < 0) {
		sqlite3_close(db);
		return ret;
	}
	ret = prepare(db, name, err);
	if (!ret)
		*ret_db = db;
	return ret;
}

/* Takes map with SQLITE_DESERIALIZE_FREEONCLOSE. */
static int open_map(void *map, size_t size, unsigned int flags, const char *name, sqlite3 **ret_db,
		    struct errtext *err)
{
	sqlite3_int64 bytes = (sqlite3_int64)size;
	sqlite3 *db = NULL;
	int ret, rc = db_open(NULL, DB_MEMORY, &db);

	if (rc == SQLITE_OK)
		rc = sqlite3_deserialize(db, "main", map, bytes, bytes, flags);
	else if (flags & SQLITE_DESERIALIZE_FREEONCLOSE)
		sqlite3_free(map);
	if (rc == SQLITE_OK) {
		db_renew(db);
		rc = touch(db);
	}
	if (rc != SQLITE_OK) {
		ret = db_read_error(db, err);
		sqlite3_close(db);
		return ret;
	}
	ret = prepare(db, name, err);
	if (!ret)
		*ret_db = db;
	return ret;
}

int db_read_image(const struct db_image *image, const char *name, sqlite3 **ret_db,
		  struct errtext *err)
{
	return open_map(image->map, image->bytes, SQLITE_DESERIALIZE_READONLY, name, ret_db, err);
}

int db_read_copy(const struct db_image *image, const char *name, sqlite3 **ret_db,
		 struct errtext *err)
{
	void *own = sqlite3_malloc64(image->bytes);

	if (!own)
		return errtext_set(err, -ENOMEM, "out of memory");
	memcpy(own, image->map, image->bytes);
	return open_map(own, image->bytes,
			SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE, name,
			ret_db, err);
}

static int add_part(sqlite3 *db, const struct db_image *part)
{
	sqlite3_int64 bytes = (sqlite3_int64)part->bytes;
	int rc = sqlite3_deserialize(db, "part", part->map, bytes, bytes,
				     SQLITE_DESERIALIZE_READONLY);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		/* Each table of the part has the same columns. */
		rc = rows_run(db, "SELECT format('INSERT OR REPLACE INTO main.\"%w\" "
				  "SELECT * FROM part.\"%w\"', name, name) FROM part.sqlite_schema "
				  "WHERE type = 'table' AND name NOT GLOB 'sqlite_*'");
	return rc == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : rc;
}

int db_read_add(sqlite3 *db, const struct db_image *part, const char *name, struct errtext *err)
{
	sqlite3 *checked = NULL;
	int ret = db_read_image(part, name, &checked, err);

	if (ret)
		return ret;
	sqlite3_close(checked);
	db_renew(db);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);
	if (sqlite3_exec(db, "ATTACH 'file:part?mode=memory' AS part", NULL, NULL, NULL) ||
	    add_part(db, part))
		ret = db_read_error(db, err);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_exec(db, "DETACH part", NULL, NULL, NULL);
	return ret;
}
