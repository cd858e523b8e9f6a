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

int store_enter(struct store_file *f, struct errtext *err)
{
	int r = f->as ? access_enter(f->as, &f->saved) : 0;

	return r ? errtext_set(err, r, "cannot act as user %u to write %s: %s", f->as->uid, f->path,
			       strerror(-r))
		 : 0;
}

void store_leave(struct store_file *f)
{
	if (f->as)
		access_leave(&f->saved);
}

static bool is_switched(const struct store_file *f)
{
	return f->as && f->as->switched;
}

bool store_switches(const struct store *st)
{
	return is_switched(st->file);
}

static int no_memory(const char *path, struct errtext *err)
{
	return errtext_set(err, -ENOMEM, "cannot open %s: out of memory. Free some memory.", path);
}

static int no_permission(const struct store_file *f, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];

	access_denied(f->path, -EACCES, denied);
	return errtext_set(err, -EACCES, "cannot write %s: %s%s. Choose another --db.", f->path,
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
static int become_owner(struct store_file *f, struct errtext *err)
{
	struct stat directory;
	struct stat sb;
	bool shared;
	int r;

	if (geteuid() || is_switched(f) || stat_directory(f->path, &directory))
		return 0; /* prepare_file() says what is wrong */
	shared = directory.st_mode & S_ISVTX && directory.st_mode & S_IWOTH;
	if (lstat(f->path, &sb)) {
		/* If root cannot stat it, root could not read it at the end of the run. */
		if (errno != ENOENT)
			return 0;
		sb = directory;
	} else if (shared) {
		return 0; /* any user could have put it there to receive root's runs */
	}
	if (!sb.st_uid)
		return 0;
	r = invoker_of_owner(sb.st_uid, sb.st_gid, &f->owner);
	if (r)
		return errtext_set(err, r, "cannot find the groups of user %u, the owner of %s: %s",
				   sb.st_uid, f->path, strerror(-r));
	f->as = &f->owner;
	return 0;
}

/* Checks what is known before SQLite opens it, for which SQLite has no clear message. */
static int prepare_file(const struct store_file *f, bool *ret_made, struct errtext *err)
{
	char denied[ACCESS_DENIED_MAX];
	struct stat sb;
	int fd;

	/* Never opens an existing file here: closing it would drop this process's locks. */
	fd = access_open(AT_FDCWD, f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
			 ACCESS_REGULAR);
	*ret_made = fd >= 0;
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd != -EEXIST && fd != -EISDIR) {
		access_denied(f->path, fd, denied);
		return errtext_set(err, fd, "cannot create %s: %s%s. Choose another --db.", f->path,
				   strerror(-fd), denied);
	}
	if (stat(f->path, &sb)) {
		int error = -errno;

		access_denied(f->path, error, denied);
		return errtext_set(err, error, "cannot open %s: %s%s. Choose another --db.",
				   f->path, strerror(-error), denied);
	}
	if (!S_ISREG(sb.st_mode)) {
		bool directory = S_ISDIR(sb.st_mode);

		return errtext_set(err, directory ? -EISDIR : -EINVAL,
				   "cannot write %s: it is %s. Give --db a file name.", f->path,
				   directory ? "a directory" : "not a regular file");
	}
	if (sb.st_uid != geteuid())
		return errtext_set(
			err, -EPERM,
			"cannot write %s: it belongs to user %u, and cachemon writes as user %u. "
			"Only its owner may append to a database; choose another --db.",
			f->path, sb.st_uid, geteuid());
	if (!faccessat(AT_FDCWD, f->path, R_OK | W_OK, AT_EACCESS))
		return 0;
	if (errno == EROFS)
		return errtext_set(
			err, -EROFS,
			"cannot write %s: its filesystem is read-only. Choose another --db.",
			f->path);
	return errno == EACCES ? no_permission(f, err) : 0;
}

/* A long wait at the start is better than a run that does not begin. */
static unsigned int opening_busy_ms(const struct store_file *f)
{
	return 5 * f->limits.busy_ms;
}

/*
 * WAL lets readers read during a write. If two programs switch at the same moment, SQLite gives up
 * at once instead of waiting, so this code waits.
 */
static int enter_wal(struct store_file *f, struct errtext *err)
{
	const struct timespec pause = {.tv_nsec = 5000000L};
	sqlite3_stmt *stmt;
	bool wal = false;
	int rc;

	sqlite3_busy_timeout(f->db, 0); /* the loop waits */
	for (unsigned int waited_ms = 0;; waited_ms += 5) {
		stmt = NULL;
		rc = sqlite3_prepare_v2(f->db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(stmt);
		if (rc == SQLITE_ROW) {
			const char *mode = (const char *)sqlite3_column_text(stmt, 0);

			wal = mode && !strcmp(mode, "wal");
			rc = SQLITE_OK;
		}
		sqlite3_finalize(stmt);
		if ((rc & 0xff) != SQLITE_BUSY || waited_ms >= opening_busy_ms(f))
			break;
		nanosleep(&pause, NULL);
	}
	sqlite3_busy_timeout(f->db, (int)opening_busy_ms(f));
	if (rc != SQLITE_OK)
		return store_fail(f->db, f->path, rc, "write", NULL, err);
	if (!wal)
		return errtext_set(
			err, -ENOTSUP,
			"cannot write %s: its filesystem cannot share memory between programs. "
			"Choose a --db on a local disk.",
			f->path);
	f->in_wal = true;
	return 0;
}

static int set_up(struct store_file *f)
{
	int rc;

	sqlite3_extended_result_codes(f->db, 1);
	sqlite3_busy_timeout(f->db, (int)opening_busy_ms(f));
	/* A long reader makes the -wal grow; after it has left, the file shrinks again. Limits
	 * SQLite's page cache to 2000 KiB, whatever its default, because the collector's memory
	 * is limited. */
	rc = sqlite3_exec(f->db,
			  "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; "
			  "PRAGMA cache_size = -2000; PRAGMA cell_size_check = ON; "
			  "PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 16777216",
			  NULL, NULL, NULL);
	return rc;
}

static int mark_cut_runs(struct store_file *f, struct errtext *err)
{
	int rc = sqlite3_exec(f->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = writer_mark_cut(f->db);
	return store_commit(f, rc, "write", NULL, err);
}

static int open_prepared(struct store_file *f, struct errtext *err)
{
	int ret;
	int rc;

	rc = db_open(f->path, DB_WRITE, &f->db);
	if (rc == SQLITE_OK)
		rc = set_up(f);
	if (rc != SQLITE_OK)
		return store_fail(f->db, f->path, rc, "open", NULL, err);
	if (sqlite3_db_readonly(f->db, "main"))
		return no_permission(f, err);
	ret = migrate_check_builtin(f->db, f->path, err);
	if (!ret)
		ret = enter_wal(f, err);
	if (!ret)
		ret = migrate_apply_builtin(f->db, f->path, err);
	if (!ret)
		ret = mark_cut_runs(f, err);
	return ret;
}

/* Removes a file that could not become a database, so that no empty file remains, unless another
 * process has started to use it. */
static int open_database(struct store_file *f, struct errtext *err)
{
	bool made = false;
	int ret = prepare_file(f, &made, err);
	struct stat sb;

	if (!ret)
		ret = open_prepared(f, err);
	if (ret && made && !lstat(f->path, &sb) && !sb.st_size)
		unlink(f->path);
	return ret;
}

static int open_file(const struct store_config *c, struct store_file *f, struct errtext *err)
{
	int ret;

	f->path = strdup(c->path);
	if (!f->path)
		return no_memory(c->path, err);
	f->as = c->as;
	f->limits = c->limits ? *c->limits : store_limits_default();
	ret = become_owner(f, err);
	if (!ret)
		ret = store_enter(f, err);
	if (!ret) {
		ret = open_database(f, err);
		store_leave(f);
	}
	return ret;
}

static struct store *new_store(struct store_file *f)
{
	struct store *st = f ? calloc(1, sizeof(*st)) : NULL;

	if (!st)
		return NULL;
	st->file = f;
	f->users++;
	return st;
}

int store_open(const struct store_config *c, struct store **ret_store, struct errtext *err)
{
	struct store_file *f = calloc(1, sizeof(*f));
	struct store *st = new_store(f);
	int ret = st ? open_file(c, f, err) : no_memory(c->path, err);

	if (!st)
		free(f);
	if (ret) {
		store_close(st);
		return ret;
	}
	*ret_store = st;
	return 0;
}

int store_open_beside(struct store *other, struct store **ret_store, struct errtext *err)
{
	struct store *st = new_store(other->file);

	if (!st)
		return no_memory(other->file->path, err);
	*ret_store = st;
	return 0;
}

int store_open_existing(struct store_file *f, struct errtext *err)
{
	int rc = db_open(f->path, DB_WRITE, &f->db);

	if (rc == SQLITE_OK) {
		sqlite3_extended_result_codes(f->db, 1);
		sqlite3_busy_timeout(f->db, (int)f->limits.busy_ms);
		rc = sqlite3_exec(f->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
	}
	if (rc != SQLITE_OK)
		return store_fail(f->db, f->path, rc, "open", NULL, err);
	if (sqlite3_db_readonly(f->db, "main"))
		return errtext_set(err, -EACCES, "cannot write %s: no permission", f->path);
	return migrate_check_builtin(f->db, f->path, err);
}

/*
 * Leaves WAL mode, so that a single file remains, which a user without the right to create -shm can
 * read. This fails while others have it open; then the last of them does it.
 */
static void leave_wal(struct store_file *f)
{
	sqlite3_busy_timeout(f->db, 0);
	sqlite3_exec(f->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}

static void close_file(struct store_file *f)
{
	bool entered;

	statements_finalize(f);
	/* If no process may clean up, the files stay as after a crash. */
	entered = f->path && !store_enter(f, NULL);
	if (entered && f->db)
		db_renew(f->db);
	if (entered && f->in_wal)
		leave_wal(f);
	if (entered) {
		sqlite3_close(f->db);
		store_leave(f);
	}
	invoker_free(&f->owner);
	free(f->path);
	free(f);
}

void store_close(struct store *st)
{
	if (!st)
		return;
	store_forget(st);
	if (!--st->file->users)
		close_file(st->file);
	for (int i = 0; i < JOB_NR; i++) {
		free(st->job_names[i]);
		free(st->job_selectors[i]);
	}
	free(st);
}

int64_t store_run_id(const struct store *st)
{
	return st->run_id;
}
