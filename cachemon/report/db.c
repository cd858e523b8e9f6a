/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/db.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/escape.h"
#include "store/migrate.h"

enum { SCHEMA_VERSION = SCHEMA_NEWEST, BUSY_TIMEOUT_MS = 5000 };

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

int report_db_error(sqlite3 *db, char *err, size_t errlen)
{
	const char *path = sqlite3_db_filename(db, "main");
	char name[512];
	char said[512];

	escape_inert_to(name, sizeof(name), path ? path : "");
	/* It quotes the names of a schema that anybody may have written. */
	escape_inert_to(said, sizeof(said), sqlite3_errmsg(db));
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_NOTADB:
		snprintf(err, errlen, "%s is not a cachemon database.", name);
		break;
	case SQLITE_CORRUPT:
		snprintf(err, errlen,
			 "%s is damaged (%s); 'sqlite3 FILE .recover' may save part of it.", name,
			 said);
		break;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		snprintf(err, errlen, "%s is locked by another program; try again.", name);
		break;
	default:
		snprintf(err, errlen, "cannot read %s: %s.", name, said);
	}
	return sqlite_errno(sqlite3_errcode(db));
}

static int file_check(const char *path, const char *name, char *err, size_t errlen)
{
	struct stat st;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0) {
		int ret = -errno;

		if (ret == -ENOENT)
			snprintf(err, errlen,
				 "no database at %s; record a run with 'cachemon watch', or name "
				 "another with --db.",
				 name);
		else
			snprintf(err, errlen, "cannot read the database %s: %s.", name,
				 strerror(-ret));
		return ret;
	}
	if (S_ISDIR(st.st_mode)) {
		snprintf(err, errlen, "%s is a directory; --db needs a database file.", name);
		return -EISDIR;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(err, errlen, "%s is not a regular file; --db needs a database file.",
			 name);
		return -EMEDIUMTYPE;
	}
	return 0;
}

/* Percent-encodes what means something in a URI. "./" keeps ":memory:" a file's name. */
static int uri_make(const char *path, const char *query, char *ret_uri, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = (size_t)snprintf(ret_uri, size, "file:%s", path[0] == '/' ? "//" : "./");

	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("/._-", *p);

		if (n + 4 >= size)
			return -ENAMETOOLONG;
		if (plain) {
			ret_uri[n++] = (char)*p;
		} else {
			ret_uri[n++] = '%';
			ret_uri[n++] = hex[*p >> 4];
			ret_uri[n++] = hex[*p & 15];
		}
	}
	if (n + strlen(query) >= size)
		return -ENAMETOOLONG;
	memcpy(ret_uri + n, query, strlen(query) + 1);
	return 0;
}

/* Opens and reads the first page, so that whatever is wrong shows here. SQLite code. */
static int open_and_touch(const char *uri, sqlite3 **ret_db)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);

	*ret_db = db;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
	/* The file may come from anywhere: its schema is not to run anything for us. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
}

static bool wal_has_data(const char *path)
{
	char wal[PATH_MAX + 8];
	struct stat st;

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return stat(wal, &st) == 0 && st.st_size > 0;
}

/*
 * A database in WAL mode needs its index file, which a user who cannot write the directory cannot
 * make. When no write-ahead log is left over, nothing but the database file counts and it can be
 * read as immutable; with a log, that would silently leave out the last intervals.
 */
static int open_any(const char *path, const char *name, sqlite3 **ret_db, char *err, size_t errlen)
{
	char uri[3 * PATH_MAX + 64];
	int ret = uri_make(path, "", uri, sizeof(uri));
	int rc = 0;

	if (ret < 0) {
		snprintf(err, errlen, "the name of the database is too long: %s", name);
		return ret;
	}
	rc = open_and_touch(uri, ret_db) & 0xff;
	if (rc == SQLITE_OK)
		return 0;
	if (rc != SQLITE_CANTOPEN && rc != SQLITE_READONLY && rc != SQLITE_PERM)
		return report_db_error(*ret_db, err, errlen);
	if (wal_has_data(path)) {
		snprintf(err, errlen,
			 "cannot read %s: its last intervals are still in %s-wal and the directory "
			 "cannot be written. Copy both files to a directory of your own.",
			 name, name);
		return -EACCES;
	}
	sqlite3_close(*ret_db);
	*ret_db = NULL;
	ret = uri_make(path, "?immutable=1", uri, sizeof(uri));
	if (ret < 0) {
		snprintf(err, errlen, "the name of the database is too long: %s", name);
		return ret;
	}
	rc = open_and_touch(uri, ret_db);
	return rc == SQLITE_OK ? 0 : report_db_error(*ret_db, err, errlen);
}

static int query_int(sqlite3 *db, const char *sql, int *ret_value)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		*ret_value = sqlite3_column_int(stmt, 0);
	rc = sqlite3_finalize(stmt);
	return rc == SQLITE_OK ? 0 : sqlite_errno(rc);
}

static int schema_check(sqlite3 *db, const char *name, char *err, size_t errlen)
{
	int version = 0;
	int tables = 0;
	int id = 0;
	int ret = query_int(db, "PRAGMA application_id", &id);

	if (!ret)
		ret = query_int(db, "PRAGMA user_version", &version);

	if (!ret)
		ret = query_int(db,
				"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
				"name IN ('run', 'job', 'probe', 'file', 'directory')",
				&tables);
	if (ret < 0)
		return report_db_error(db, err, errlen);
	if (id == STORE_APPLICATION_ID && version > SCHEMA_VERSION) {
		snprintf(err, errlen,
			 "%s was written by a newer cachemon (schema %d, this one reads up to %d); "
			 "update cachemon.",
			 name, version, SCHEMA_VERSION);
		return -EPROTO;
	}
	if (id != STORE_APPLICATION_ID || version < 1 || version > SCHEMA_VERSION || tables != 5) {
		snprintf(err, errlen, "%s is not a cachemon database.", name);
		return -EMEDIUMTYPE;
	}
	return 0;
}

int report_db_open(const char *path, sqlite3 **ret_db, char *err, size_t errlen)
{
	char name[512];
	sqlite3 *db = NULL;
	int ret = 0;

	escape_inert_to(name, sizeof(name), path);
	if (strlen(path) >= PATH_MAX) {
		snprintf(err, errlen, "the name of the database is too long.");
		return -ENAMETOOLONG;
	}
	ret = file_check(path, name, err, errlen);
	if (ret < 0)
		return ret;
	ret = open_any(path, name, &db, err, errlen);
	if (!ret)
		ret = schema_check(db, name, err, errlen);
	if (ret < 0) {
		sqlite3_close(db);
		return ret;
	}
	*ret_db = db;
	return 0;
}
