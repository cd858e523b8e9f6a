/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/db/db_open.h"
#include "cachemon/db/db_read.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/store/merge_plan.h"
#include "cachemon/store/migrate.h"
#include "cachemon/store/store_impl.h"

struct store_merge {
	const struct store_config *config;
	struct store *store; /* NULL: no run was added yet */
	struct merge_plan plan;
	sqlite3_stmt *inserts[MERGE_TABLES_MAX];
	sqlite3_stmt *known;
};

/* A database that is read. */
struct source {
	sqlite3 *db;
	const char *name; /* for messages */
	sqlite3_stmt *selects[MERGE_TABLES_MAX];
	sqlite3_stmt *notes[MERGE_TABLES_MAX]; /* fill the maps of ids */
};

static int prepare_kept(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
	return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

static void finish_source(struct source *s)
{
	for (size_t i = 0; i < MERGE_TABLES_MAX; i++) {
		sqlite3_finalize(s->selects[i]);
		sqlite3_finalize(s->notes[i]);
	}
	sqlite3_close(s->db);
}

static int prepare_source(struct source *s, const struct merge_plan *p)
{
	int rc = sqlite3_exec(s->db, p->maps, NULL, NULL, NULL);

	for (size_t i = 0; i < p->nr && rc == SQLITE_OK; i++) {
		rc = prepare_kept(s->db, p->tables[i].select, &s->selects[i]);
		if (rc == SQLITE_OK && p->tables[i].note)
			rc = prepare_kept(s->db, p->tables[i].note, &s->notes[i]);
	}
	return rc;
}

/* The pages of db as they are, in a file without a name that is gone when it is closed. */
static int copy_pages(sqlite3 *db, sqlite3 **ret_copy)
{
	int rc = db_open(NULL, DB_TEMPORARY, ret_copy);
	sqlite3_backup *b =
		rc == SQLITE_OK ? sqlite3_backup_init(*ret_copy, "main", db, "main") : NULL;

	if (b) {
		sqlite3_backup_step(b, -1);
		rc = sqlite3_backup_finish(b);
	} else if (rc == SQLITE_OK) {
		rc = sqlite3_errcode(*ret_copy);
	}
	return rc;
}

static int migrate_copy(struct source *s, struct errtext *err)
{
	sqlite3 *copy = NULL;
	int rc = copy_pages(s->db, &copy);
	int ret = rc == SQLITE_OK
			  ? 0
			  : store_fail(copy, s->name, rc, "make a temporary copy of", NULL, err);

	if (!ret) {
		db_renew(copy);
		ret = migrate_apply_builtin(copy, s->name, err);
	}
	if (ret) {
		sqlite3_close(copy);
		return ret;
	}
	sqlite3_close(s->db);
	s->db = copy;
	return 0;
}

static int open_source(struct source *s, const char *path, const struct merge_plan *p,
		       struct errtext *err)
{
	int64_t version = 0;
	int ret = db_read_open(path, &s->db, err);

	if (!ret && rows_first(s->db, "PRAGMA user_version", &version))
		ret = db_read_error(s->db, err);
	if (!ret && version < SCHEMA_NEWEST)
		ret = migrate_copy(s, err);
	if (!ret && prepare_source(s, p))
		ret = db_read_error(s->db, err);
	return ret;
}

/* Columns of a run in the source, and in the target. */
#define RUN_COLUMNS "id, uuid, host, started_ns, writer_boot, duration_ns, state FROM main.run "
enum { RUN_ID, RUN_UUID, RUN_HOST, RUN_STARTED, RUN_BOOT, RUN_DURATION, RUN_STATE };

static const char NEXT_RUN[] = "SELECT " RUN_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT 1";
static const char KNOWN_RUN[] = "SELECT " RUN_COLUMNS "WHERE uuid = ?1";

static int open_target(struct store_merge *m, struct errtext *err)
{
	int ret = m->store ? 0 : store_open(m->config, &m->store, err);
	sqlite3 *db;
	int rc;

	if (ret || m->known)
		return ret;
	db = m->store->file->db;
	/* Ids come from the maps, so that they need no check. */
	rc = sqlite3_exec(db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
	for (size_t i = 0; i < m->plan.nr && rc == SQLITE_OK; i++)
		rc = prepare_kept(db, m->plan.tables[i].insert, &m->inserts[i]);
	if (rc == SQLITE_OK)
		rc = prepare_kept(db, KNOWN_RUN, &m->known);
	return rc == SQLITE_OK ? 0 : store_fail(db, m->config->path, rc, "write", NULL, err);
}

/* Why a run was not added: its rows, or the target. */
enum fault { FAULT_NONE, FAULT_SOURCE, FAULT_TARGET };

static enum fault source_fault(const struct source *s, struct errtext *err)
{
	db_read_error(s->db, err);
	return FAULT_SOURCE;
}

static enum fault target_fault(const struct store_merge *m, int rc, struct errtext *err)
{
	store_fail(m->store->file->db, m->config->path, rc, "write", NULL, err);
	return FAULT_TARGET;
}

/* The target refuses values that no cachemon writes. */
static enum fault insert_fault(const struct store_merge *m, const struct source *s, int rc,
			       struct errtext *err)
{
	int primary = rc & 0xff;

	if (primary != SQLITE_CONSTRAINT && primary != SQLITE_MISMATCH && primary != SQLITE_TOOBIG)
		return target_fault(m, rc, err);
	db_read_damaged(s->db, sqlite3_errmsg(m->store->file->db), err);
	return FAULT_SOURCE;
}

static int insert_row(sqlite3_stmt *select, int first, sqlite3_stmt *insert)
{
	int nr = sqlite3_column_count(select);
	int rc = SQLITE_OK;

	for (int i = first; i < nr && rc == SQLITE_OK; i++)
		rc = sqlite3_bind_value(insert, i - first + 1, sqlite3_column_value(select, i));
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_step(insert);
	return sqlite3_reset(insert);
}

static int note_id(sqlite3_stmt *note, int64_t from, int64_t to)
{
	sqlite3_bind_int64(note, 1, from);
	sqlite3_bind_int64(note, 2, to);
	sqlite3_step(note);
	return sqlite3_reset(note);
}

static enum fault copy_table(struct store_merge *m, struct source *s, size_t at, int64_t run_id,
			     struct errtext *err)
{
	sqlite3_stmt *select = s->selects[at], *note = s->notes[at];
	enum fault fault = FAULT_NONE;
	int rc;

	if (sqlite3_bind_parameter_count(select))
		sqlite3_bind_int64(select, 1, run_id);
	while (!fault && sqlite3_step(select) == SQLITE_ROW) {
		rc = insert_row(select, note ? 1 : 0, m->inserts[at]);
		if (rc != SQLITE_OK)
			fault = insert_fault(m, s, rc, err);
		else if (note && note_id(note, sqlite3_column_int64(select, 0),
					 sqlite3_last_insert_rowid(m->store->file->db)))
			fault = source_fault(s, err);
	}
	/* Returns the error of the last step. */
	rc = sqlite3_reset(select);
	return rc != SQLITE_OK && !fault ? source_fault(s, err) : fault;
}

static enum fault copy_rows(struct store_merge *m, struct source *s, int64_t run_id,
			    struct errtext *err)
{
	enum fault fault = FAULT_NONE;

	/* Only the allowance of the source counts: its rows decide how much is written. */
	sqlite3_progress_handler(m->store->file->db, 0, NULL, NULL);
	for (size_t i = 0; i < m->plan.nr && !fault; i++)
		fault = copy_table(m, s, i, run_id, err);
	return fault;
}

/* had: a shorter part of the run in the target; 0: none. */
static enum fault write_run(struct store_merge *m, struct source *s, int64_t run_id, int64_t had,
			    struct errtext *err)
{
	sqlite3 *db = m->store->file->db;
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	enum fault fault;
	char which[40];

	snprintf(which, sizeof(which), "id = %" PRId64, had);
	if (rc == SQLITE_OK && had)
		rc = delete_rows(db, "run", which);
	fault = rc == SQLITE_OK ? copy_rows(m, s, run_id, err) : target_fault(m, rc, err);
	if (!fault && (rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL)) != SQLITE_OK)
		fault = target_fault(m, rc, err);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return fault;
}

static bool same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
	const char *x = (const char *)sqlite3_column_text(a, column);
	const char *y = (const char *)sqlite3_column_text(b, column);

	return x && y && !strcmp(x, y);
}

/* At the same length, a run has these states in this order: open, cut, complete. */
static int rank_of(sqlite3_stmt *run)
{
	const char *state = (const char *)sqlite3_column_text(run, RUN_STATE) ?: "";

	return !strcmp(state, "complete") ? 2 : !strcmp(state, "cut");
}

static bool is_longer(sqlite3_stmt *run, sqlite3_stmt *known)
{
	int64_t length = sqlite3_column_int64(run, RUN_DURATION);
	int64_t had = sqlite3_column_int64(known, RUN_DURATION);

	return length == had ? rank_of(run) > rank_of(known) : length > had;
}

/* run: its row in the source. */
static enum fault add_run(struct store_merge *m, struct source *s, sqlite3_stmt *run,
			  struct store_merged *ret, struct errtext *err)
{
	int64_t id = sqlite3_column_int64(run, RUN_ID), had = 0;
	enum fault fault = FAULT_NONE;
	bool longer = true;

	sqlite3_bind_value(m->known, 1, sqlite3_column_value(run, RUN_UUID));
	if (sqlite3_step(m->known) == SQLITE_ROW) {
		had = sqlite3_column_int64(m->known, RUN_ID);
		longer = is_longer(run, m->known);
		/* Nobody can replace a run of others by another one. */
		if (!same_text(run, m->known, RUN_HOST) || !same_text(run, m->known, RUN_BOOT) ||
		    sqlite3_column_int64(run, RUN_STARTED) !=
			    sqlite3_column_int64(m->known, RUN_STARTED)) {
			db_read_damaged(s->db, "a run has the uuid of another one", err);
			fault = FAULT_SOURCE;
		}
	}
	if (sqlite3_reset(m->known) != SQLITE_OK)
		return target_fault(m, sqlite3_errcode(m->store->file->db), err);
	if (!fault && longer)
		fault = write_run(m, s, id, had, err);
	if (!fault)
		++*(!longer ? &ret->known : had ? &ret->replaced : &ret->added);
	return fault;
}

/* The first run after that id, in one state of the source. */
static enum fault add_next(struct store_merge *m, struct source *s, sqlite3_stmt *next, int64_t *id,
			   struct store_merged *ret, struct errtext *err)
{
	enum fault fault = FAULT_NONE;
	int rc = sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);

	if (rc != SQLITE_OK)
		return source_fault(s, err);
	sqlite3_bind_int64(next, 1, *id);
	rc = sqlite3_step(next);
	*id = rc == SQLITE_ROW ? sqlite3_column_int64(next, RUN_ID) : INT64_MAX;
	if (rc == SQLITE_ROW)
		fault = add_run(m, s, next, ret, err);
	else if (rc != SQLITE_DONE)
		fault = source_fault(s, err);
	sqlite3_reset(next);
	/* Empties the maps, too. */
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return fault;
}

static int add_runs(struct store_merge *m, struct source *s, struct store_merged *ret,
		    struct errtext *err)
{
	sqlite3_stmt *next = NULL;
	struct errtext first = {""};
	int64_t id = INT64_MIN;
	int rc = prepare_kept(s->db, NEXT_RUN, &next);

	while (rc == SQLITE_OK && id < INT64_MAX && !ret->stop) {
		struct errtext why = {""};
		enum fault fault = add_next(m, s, next, &id, ret, &why);

		ret->stop = fault == FAULT_TARGET;
		if (ret->stop || (fault && !ret->left_out++))
			first = why;
	}
	sqlite3_finalize(next);
	if (rc != SQLITE_OK)
		return db_read_error(s->db, err);
	if (ret->stop)
		return errtext_set(err, -EIO, "%s", first.text);
	if (!ret->left_out)
		return 0;
	return errtext_set(err, -EBADMSG, "%zu run%s of %s left out: %s", ret->left_out,
			   ret->left_out == 1 ? "" : "s", s->name, first.text);
}

struct store_merge *store_merge_begin(const struct store_config *c)
{
	struct store_merge *m = calloc(1, sizeof(*m));

	if (m)
		m->config = c;
	if (m && merge_plan_make(&m->plan, NULL)) {
		store_merge_end(m);
		m = NULL;
	}
	return m;
}

int store_merge_add(struct store_merge *m, const char *path, struct store_merged *ret,
		    struct errtext *err)
{
	char name[512];
	struct source s = {.name = name};
	int r;

	*ret = (struct store_merged){0};
	escape_inert_to(name, sizeof(name), path);
	r = open_source(&s, path, &m->plan, err);
	if (!r) {
		r = open_target(m, err);
		ret->stop = r != 0;
	}
	if (!r)
		r = add_runs(m, &s, ret, err);
	finish_source(&s);
	return r;
}

void store_merge_end(struct store_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->plan.nr; i++)
		sqlite3_finalize(m->inserts[i]);
	sqlite3_finalize(m->known);
	store_close(m->store);
	merge_plan_free(&m->plan);
	free(m);
}
