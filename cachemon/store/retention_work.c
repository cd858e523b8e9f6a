/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/base/clock.h"
#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/store/retention.h"
#include "cachemon/store/store_impl.h"

/* Rows of intervals in one piece; each has at most limits.file_rows rows of files. */
enum { PIECE_ROWS = 32 };

struct level {
	struct retention_run after; /* up to here the runs are merged */
	struct tier tier;	    /* of the run that is being merged */
	int64_t merging;	    /* its id; 0: none */
};

struct retention {
	struct retention_policy policy;
	int64_t deleting;
	struct level minutes, quarters;
};

struct retention *retention_new(const struct retention_policy *p)
{
	struct retention *r = calloc(1, sizeof(*r));

	if (r)
		r->policy = *p;
	return r;
}

void retention_free(struct retention *r)
{
	free(r);
}

void retention_change(struct retention *r, const struct retention_policy *p)
{
	r->policy = *p;
}

/* The first run that ended after another one. */
static struct retention_run find_ended(sqlite3 *db, const struct retention_run *after, int *rc)
{
	const int64_t params[] = {(int64_t)after->ended_ns, after->id};
	struct retention_run run = {0};
	struct arena arena = {0}; /* no texts */
	struct rows rows;

	if (*rc != SQLITE_OK)
		return run;
	rows = rows_begin(db, &arena,
			  "SELECT id, started_ns + duration_ns AS ended FROM run WHERE "
			  "state <> 'open' AND (ended, id) > (?1, ?2) ORDER BY ended, id LIMIT 1",
			  2, params);
	if (rows_next(&rows)) {
		run.id = rows_value(&rows, 0);
		run.ended_ns = (uint64_t)rows_value(&rows, 0);
	}
	if (rows_finish(&rows))
		*rc = sqlite3_errcode(db);
	arena_free(&arena);
	return run;
}

/* A watch of its own has no external id. Root may end more commands in one interval than are kept,
 * and their rows are given after it. */
static int find_surplus(sqlite3 *db, int64_t *ret)
{
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "SELECT id FROM (SELECT r.id, r.state, row_number() OVER (PARTITION BY j.uid "
		 "ORDER BY r.started_ns + r.duration_ns DESC, r.id DESC) AS newer FROM job j "
		 "JOIN run r ON r.id = j.run_id WHERE j.slot = 1 AND j.kind = 'command' AND "
		 "j.external_id IS NOT NULL AND j.uid <> 0) WHERE newer > %d AND state <> 'open' "
		 "ORDER BY newer DESC LIMIT 1",
		 RETENTION_COMMANDS);
	return rows_first(db, sql, ret);
}

static int read_facts(const struct retention *r, sqlite3 *db, struct retention_facts *f)
{
	static const struct retention_run none;
	int64_t used = 0;
	int rc = rows_first(db,
			    "SELECT (page_count - freelist_count) * page_size FROM "
			    "pragma_page_count, pragma_freelist_count, pragma_page_size",
			    &used);

	f->used_bytes = (uint64_t)used;
	f->deleting = r->deleting;
	f->oldest = find_ended(db, &none, &rc);
	f->minutes = find_ended(db, &r->minutes.after, &rc);
	f->quarters = find_ended(db, &r->quarters.after, &rc);
	return rc ? rc : find_surplus(db, &f->surplus);
}

/* First the timeline, a part of it at a time; then the run with its sums, which the ledger
 * bounds. */
static void delete_some(struct retention *r, struct store *st)
{
	sqlite3 *db = st->file->db;
	int64_t rest = 0;
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "id IN (SELECT id FROM main.interval WHERE run_id = %" PRId64
		 " ORDER BY start_ns LIMIT %d)",
		 r->deleting, PIECE_ROWS);
	st->rc = delete_rows(db, "interval", sql);
	snprintf(sql, sizeof(sql), "SELECT 1 FROM main.interval WHERE run_id = %" PRId64 " LIMIT 1",
		 r->deleting);
	if (st->rc == SQLITE_OK)
		st->rc = rows_first(db, sql, &rest);
	if (st->rc != SQLITE_OK || rest)
		return;
	snprintf(sql, sizeof(sql), "id = %" PRId64, r->deleting);
	st->rc = delete_rows(db, "run", sql);
	/* Another run may get its number. */
	r->deleting = r->minutes.merging = r->quarters.merging = 0;
}

static void merge_some(struct level *l, struct store *st, const struct retention_run *run,
		       uint64_t bucket_ns)
{
	if (l->merging != run->id)
		l->tier = (struct tier){0};
	l->merging = run->id;
	st->run_id = run->id;
	if (rollup_ended(st, &l->tier, bucket_ns, PIECE_ROWS))
		return;
	l->merging = 0;
	l->after = *run;
}

static int delete_piece(struct retention *r, struct store_file *f, int64_t run_id,
			struct errtext *err)
{
	struct store st = {.file = f};
	int ret;

	r->deleting = run_id;
	/* delete_rows() finds the rows of children; SQLite would search for them row by row. */
	sqlite3_exec(f->db, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
	store_start(&st);
	if (st.rc == SQLITE_OK)
		delete_some(r, &st);
	ret = store_finish(&st, "delete an old run from", NULL, err);
	sqlite3_exec(f->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
	return ret;
}

static int merge_piece(struct retention *r, struct store_file *f, enum retention_act act,
		       const struct retention_facts *facts, struct errtext *err)
{
	struct store st = {.file = f};

	store_start(&st);
	if (st.rc == SQLITE_OK)
		st.rc = statements_prepare(f);
	if (st.rc == SQLITE_OK && act == RETENTION_MINUTES)
		merge_some(&r->minutes, &st, &facts->minutes, f->limits.minute_ns);
	else if (st.rc == SQLITE_OK)
		merge_some(&r->quarters, &st, &facts->quarters, f->limits.quarter_ns);
	return store_finish(&st, "merge old rows of", NULL, err);
}

static int work_piece(struct retention *r, struct store_file *f, uint64_t now_ns, bool *ret_more,
		      struct errtext *err)
{
	struct retention_facts facts = {.now_ns = now_ns};
	const struct retention before = *r;
	struct retention_choice choice;
	int rc = read_facts(r, f->db, &facts), ret;

	if (rc != SQLITE_OK)
		return store_fail(f->db, f->path, rc, "read", NULL, err);
	choice = retention_choose(&r->policy, &facts);
	*ret_more = choice.act != RETENTION_NOTHING;
	if (choice.act == RETENTION_NOTHING)
		return 0;
	ret = choice.act == RETENTION_DELETE ? delete_piece(r, f, choice.run_id, err)
					     : merge_piece(r, f, choice.act, &facts, err);
	if (ret)
		*r = before;
	return ret;
}

int retention_work(struct retention *r, struct store *any, uint64_t now_ns, uint64_t until_ns,
		   struct errtext *err)
{
	struct store_file *f = any->file;
	bool more = true;
	int ret = store_enter(f, err);

	if (ret)
		return ret;
	sqlite3_busy_timeout(f->db, 0); /* the next call tries again */
	do {
		db_renew(f->db);
		ret = work_piece(r, f, now_ns, &more, err);
	} while (!ret && more && clock_now_ns() < until_ns);
	sqlite3_busy_timeout(f->db, (int)f->limits.busy_ms);
	store_leave(f);
	return ret;
}
