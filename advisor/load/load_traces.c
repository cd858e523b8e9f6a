// SPDX-License-Identifier: BSD-2-Clause
#include "advisor/load/load_traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"

/* Of one file: accesses are bounded where they are recorded; sizes and settings come on top. */
#define EVENTS_MAX 1000000

/* Of a window, in pages: 4 GiB. */
#define WINDOW_MAX (1 << 20)

static int failed(sqlite3 *db, struct errtext *err)
{
	return errtext_set(err, -EIO, "the traces cannot be read: %s", sqlite3_errmsg(db));
}

static int64_t known(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

/* What it says; not known is another word. */
static bool says(sqlite3_stmt *s, int column, const char *word)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text && strcmp(text, word) == 0;
}

/* A size that no window has is not known. */
static int64_t window(sqlite3_stmt *s, int column)
{
	int64_t pages = known(s, column);

	return pages >= 0 && pages <= WINDOW_MAX ? pages : -1;
}

/* 0 and NULL where there is nothing. */
static int copy_text(sqlite3_stmt *s, int column, char **ret)
{
	const void *bytes = sqlite3_column_blob(s, column);
	int len = sqlite3_column_bytes(s, column);

	*ret = bytes ? strndup(bytes, (size_t)len) : NULL;
	return bytes && !*ret ? -ENOMEM : 0;
}

static void file_clear(struct trace_file *f)
{
	free(f->path);
	free(f->fstype);
	free(f->reason);
}

void trace_files_free(struct trace_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		file_clear(&files->files[i]);
	free(files->files);
	*files = (struct trace_files){0};
}

static int read_file(sqlite3_stmt *s, struct trace_file *ret)
{
	struct trace_file f = {
		.id = sqlite3_column_int64(s, 0),
		.dev_major = (uint32_t)sqlite3_column_int64(s, 1),
		.dev_minor = (uint32_t)sqlite3_column_int64(s, 2),
		.ino = (uint64_t)sqlite3_column_int64(s, 3),
		.gen = (uint32_t)sqlite3_column_int64(s, 4),
		.size_bytes = known(s, 7),
		.ra_pages = window(s, 8),
		.io_pages = window(s, 9),
		.max_order = known(s, 10),
		.stratum = known(s, 11),
		.stands_for = sqlite3_column_type(s, 12) == SQLITE_NULL
				      ? -1
				      : sqlite3_column_double(s, 12),
		.broken = !says(s, 13, "whole"),
		.warm = !says(s, 15, "cold"),
	};

	if (copy_text(s, 5, &f.path) || copy_text(s, 6, &f.fstype) || copy_text(s, 14, &f.reason)) {
		file_clear(&f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

static int push_file(struct trace_files *files, size_t *max, sqlite3_stmt *s)
{
	if (vec_reserve(files->files, *max, files->nr + 1))
		return -ENOMEM;
	if (read_file(s, &files->files[files->nr]))
		return -ENOMEM;
	files->nr++;
	return 0;
}

/* Why there are none. */
static int absent(sqlite3 *db, int64_t job_id, struct errtext *err)
{
	sqlite3_stmt *s = NULL;
	const char *reason = NULL;

	if (sqlite3_prepare_v2(db, "SELECT reason FROM trace_absent WHERE job_id = ?", -1, &s,
			       NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(s, 1, job_id) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		reason = (const char *)sqlite3_column_text(s, 0);
	errtext_set(err, -ENOENT, "%s", reason ?: "no file of the job was traced");
	sqlite3_finalize(s);
	return -ENOENT;
}

/* A database that was recorded before there were any. */
static bool has_table(sqlite3 *db)
{
	return sqlite3_table_column_metadata(db, "main", "traced_file", NULL, NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

int load_trace_files(sqlite3 *db, int64_t job_id, struct trace_files *ret, struct errtext *err)
{
	struct trace_files files = {0};
	sqlite3_stmt *s = NULL;
	size_t max = 0;
	int rc, r = 0;

	if (!has_table(db))
		return errtext_set(err, -ENOENT, "the database was recorded without traces");
	rc = sqlite3_prepare_v2(
		db,
		"SELECT id, dev_major, dev_minor, ino, gen, path, fstype, "
		"size_bytes, ra_pages, io_pages, max_order, stratum, stands_for, "
		"state, reason, began FROM traced_file WHERE job_id = ? ORDER BY id",
		-1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(s, 1, job_id);
	while (!r && rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		r = push_file(&files, &max, s);
	}
	if (r)
		errtext_set(err, r, "out of memory");
	else if (rc != SQLITE_DONE)
		r = failed(db, err);
	else if (!files.nr)
		r = absent(db, job_id, err);
	sqlite3_finalize(s);
	if (r)
		trace_files_free(&files);
	else
		*ret = files;
	return r;
}

void trace_events_free(struct trace_events *events)
{
	free(events->events);
	*events = (struct trace_events){0};
}

static int take_chunk(struct trace_events *all, size_t *max, int64_t events, const uint8_t *data,
		      size_t size)
{
	struct trace_coder coder = {0};
	size_t at = 0, end;
	int n = 1;

	if (events <= 0 || (uint64_t)events > EVENTS_MAX - all->nr)
		return events <= 0 ? -EBADMSG : -E2BIG;
	end = all->nr + (size_t)events;
	if (vec_reserve(all->events, *max, end))
		return -ENOMEM;
	while (all->nr < end && n > 0) {
		n = trace_decode(&coder, data + at, size - at, &all->events[all->nr]);
		if (n > 0 && !trace_event_possible(&all->events[all->nr]))
			n = -EBADMSG;
		at += n > 0 ? (size_t)n : 0;
		all->nr += n > 0;
	}
	return n > 0 && at == size ? 0 : -EBADMSG;
}

static int chunk_failed(int r, int64_t file_id, int64_t seq, struct errtext *err)
{
	const char *what = r == -ENOMEM	 ? "there is no memory for it"
			   : r == -E2BIG ? "it is longer than any that is recorded"
					 : "its bytes are no events";

	return errtext_set(err, r, "the trace of file %lld cannot be used: chunk %lld: %s",
			   (long long)file_id, (long long)seq, what);
}

int load_trace_events(sqlite3 *db, int64_t file_id, struct trace_events *ret, struct errtext *err)
{
	struct trace_events all = {0};
	sqlite3_stmt *s = NULL;
	int64_t seq = 0;
	size_t max = 0;
	int r = 0, rc;

	rc = sqlite3_prepare_v2(db,
				"SELECT seq, events, data FROM trace_chunk "
				"WHERE traced_file_id = ? ORDER BY seq",
				-1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(s, 1, file_id);
	while (!r && rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		/* One that is missing in between would go unnoticed otherwise. */
		r = sqlite3_column_int64(s, 0) != seq
			    ? -EBADMSG
			    : take_chunk(&all, &max, sqlite3_column_int64(s, 1),
					 sqlite3_column_blob(s, 2),
					 (size_t)sqlite3_column_bytes(s, 2));
		if (r)
			chunk_failed(r, file_id, seq, err);
		seq++;
	}
	if (!r && rc != SQLITE_DONE)
		r = failed(db, err);
	sqlite3_finalize(s);
	if (r)
		trace_events_free(&all);
	else
		*ret = all;
	return r;
}

static int each_event(const uint8_t *data, size_t size,
		      void (*take)(void *arg, const struct trace_event *e), void *arg)
{
	struct trace_coder coder = {0};
	struct trace_event e;
	size_t at = 0;
	int n;

	while ((n = trace_decode(&coder, data + at, size - at, &e)) > 0) {
		take(arg, &e);
		at += (size_t)n;
	}
	return n;
}

int load_trace_each(sqlite3 *db, int64_t file_id,
		    void (*take)(void *arg, const struct trace_event *e), void *arg,
		    struct errtext *err)
{
	sqlite3_stmt *s = NULL;
	int r = 0, rc;

	rc = sqlite3_prepare_v2(
		db, "SELECT seq, data FROM trace_chunk WHERE traced_file_id = ? ORDER BY seq", -1,
		&s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(s, 1, file_id);
	for (int64_t seq = 0; !r && rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW;
	     seq++) {
		rc = SQLITE_OK;
		if (sqlite3_column_int64(s, 0) == seq)
			r = each_event(sqlite3_column_blob(s, 1),
				       (size_t)sqlite3_column_bytes(s, 1), take, arg);
		else
			r = -EBADMSG;
		if (r)
			chunk_failed(r, file_id, seq, err);
	}
	if (!r && rc != SQLITE_DONE)
		r = failed(db, err);
	sqlite3_finalize(s);
	return r;
}
