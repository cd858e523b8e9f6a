/* SPDX-License-Identifier: BSD-2-Clause */
/* Brings a database to the newest schema. Owns user_version and application_id. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <sqlite3.h>
#include <stddef.h>

#include "cachemon/db/schema.h"
#include "cachemon/store/store.h"

/* 0, or -errno and a text if the database is not cachemon's, newer than the list, or unreadable. */
int migrate_check(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		  struct errtext *err);
/* All missing migrations in one transaction. */
int migrate_apply(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		  struct errtext *err);
/* The same with the built-in list; rejects a schema that cachemon did not create. */
int migrate_check_builtin(sqlite3 *db, const char *path, struct errtext *err);
int migrate_apply_builtin(sqlite3 *db, const char *path, struct errtext *err);

#endif
