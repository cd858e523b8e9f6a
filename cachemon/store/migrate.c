/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/db/db_rows.h"
#include "cachemon/store/migrate.h"
#include "cachemon/store/store_impl.h"

/* In one transaction, because another program could create the tables in between. */
static int read_identity(sqlite3 *db, int64_t *ret_application, int64_t *ret_version,
			 int64_t *ret_objects)
{
	bool own = sqlite3_get_autocommit(db);
	int rc = own ? sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) : SQLITE_OK;

	if (rc == SQLITE_OK)
		rc = rows_first(db, "SELECT EXISTS (SELECT 1 FROM sqlite_schema)", ret_objects);
	if (rc == SQLITE_OK)
		rc = rows_first(db, "PRAGMA application_id", ret_application);
	if (rc == SQLITE_OK)
		rc = rows_first(db, "PRAGMA user_version", ret_version);
	if (own && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int check_version(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
			 int64_t *ret_version, struct errtext *err)
{
	int64_t newest = nr ? migration_version(&list[nr - 1]) : 0;
	int64_t application = 0;
	int64_t version = 0;
	int64_t objects = 0;
	int rc = read_identity(db, &application, &version, &objects);

	if (rc != SQLITE_OK)
		return store_fail(db, path, rc, "read", NULL, err);
	if (application != STORE_APPLICATION_ID && (application || version || objects))
		return errtext_set(err, -EBADMSG,
				   "cannot write %s: it is a database of another program. "
				   "Choose another --db.",
				   path);
	if (version > newest)
		return errtext_set(
			err, -EPROTONOSUPPORT,
			"cannot write %s: its schema has version %lld, but this cachemon (%s) "
			"supports up to version %lld. Use a newer cachemon or another --db.",
			path, (long long)version, CACHEMON_VERSION, (long long)newest);
	*ret_version = version;
	return 0;
}

int migrate_check(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		  struct errtext *err)
{
	int64_t version;

	return check_version(db, path, list, nr, &version, err);
}

static int apply_migration(sqlite3 *db, const struct migration *m)
{
	char pragma[64];
	int rc = sqlite3_exec(db, m->text, NULL, NULL, NULL);

	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", migration_version(m));
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, pragma, NULL, NULL, NULL);
	return rc;
}

static int apply_missing(sqlite3 *db, const struct migration *list, size_t nr, int64_t version)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < nr && rc == SQLITE_OK; i++)
		if (migration_version(&list[i]) > version)
			rc = apply_migration(db, &list[i]);
	return rc;
}

/* whole creates at once what the list creates in a new database; NULL: there is no such text. */
static int bring_up(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		    const char *whole, struct errtext *err)
{
	int64_t version = 0;
	int ret = check_version(db, path, list, nr, &version, err);
	int rc;

	if (ret || version == (nr ? migration_version(&list[nr - 1]) : 0))
		return ret;
	rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return store_fail(db, path, rc, "create the tables of", NULL, err);
	/* Checked again with the lock: another writer may have migrated in the meantime. */
	ret = check_version(db, path, list, nr, &version, err);
	if (!ret && whole && !version)
		rc = apply_migration(db,
				     &(struct migration){.name = list[nr - 1].name, .text = whole});
	else if (!ret)
		rc = apply_missing(db, list, nr, version);
	if (!ret && rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (!ret && rc != SQLITE_OK)
		ret = store_fail(db, path, rc, "create the tables of", NULL, err);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return ret;
}

int migrate_apply(sqlite3 *db, const char *path, const struct migration *list, size_t nr,
		  struct errtext *err)
{
	return bring_up(db, path, list, nr, NULL, err);
}

enum { BUILTIN_MAX = 64 };

static size_t builtin_list(struct migration list[BUILTIN_MAX])
{
	size_t nr = 0;

	while (nr < BUILTIN_MAX && migration_at(nr, &list[nr]))
		nr++;
	return nr;
}

static int check_tables(sqlite3 *db, const char *path, struct errtext *err)
{
	char what[256];
	int rc = schema_check(db, false, what, sizeof(what));

	if (rc != SQLITE_OK)
		return store_fail(db, path, rc, "read", NULL, err);
	if (!*what)
		return 0;
	return errtext_set(err, -EBADMSG, "cannot write %s: %s. Choose another --db.", path, what);
}

int migrate_check_builtin(sqlite3 *db, const char *path, struct errtext *err)
{
	struct migration list[BUILTIN_MAX];
	int ret = migrate_check(db, path, list, builtin_list(list), err);

	return ret ? ret : check_tables(db, path, err);
}

int migrate_apply_builtin(sqlite3 *db, const char *path, struct errtext *err)
{
	struct migration list[BUILTIN_MAX];

	return bring_up(db, path, list, builtin_list(list), schema_whole(), err);
}
