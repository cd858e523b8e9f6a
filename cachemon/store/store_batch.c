/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transactions of a database: one for each call, or one for the calls of many runs. In the
 * latter each call is a savepoint, so a run that cannot be written takes nothing from the others.
 */
#include <errno.h>

#include "cachemon/db/db_open.h"
#include "cachemon/store/store_impl.h"

static const char SUMS_KEPT[] =
	"The sums are kept and written with the next interval that succeeds.";

static int run(struct store_file *f, const char *sql)
{
	return sqlite3_exec(f->db, sql, NULL, NULL, NULL);
}

int store_commit(struct store_file *f, int rc, const char *doing, const char *note,
		 struct errtext *err)
{
	int ret = 0;

	if (rc == SQLITE_OK)
		rc = run(f, "COMMIT");
	if (rc != SQLITE_OK)
		ret = store_fail(f->db, f->path, rc, doing, note, err);
	/* Some failures have rolled back already; a COMMIT that met a lock has not. */
	if (!sqlite3_get_autocommit(f->db))
		run(f, "ROLLBACK");
	return ret;
}

/* SQLite would continue to write to a file that was moved away, where nobody would find it. */
static int check_place(struct store_file *f)
{
	int moved = 0;

	sqlite3_file_control(f->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved ? SQLITE_READONLY_DBMOVED : SQLITE_OK;
}

static int begin(struct store_file *f)
{
	int rc = check_place(f);

	db_renew(f->db);
	return rc == SQLITE_OK ? run(f, "BEGIN IMMEDIATE") : rc;
}

/* From here to the end of the batch nothing is written. */
static void fail_batch(struct store_file *f, int rc)
{
	f->batch_ret =
		store_commit(f, rc, "write the interval of all runs to", SUMS_KEPT, &f->batch_err);
}

void store_start(struct store *st)
{
	struct store_file *f = st->file;

	if (!f->in_batch) {
		st->rc = begin(f);
		return;
	}
	/* The ledger knows one transaction only. */
	if (st->settle && !f->batch_ret)
		fail_batch(f, SQLITE_MISUSE);
	db_renew(f->db);
	st->rc = f->batch_ret ? SQLITE_ABORT : run(f, "SAVEPOINT call");
}

int store_finish(struct store *st, const char *doing, const char *note, struct errtext *err)
{
	struct store_file *f = st->file;
	int ret;

	if (!f->in_batch)
		return store_commit(f, st->rc, doing, note, err);
	if (f->batch_ret)
		return 0; /* as the batch's end says */
	if (st->rc == SQLITE_OK)
		st->rc = run(f, "RELEASE call");
	if (st->rc == SQLITE_OK)
		return 0;
	if (sqlite3_get_autocommit(f->db)) { /* such a failure is of the file */
		fail_batch(f, st->rc);
		return 0;
	}
	ret = store_fail(f->db, f->path, st->rc, doing, note, err);
	if (run(f, "ROLLBACK TO call; RELEASE call"))
		fail_batch(f, st->rc);
	return ret;
}

static void settle(struct store *st, bool written)
{
	store_settle_fn *fn = st->settle;

	st->settle = NULL;
	fn(st, written);
}

int store_settle(struct store *st, int ret, store_settle_fn *fn)
{
	struct store_file *f = st->file;

	if (!ret && f->in_batch && st->settle)
		return 0; /* the batch has failed, and will settle it */
	st->settle = fn;
	if (ret || !f->in_batch) {
		settle(st, !ret);
		return ret;
	}
	st->next_unsettled = f->unsettled;
	f->unsettled = st;
	return 0;
}

void store_forget(struct store *st)
{
	struct store **at = &st->file->unsettled;

	while (*at && *at != st)
		at = &(*at)->next_unsettled;
	if (*at)
		*at = st->next_unsettled;
}

void store_batch_begin(struct store *any)
{
	struct store_file *f = any->file;
	int rc;

	f->in_batch = true;
	f->batch_ret = store_enter(f, &f->batch_err);
	if (f->batch_ret)
		return;
	rc = begin(f);
	if (rc != SQLITE_OK)
		fail_batch(f, rc);
	store_leave(f);
}

static int end_batch(struct store_file *f, struct errtext *err)
{
	int ret = f->batch_ret;

	if (ret)
		return errtext_set(err, ret, "%s", f->batch_err.text);
	ret = store_enter(f, err);
	if (ret)
		return ret;
	ret = store_commit(f, SQLITE_OK, "write the interval of all runs to", SUMS_KEPT, err);
	store_leave(f);
	return ret;
}

int store_batch_end(struct store *any, struct errtext *err)
{
	struct store_file *f = any->file;
	int ret = end_batch(f, err);

	f->in_batch = false;
	while (f->unsettled) {
		struct store *st = f->unsettled;

		f->unsettled = st->next_unsettled;
		settle(st, !ret);
	}
	return ret;
}
