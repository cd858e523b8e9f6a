/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill_readahead.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static const char table[] =
	"CREATE TEMP TABLE IF NOT EXISTS analysis_whatif_readahead ("
	"job_id INTEGER, traced_file_id INTEGER, setting TEXT, misses INTEGER, prefetched INTEGER, "
	"wasted INTEGER, requests INTEGER, windows INTEGER, fidelity REAL, actual INTEGER, note "
	"TEXT, "
	"PRIMARY KEY (job_id, traced_file_id, setting)) WITHOUT ROWID";

static const char insert[] =
	"INSERT OR IGNORE INTO temp.analysis_whatif_readahead (job_id, traced_file_id, setting, "
	"misses, prefetched, wasted, requests, windows, fidelity, actual, note) "
	"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

static int fail(sqlite3 *db, struct errtext *err)
{
	return errtext_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? -ENOMEM : -EIO,
			   "cannot keep what other settings would do: %s", sqlite3_errmsg(db));
}

static int put(sqlite3 *db, sqlite3_stmt *q, int64_t job_id, const struct whatif_file *f,
	       size_t candidate, struct errtext *err)
{
	const struct whatif_result *r = &f->results[candidate];
	char setting[32];

	whatif_setting_name(candidate, f->device_pages, setting, sizeof(setting));
	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
	sqlite3_bind_int64(q, 1, job_id);
	sqlite3_bind_int64(q, 2, f->id);
	sqlite3_bind_text(q, 3, setting, -1, SQLITE_TRANSIENT);
	if (f->judged) {
		sqlite3_bind_int64(q, 4, (int64_t)r->figure[WHATIF_MISSES]);
		sqlite3_bind_int64(q, 5, (int64_t)r->figure[WHATIF_PREFETCHED]);
		if (whatif_figure_seen(f->mapped, WHATIF_WASTED))
			sqlite3_bind_int64(q, 6, (int64_t)r->figure[WHATIF_WASTED]);
		sqlite3_bind_int64(q, 7, (int64_t)r->figure[WHATIF_REQUESTS]);
		sqlite3_bind_int64(q, 8, (int64_t)r->windows);
	}
	if (f->fidelity >= 0)
		sqlite3_bind_double(q, 9, f->fidelity);
	sqlite3_bind_int(q, 10, candidate == WHATIF_ACTUAL);
	sqlite3_bind_text(q, 11, f->note, -1, SQLITE_STATIC);
	return sqlite3_step(q) == SQLITE_DONE ? 0 : fail(db, err);
}

int fill_readahead(sqlite3 *db, int64_t job_id, const struct whatif_readahead *w,
		   struct errtext *err)
{
	sqlite3_stmt *q = NULL;
	int r = 0;

	if (sqlite3_exec(db, table, NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, insert, -1, &q, NULL))
		return fail(db, err);
	for (size_t i = 0; !r && i < w->nr_files; i++)
		for (size_t j = 0; !r && j < WHATIF_CANDIDATES; j++)
			if (j == WHATIF_ACTUAL ||
			    (w->files[i].judged && w->files[i].results[j].known))
				r = put(db, q, job_id, &w->files[i], j, err);
	sqlite3_finalize(q);
	return r;
}
