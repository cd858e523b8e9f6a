/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the store, shared by its own files only. Owns the struct. */
#ifndef STORE_IMPL_H
#define STORE_IMPL_H

#include <sqlite3.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/account/traces.h"
#include "cachemon/store/store_statement.h"
#include "cachemon/store/store.h"
#include "cachemon/access/access.h"
#include "cachemon/access/invoker.h"

/* One step of rolling up. target is the row being filled; rows before next_ns are done. */
struct tier {
	int64_t target;
	uint64_t bucket;
	uint64_t next_ns;
};

enum { TIER_MINUTE, TIER_QUARTER, TIER_FINE, TIER_NR };

/* A database that is open, and what all runs that are written through it share. */
struct store_file {
	sqlite3 *db;
	char *path;
	const struct invoker *as; /* NULL: the process is that user */
	struct invoker owner;	  /* owner of another user's database that root writes */
	struct access saved;
	struct store_limits limits;
	sqlite3_stmt *statements[S_NR];
	unsigned int users; /* stores */
	bool in_wal;
	bool in_batch;
	int batch_ret; /* 0, or why the batch was rolled back, with a text */
	struct errtext batch_err;
	struct store *unsettled; /* took part in the batch */
};

/* Whether the transaction of the latest call was committed. */
typedef void store_settle_fn(struct store *st, bool written);

struct store {
	struct store_file *file;
	int rc;		/* SQLite code of the first failure of a call */
	int64_t run_id; /* 0: none */
	int64_t job_ids[JOB_NR];
	char *job_names[JOB_NR];
	char *job_selectors[JOB_NR];
	bool is_auto;
	uint64_t full_ns; /* limits.full_ns, or less if the intervals are short */
	struct store_measured measured;
	bool waits_stored[JOB_NR]; /* the database may have lengths of waits */

	/* as of the latest sample, written or not */
	uint64_t duration_ns;
	uint64_t read_on_ns;
	bool sliced;
	uint64_t intervals_lost;
	struct sample_cost cost;
	struct loss_counts losses;
	int64_t recursion_misses; /* -1: unknown */
	uint64_t marks_dropped;
	struct rollup {
		struct tier tiers[TIER_NR];
		uint64_t coarse_ns; /* 0: the length of intervals did not change */
	} rollup;
	uint64_t fine_end_ns;
	struct traces *traces;	/* NULL: absent */
	const char *no_traces;	/* the reason, until it is written */
	const char *gone[C_NR]; /* why it is no longer measured, until that is written */

	/* of the latest call, until it is settled */
	store_settle_fn *settle;
	struct store *next_unsettled;
	struct ledger *ledger;
	struct reference_sample *references;
	struct {
		struct rollup rollup;
		struct store_measured measured;
	} before;
};

/* store_error.c: rc is an SQLite code; returns -errno, and says what failed on path. note is
 * added, if not NULL. */
int store_fail(sqlite3 *db, const char *path, int rc, const char *doing, const char *note,
	       struct errtext *err);

/* Writing functions leave an error in st->rc, and write nothing after one. */

/* store_rows.c */
void rows_write_run(struct store *st, const struct ledger *l, const char *state,
		    const int *exit_status);
void rows_write_sums(struct store *st, struct ledger *l, bool files);
void rows_write_interval(struct store *st, struct ledger *l, const struct sample *s);
void bind_key(struct binder *b, const struct file_key *key);

/* store_traces.c: the records since the last write */
void references_write(struct store *st, const struct reference_sample *s);
void traces_write(struct store *st);
/* The transaction was committed, or rolled back. */
void traces_settle(struct store *st, bool written);

/* store_machine.c: the machine at the end of that interval, if the sample has it. */
void machine_rows_write(struct store *st, const struct sample *s, int64_t interval);

/* store_begin.c */
void run_write_unmeasured(struct store *st, const struct store_unmeasured *list, size_t nr);

/* store_rollup.c */
/* The age at which intervals of this length are merged. */
uint64_t rollup_full_ns(const struct store_limits *limits, uint64_t interval_ns);
void rollup_step(struct store *st);
/* Completes what store_coarsen() began. */
void rollup_coarsen(struct store *st);
/* Continues to merge a run that has ended, nr rows at most; false: it is merged. */
bool rollup_ended(struct store *st, struct tier *t, uint64_t bucket_ns, unsigned int nr);

/* store_tables.c: calls each for every table with rows that belong to rows of main.TABLE, by the
 * schema, then for the table itself. which: the condition for their rows. A table may come twice.
 * An SQLite code. */
typedef int store_table_fn(sqlite3 *db, const char *table, const char *which);
int store_each_table(sqlite3 *db, const char *table, const char *which, store_table_fn *each);

/* store_delete.c: inside a transaction, with foreign_keys off. Rows of main.TABLE, and the rows of
 * other tables that belong to them. An SQLite code. */
int delete_rows(sqlite3 *db, const char *table, const char *which);

/* store_writer.c: an SQLite code */
int writer_mark_cut(sqlite3 *db);
struct writer {
	char boot[64];
	int64_t pidns;
	int64_t pid;
	int64_t start_ticks;
};
void writer_self(struct writer *ret_writer);

/* store_open.c: creating and opening the -wal and -shm files too always uses the rights of their
 * owner. store_enter() returns 0, or -errno with a line in err. */
int store_enter(struct store_file *f, struct errtext *err);
void store_leave(struct store_file *f);
/* An existing database, unchanged, in the journal mode of its writer: creates no file, and
 * ignores other writers' runs. 0, or -errno with a text. */
int store_open_existing(struct store_file *f, struct errtext *err);

/* store_batch.c */
/* COMMIT, or ROLLBACK if rc is an error; returns 0 or the -errno of the whole. */
int store_commit(struct store_file *f, int rc, const char *doing, const char *note,
		 struct errtext *err);
/* A call's part of a transaction, from start to finish; the whole transaction outside of a batch.
 * After a failure st->rc has an error. */
void store_start(struct store *st);
int store_finish(struct store *st, const char *doing, const char *note, struct errtext *err);
/* Calls settle once, when it is known whether the call's rows are in the database: now, or at the
 * end of the batch. Returns ret, the call's result. */
int store_settle(struct store *st, int ret, store_settle_fn *settle);
/* A store that is closed is not settled any more. */
void store_forget(struct store *st);

#endif
