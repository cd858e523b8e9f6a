/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The prepared statements of a store, and the values bound to them, from left to right. Owns the
 * names of the statements; store_statement.c builds their texts, with the counters from the table
 * of counters.
 */
#ifndef STORE_STATEMENT_H
#define STORE_STATEMENT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachemon/figures/counters.h"

struct store;
struct store_file;

enum statement {
	S_RUN_INSERT,
	S_RUN_UPDATE,
	S_RUN_INTERVAL,
	S_PROBE,
	S_UNMEASURED,
	S_JOB_INSERT,
	S_JOB_UPDATE,
	S_JOB_CGROUP,
	S_DIRECTORY_INSERT,
	S_DIRECTORY_UPDATE,
	S_FILE_INSERT,
	S_FILE_UPDATE,
	S_FILE_DELETE,
	S_FILESYSTEM_INSERT,
	S_FILESYSTEM_UPDATE,
	S_ADVICE,
	S_ADVICE_FORGET,
	S_INTERVAL,
	S_JOB_INTERVAL,
	S_FILE_INTERVAL,
	S_DIRECTORY_INTERVAL,
	S_MERGE_NEXT,
	S_MERGE_INTERVAL,
	S_MERGE_JOB,
	S_MERGE_FILE,
	S_MERGE_DIRECTORY,
	S_MERGE_DELETE,
	S_MERGE_TRIM,
	S_MERGE_TRIM_DIRECTORIES,
	S_REFERENCE_SAMPLE,
	S_REFERENCE_PAGE,
	S_REFERENCE_CHUNK,
	S_REFERENCE_DROP_PAGES,
	S_REFERENCE_DROP_CHUNKS,
	S_REFERENCE_ABSENT,
	S_TRACED_INSERT,
	S_TRACED_UPDATE,
	S_TRACE_CHUNK,
	S_TRACE_ABSENT,
	S_MACHINE,
	S_MACHINE_INTERVAL,
	S_MERGE_MACHINE,
	S_DEVICE,
	S_DEVICE_CHANGE,
	S_DEVICE_READS,
	S_JOB_LIMIT,
	S_INTERFERENCE,
	S_SHED,
	S_ESTIMATE,
	S_WAIT,
	S_WAIT_DROP,
	S_FILE_WAIT,
	S_FILE_WAIT_DROP,
	S_WORDING,
	S_HEAD,
	S_MARK,
	S_PASS_INTERVAL,
	S_MERGE_PASS,
	S_PROCESS_INTERVAL,
	S_MERGE_PROCESS,
	S_MERGE_TRIM_PROCESSES,
	S_NR,
};

/* SQLite codes. Prepares all statements except those already prepared. */
int statements_prepare(struct store_file *f);
int statement_prepare(struct store_file *f, enum statement which);
void statements_finalize(struct store_file *f);

/* The store remembers a failure: nothing more is written in its transaction. */
struct binder {
	struct store *st;
	sqlite3_stmt *stmt;
	int column;
};

/* The first value of a statement that is prepared. */
struct binder bind_first(struct store *st, enum statement s);
void bind_int(struct binder *b, int64_t v);
void bind_known(struct binder *b, bool known, int64_t v);
void bind_count(struct binder *b, int64_t v);	    /* < 0: unknown */
void bind_real(struct binder *b, double v);	    /* < 0: unknown */
void bind_text(struct binder *b, const char *text); /* NULL: NULL */
void bind_bytes(struct binder *b, const char *bytes);
void bind_blob(struct binder *b, const void *data,
	       size_t len); /* must stay valid until it has run */
void bind_counters(struct binder *b, const struct counters *c, const bool *measured);
/* Steps a statement without result rows, unless something has failed before. False: it did not
 * run, or failed. */
bool bind_run(struct binder *b);

#endif
