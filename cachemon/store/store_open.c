/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/db/db_open.h"
#include "cachemon/store/migrate.h"
#include "cachemon/store/store_impl.h"
#include "cachemon/base/cleanup.h"

int store_enter(struct store *st, struct errtext *err)
{
	int r = st->as ? access_enter(st->as, &st->saved) : 0;

	return r ? errtext_set(err, r, "cannot act as user %u to write %s: %s", st->as->uid,
			       st->path, strerror(-r))
		 : 0;
}

void store_leave(struct store *st)
{
	if (st->as)
		access_leave(&st->saved);
}

bool store_switches(const struct store *st)
{
	return st->as && st->as->switched;
}

static int no_permission(const struct store *st, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];

	access_denied(st->path, -EACCES, denied);
	return errtext_set(err, -EACCES, "cannot write %s: %s%s. Choose another --db.", st->path,
			   strerror(EACCES), denied);
}

/* The directory part of a path, "." if none. */
static int stat_directory(const char *path, struct stat *ret)
{
	char *copy = strdup(path);
	int r;

	if (!copy)
		return -ENOMEM;
	r = stat(dirname(copy), ret) ? -errno : 0;
	free(copy);
	return r;
}

/*
 * Root without a sudo user writes another user's database as that user, and also a new one in
 * another user's directory, because that user could have put any file there. The owner of the name
 * counts; for a link that is the link's owner.
 */
static int become_owner(struct store *st, struct errtext *err)
{
	struct stat directory;
	struct stat sb;
	bool shared;
	int r;

	if (geteuid() || store_switches(st) || stat_directory(st->path, &directory))
		return 0; /* prepare_file() says what is wrong */
	shared = directory.st_mode & S_ISVTX && directory.st_mode & S_IWOTH;
	if (lstat(st->path, &sb)) {
		/* If root cannot stat it, root could not read it at the end of the run. */
		if (errno != ENOENT)
			return 0;
		sb = directory;
	} else if (shared) {
		return 0; /* any user could have put it there to receive root's runs */
	}
	if (!sb.st_uid)
		return 0;
	r = invoker_of_owner(sb.st_uid, sb.st_gid, &st->owner);
	if (r)
		return errtext_set(err, r, "cannot find the groups of user %u, the owner of %s: %s",
				   sb.st_uid, st->path, strerror(-r));
	st->as = &st->owner;
	return 0;
}

/* Checks what is known before SQLite opens it, for which SQLite has no clear message. */
static int prepare_file(const struct store *st, bool *ret_made, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];
	struct stat sb;
	int fd;

	/* Never opens an existing file here: closing it would drop this process's locks. */
	fd = access_open(AT_FDCWD, st->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
			 ACCESS_REGULAR);
	*ret_made = fd >= 0;
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd != -EEXIST && fd != -EISDIR) {
		access_denied(st->path, fd, denied);
		return errtext_set(err, fd, "cannot create %s: %s%s. Choose another --db.",
				   st->path, strerror(-fd), denied);
	}
	if (stat(st->path, &sb)) {
		int error = -errno;

		access_denied(st->path, error, denied);
		return errtext_set(err, error, "cannot open %s: %s%s. Choose another --db.",
				   st->path, strerror(-error), denied);
	}
	if (!S_ISREG(sb.st_mode)) {
		bool directory = S_ISDIR(sb.st_mode);

		return errtext_set(err, directory ? -EISDIR : -EINVAL,
				   "cannot write %s: it is %s. Give --db a file name.", st->path,
				   directory ? "a directory" : "not a regular file");
	}
	if (sb.st_uid != geteuid())
		return errtext_set(
			err, -EPERM,
			"cannot write %s: it belongs to user %u, and cachemon writes as user %u. "
			"Only its owner may append to a database; choose another --db.",
			st->path, sb.st_uid, geteuid());
	if (!faccessat(AT_FDCWD, st->path, R_OK | W_OK, AT_EACCESS))
		return 0;
	if (errno == EROFS)
		return errtext_set(
			err, -EROFS,
			"cannot write %s: its filesystem is read-only. Choose another --db.",
			st->path);
	return errno == EACCES ? no_permission(st, err) : 0;
}

/* A long wait at the start is better than a run that does not begin. */
static unsigned int opening_busy_ms(const struct store *st)
{
	return 5 * st->limits.busy_ms;
}

/*
 * WAL lets readers read during a write. If two programs switch at the same moment, SQLite gives up
 * at once instead of waiting, so this code waits.
 */
static int enter_wal(struct store *st, struct errtext *err)
{
	const struct timespec pause = {.tv_nsec = 5000000L};
	sqlite3_stmt *stmt;
	bool wal = false;
	int rc;

	sqlite3_busy_timeout(st->db, 0); /* the loop waits */
	for (unsigned int waited_ms = 0;; waited_ms += 5) {
		stmt = NULL;
		rc = sqlite3_prepare_v2(st->db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(stmt);
		if (rc == SQLITE_ROW) {
			const char *mode = (const char *)sqlite3_column_text(stmt, 0);

			wal = mode && !strcmp(mode, "wal");
			rc = SQLITE_OK;
		}
		sqlite3_finalize(stmt);
		if ((rc & 0xff) != SQLITE_BUSY || waited_ms >= opening_busy_ms(st))
			break;
		nanosleep(&pause, NULL);
	}
	sqlite3_busy_timeout(st->db, (int)opening_busy_ms(st));
	if (rc != SQLITE_OK)
		return store_fail(st->db, st->path, rc, "write", NULL, err);
	if (!wal)
		return errtext_set(
			err, -ENOTSUP,
			"cannot write %s: its filesystem cannot share memory between programs. "
			"Choose a --db on a local disk.",
			st->path);
	st->in_wal = true;
	return 0;
}

static int set_up(struct store *st)
{
	int rc;

	sqlite3_extended_result_codes(st->db, 1);
	sqlite3_busy_timeout(st->db, (int)opening_busy_ms(st));
	/* A long reader makes the -wal grow; after it has left, the file shrinks again. Limits
	 * SQLite's page cache to 2000 KiB, whatever its default, because the collector's memory
	 * is limited. */
	rc = sqlite3_exec(st->db,
			  "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; "
			  "PRAGMA cache_size = -2000; PRAGMA cell_size_check = ON; "
			  "PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 16777216",
			  NULL, NULL, NULL);
	return rc;
}

static int mark_cut_runs(struct store *st, struct errtext *err)
{
	st->rc = sqlite3_exec(st->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (st->rc == SQLITE_OK)
		st->rc = writer_mark_cut(st->db);
	return store_finish(st, "write", NULL, err);
}

static int open_prepared(struct store *st, struct errtext *err)
{
	int ret;
	int rc;

	rc = db_open(st->path, DB_WRITE, &st->db);
	if (rc == SQLITE_OK)
		rc = set_up(st);
	if (rc != SQLITE_OK)
		return store_fail(st->db, st->path, rc, "open", NULL, err);
	if (sqlite3_db_readonly(st->db, "main"))
		return no_permission(st, err);
	ret = migrate_check_builtin(st->db, st->path, err);
	if (!ret)
		ret = enter_wal(st, err);
	if (!ret)
		ret = migrate_apply_builtin(st->db, st->path, err);
	if (!ret)
		ret = mark_cut_runs(st, err);
	return ret;
}

/* Removes a file that could not become a database, so that no empty file remains, unless another
 * process has started to use it. */
static int open_database(struct store *st, struct errtext *err)
{
	bool made = false;
	int ret = prepare_file(st, &made, err);
	struct stat sb;

	if (!ret)
		ret = open_prepared(st, err);
	if (ret && made && !lstat(st->path, &sb) && !sb.st_size)
		unlink(st->path);
	return ret;
}

int store_open(const struct store_config *c, struct store **ret_store, struct errtext *err)
{
	struct store *st = calloc(1, sizeof(*st));
	int ret = -ENOMEM;

	if (st)
		st->path = strdup(c->path);
	if (!st || !st->path) {
		errtext_set(err, 0, "cannot open %s: out of memory. Free some memory.", c->path);
		goto out;
	}
	st->as = c->as;
	st->limits = c->limits ? *c->limits : store_limits_default();
	ret = become_owner(st, err);
	if (!ret)
		ret = store_enter(st, err);
	if (!ret) {
		ret = open_database(st, err);
		store_leave(st);
	}
out:
	if (ret) {
		store_close(st);
		return ret;
	}
	*ret_store = st;
	return 0;
}

int store_open_existing(struct store *st, struct errtext *err)
{
	int rc = db_open(st->path, DB_WRITE, &st->db);

	if (rc == SQLITE_OK) {
		sqlite3_extended_result_codes(st->db, 1);
		sqlite3_busy_timeout(st->db, (int)st->limits.busy_ms);
		rc = sqlite3_exec(st->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
	}
	if (rc != SQLITE_OK)
		return store_fail(st->db, st->path, rc, "open", NULL, err);
	if (sqlite3_db_readonly(st->db, "main"))
		return errtext_set(err, -EACCES, "cannot write %s: no permission", st->path);
	return migrate_check_builtin(st->db, st->path, err);
}

int store_finish(struct store *st, const char *doing, const char *note, struct errtext *err)
{
	int ret = 0;

	if (st->rc == SQLITE_OK)
		st->rc = sqlite3_exec(st->db, "COMMIT", NULL, NULL, NULL);
	if (st->rc != SQLITE_OK)
		ret = store_fail(st->db, st->path, st->rc, doing, note, err);
	/* Some failures have rolled back already; a COMMIT that met a lock has not. */
	if (!sqlite3_get_autocommit(st->db))
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	return ret;
}

/*
 * Leaves WAL mode, so that a single file remains, which a user without the right to create -shm can
 * read. This fails while others have it open; then the last of them does it.
 */
static void leave_wal(struct store *st)
{
	sqlite3_busy_timeout(st->db, 0);
	sqlite3_exec(st->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}

void store_close(struct store *st)
{
	bool entered;

	if (!st)
		return;
	statements_finalize(st);
	/* If no process may clean up, the files stay as after a crash. */
	entered = st->path && !store_enter(st, NULL);
	if (entered && st->db)
		db_renew(st->db);
	if (entered && st->in_wal)
		leave_wal(st);
	if (entered) {
		sqlite3_close(st->db);
		store_leave(st);
	}
	for (int i = 0; i < JOB_NR; i++) {
		free(st->job_names[i]);
		free(st->job_selectors[i]);
	}
	invoker_free(&st->owner);
	free(st->path);
	free(st);
}

int64_t store_run_id(const struct store *st)
{
	return st->run_id;
}
