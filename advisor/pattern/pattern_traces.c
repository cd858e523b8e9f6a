/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern_file.h"

#include <errno.h>
#include <stdlib.h>

#include "advisor/pattern/trace_features.h"
#include "cachemon/base/vec.h"

/* Of one file; a trace this long has shown its pattern. */
enum { EVENTS_MAX = 1 << 20 };

struct events {
	struct trace_event *e;
	size_t nr, room;
};

static int add(struct events *v, const struct trace_event *e)
{
	if (vec_reserve(v->e, v->room, v->nr + 1))
		return -ENOMEM;
	v->e[v->nr++] = *e;
	return 0;
}

/* Each chunk by itself; what is damaged ends it. */
static int decode(const uint8_t *data, size_t size, struct events *v)
{
	struct trace_coder coder = {0};

	while (size && v->nr < EVENTS_MAX) {
		struct trace_event e;
		int n = trace_decode(&coder, data, size, &e);

		if (n <= 0 || !trace_event_possible(&e))
			return 0;
		if (add(v, &e))
			return -ENOMEM;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int of_file(sqlite3 *db, int64_t traced, struct pattern_file *file, double page_bytes,
		   struct errtext *err)
{
	struct features f = {0};
	struct events v = {0};
	sqlite3_stmt *stmt = NULL;
	uint64_t size = file->size_bytes > 0 ? (uint64_t)file->size_bytes : 0;
	int rc = sqlite3_prepare_v2(
		db, "SELECT data FROM trace_chunk WHERE traced_file_id = ?1 ORDER BY seq", -1,
		&stmt, NULL);
	int ret = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, traced);
	while (rc == SQLITE_OK && !ret && v.nr < EVENTS_MAX && sqlite3_step(stmt) == SQLITE_ROW)
		ret = decode(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0),
			     &v);
	if (sqlite3_finalize(stmt) != SQLITE_OK || rc != SQLITE_OK)
		ret = pattern_error(db, "traces", err);
	if (!ret)
		ret = trace_features(v.e, v.nr, size, (uint64_t)page_bytes, &f);
	if (!ret)
		features_merge(&file->f, &f);
	free(v.e);
	return ret;
}

static bool have_traces(sqlite3 *db)
{
	return sqlite3_table_column_metadata(db, "main", "traced_file", "id", NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

int pattern_traces(sqlite3 *db, struct pattern_job *job, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc;
	int ret = 0;

	if (!have_traces(db))
		return 0;
	rc = sqlite3_prepare_v2(db,
				"SELECT id, dev_major, dev_minor, ino, gen FROM traced_file "
				"WHERE job_id = ?1",
				-1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, job->id);
	while (rc == SQLITE_OK && !ret && sqlite3_step(stmt) == SQLITE_ROW) {
		struct pattern_file *file = pattern_file_find(
			job, sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2),
			sqlite3_column_int64(stmt, 3), sqlite3_column_int64(stmt, 4));

		if (file)
			ret = of_file(db, sqlite3_column_int64(stmt, 0), file, job->page_bytes,
				      err);
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK || rc != SQLITE_OK)
		return ret ? ret : pattern_error(db, "traces", err);
	return ret;
}
