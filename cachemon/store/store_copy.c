/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/store/store_impl.h"

static int copy_pragma(sqlite3 *db, const char *name)
{
	char sql[64];
	int64_t value = 0;
	int rc;

	snprintf(sql, sizeof(sql), "PRAGMA main.%s", name);
	rc = rows_first(db, sql, &value);
	snprintf(sql, sizeof(sql), "PRAGMA copy.%s = %" PRId64, name, value);
	return rc ? rc : sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int copy_rows(sqlite3 *db, const char *table, const char *which)
{
	_cleanup_free_ char *sql = NULL;

	if (text_print(&sql, "INSERT OR IGNORE INTO copy.%s SELECT * FROM main.%s WHERE %s", table,
		       table, which))
		return SQLITE_NOMEM;
	db_renew(db);
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Rows of intervals are left out. */
static int copy_sums(sqlite3 *db, const char *table, const char *which)
{
	bool timeline = !strcmp(table, "interval") ||
			!sqlite3_table_column_metadata(db, "main", table, "interval_id", NULL, NULL,
						       NULL, NULL, NULL);

	return timeline ? SQLITE_OK : copy_rows(db, table, which);
}

/* The newest intervals, or those after one that the run has. */
static int copy_part(sqlite3 *db, const char *which, int64_t run_id, int64_t after)
{
	int64_t from = 0;
	char text[320];
	int rc;

	snprintf(text, sizeof(text),
		 "SELECT max(coalesce((SELECT id FROM main.interval WHERE run_id = %" PRId64
		 " ORDER BY start_ns DESC LIMIT 1 OFFSET %d), -1), "
		 "coalesce((SELECT id FROM main.interval WHERE id = %" PRId64
		 " AND run_id = %" PRId64 "), -1))",
		 run_id, STORE_COPY_NEWEST, after, run_id);
	rc = rows_first(db, text, &from);
	if (!rc)
		rc = store_each_table(db, "run", which, copy_sums);
	snprintf(text, sizeof(text), "run_id = %" PRId64 " AND id > %" PRId64, run_id, from);
	return rc ? rc : store_each_table(db, "interval", text, copy_rows);
}

static int copy_run(sqlite3 *db, int64_t run_id, int64_t after, int64_t *ret_found)
{
	char which[64];
	/* The same tables, by their own texts: "CREATE TABLE run (…". */
	int rc = rows_run(db,
			  "SELECT format('CREATE %s copy.%s', upper(type), "
			  "substr(sql, length('CREATE ' || type || ' ') + 1)) "
			  "FROM main.sqlite_schema WHERE name NOT GLOB 'sqlite_*' ORDER BY rowid");

	if (!rc)
		rc = copy_pragma(db, "application_id");
	if (!rc)
		rc = copy_pragma(db, "user_version");
	snprintf(which, sizeof(which), "id = %" PRId64, run_id);
	if (!rc)
		rc = after < 0 ? store_each_table(db, "run", which, copy_rows)
			       : copy_part(db, which, run_id, after);
	return rc ? rc : rows_first(db, "SELECT count(*) FROM copy.run", ret_found);
}

/* One consistent state of the database. No run: *ret_found is 0; nothing new: *ret_news is. */
static int copy_state(sqlite3 *db, int64_t run_id, int64_t after, int64_t *ret_found,
		      int64_t *ret_news)
{
	char text[160];
	int rc;

	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);
	rc = sqlite3_exec(db, "ATTACH 'file:copy?mode=memory' AS copy; BEGIN", NULL, NULL, NULL);
	snprintf(text, sizeof(text),
		 "SELECT id != %" PRId64 " FROM main.interval WHERE run_id = %" PRId64
		 " ORDER BY start_ns DESC LIMIT 1",
		 after, run_id);
	if (!rc && after > 0)
		rc = rows_first(db, text, ret_news);
	if (!rc && *ret_news)
		rc = copy_run(db, run_id, after, ret_found);
	return rc ? rc : sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}

static int write_all(int fd, const unsigned char *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, data + at, len - at);

		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 0;
}

static int sealed_file(const unsigned char *data, size_t len, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("cachemon-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int e = fd < 0 ? -errno : write_all(fd, data, len);

	if (!e && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		e = -errno;
	if (!e)
		*ret_fd = TAKE_FD(fd);
	return e;
}

static int give_copy(sqlite3 *db, const char *path, int *ret_fd, struct errtext *err)
{
	sqlite3_int64 len = 0;
	unsigned char *data = sqlite3_serialize(db, "copy", &len, 0);
	int e = data ? sealed_file(data, (size_t)len, ret_fd) : -ENOMEM;

	sqlite3_free(data);
	return e ? errtext_set(err, e, "cannot copy a run of %s: %s", path, strerror(-e)) : 0;
}

static int copy(const char *path, int64_t run_id, int64_t after, int *ret_fd, struct errtext *err)
{
	sqlite3 *db = NULL;
	int64_t found = 0, news = 1;
	int rc = db_open(path, DB_READ, &db), ret = 0;

	if (!rc)
		rc = copy_state(db, run_id, after, &found, &news);
	if (rc)
		ret = store_fail(db, path, rc, "copy a run of", NULL, err);
	else if (news && !found)
		ret = errtext_set(err, -ENOENT, "%s has no run %" PRId64, path, run_id);
	else if (news)
		ret = give_copy(db, path, ret_fd, err);
	else
		*ret_fd = -1;
	sqlite3_close(db);
	return ret;
}

int store_copy_run(const char *path, int64_t run_id, int *ret_fd, struct errtext *err)
{
	return copy(path, run_id, -1, ret_fd, err);
}

int store_copy_new(const char *path, int64_t run_id, int64_t after, int *ret_fd,
		   struct errtext *err)
{
	return copy(path, run_id, after, ret_fd, err);
}
