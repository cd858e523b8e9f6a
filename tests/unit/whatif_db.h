/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A database in memory with traced files, as far as the what-if of readahead needs it. The traces
 * are recordings of real kernels.
 */
#ifndef WHATIF_DB_H
#define WHATIF_DB_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/readahead/whatif_readahead.h"
#include "tape.h"

static inline void run(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error))
		fail_msg("%s: %s", sql, error);
}

static inline sqlite3 *new_db(const char *kernel)
{
	char sql[160];
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	run(db,
	    "CREATE TABLE run(id INTEGER PRIMARY KEY, kernel, page_size_bytes);"
	    "CREATE TABLE job(id INTEGER PRIMARY KEY, run_id);"
	    "CREATE TABLE traced_file(id INTEGER PRIMARY KEY, job_id, dev_major, dev_minor, ino, "
	    "gen, "
	    "path BLOB, fstype, size_bytes, ra_pages, io_pages, max_order, stratum, stands_for, "
	    "state, reason, began);"
	    "CREATE TABLE trace_chunk(traced_file_id, seq, events, data);"
	    "CREATE TABLE trace_absent(job_id, reason);"
	    "INSERT INTO job VALUES(1, 1);");
	snprintf(sql, sizeof(sql), "INSERT INTO run VALUES(1, '%s', 4096)", kernel);
	run(db, sql);
	return db;
}

/* Adds a run of the recording of 6.18 as file number id. */
static inline void add_file(sqlite3 *db, int id, const char *pattern, unsigned int kb,
			    const char *stratum, const char *stands_for)
{
	FILE *f = fopen(FIXTURES "/readahead/6.18-ext4.txt", "re");
	char sql[256];
	sqlite3_stmt *q;
	struct tape t;

	assert_non_null(f);
	assert_true(tape_record(&t, f, pattern, kb));
	fclose(f);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO traced_file VALUES(%d, 1, 8, 1, %d, 0, x'2f66', 'ext4', 16777316, "
		 "%u, %d, 9, %s, "
		 "%s, 'whole', NULL, 'cold')",
		 id, id, kb / 4, TAPE_IO_PAGES, stratum, stands_for);
	run(db, sql);
	assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO trace_chunk VALUES(?1, 0, ?2, ?3)", -1,
					    &q, NULL),
			 SQLITE_OK);
	sqlite3_bind_int(q, 1, id);
	sqlite3_bind_int(q, 2, (int)t.events);
	sqlite3_bind_blob(q, 3, t.data, (int)t.size, SQLITE_TRANSIENT);
	assert_int_equal(sqlite3_step(q), SQLITE_DONE);
	sqlite3_finalize(q);
	tape_free(&t);
}

static inline struct whatif_readahead load(sqlite3 *db)
{
	struct whatif_readahead w;
	struct errtext err = {0};

	if (whatif_readahead_load(db, 1, &w, &err))
		fail_msg("%s", err.text);
	return w;
}

static inline int candidate(const char *name)
{
	char text[32];

	for (size_t i = 1; i < WHATIF_CANDIDATES; i++) {
		whatif_setting_name(i, 0, text, sizeof(text));
		if (strcmp(text, name) == 0)
			return (int)i;
	}
	fail_msg("no setting %s", name);
	return -1;
}

#endif
