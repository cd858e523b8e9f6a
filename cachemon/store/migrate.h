/* SPDX-License-Identifier: BSD-2-Clause */
/* Brings a database to the newest schema. Owns user_version and application_id. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include <sqlite3.h>
#include <stddef.h>

#include "store/store.h"

enum { STORE_APPLICATION_ID = 1667330920 }; /* as in sql/001_schema.sql */

struct migration {
	const char *name; /* "001_schema": begins with the version that it leads to */
	const char *text;
};

/* 0, or -errno and a text when the database is not ours, newer than the list, or unreadable. */
int migrate_check(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		  char err[STORE_ERROR_MAX]);
/* All missing steps in one transaction. */
int migrate_apply(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		  char err[STORE_ERROR_MAX]);
/* migrate_check() and migrate_apply() with the built-in list. */
int migrate_check_builtin(sqlite3 *db, const char *path, char err[STORE_ERROR_MAX]);
int migrate_apply_builtin(sqlite3 *db, const char *path, char err[STORE_ERROR_MAX]);

#endif
