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

/* Rows of a job or a file, each to step() as long as that is 0. */
static int each_trace_row(sqlite3 *db, const char *sql, int64_t id,
			  int (*step)(void *arg, sqlite3_stmt *row), void *arg, struct errtext *err)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	int r = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(s, 1, id);
	if (rc == SQLITE_OK)
		while (!r && (rc = sqlite3_step(s)) == SQLITE_ROW)
			r = step(arg, s);
	if (!r && rc != SQLITE_DONE)
		r = errtext_set(err, -EIO, "the traces cannot be read: %s", sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return r;
}

static int64_t known_or_absent(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

/* What it says; not known is another word. */
static bool column_says(sqlite3_stmt *s, int column, const char *word)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text && strcmp(text, word) == 0;
}

/* A size that no window has is not known. */
static int64_t window_pages(sqlite3_stmt *s, int column)
{
	int64_t pages = known_or_absent(s, column);

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

static int read_trace_file(sqlite3_stmt *s, struct trace_file *ret)
{
	struct trace_file f = {
		.id = sqlite3_column_int64(s, 0),
		.dev_major = (uint32_t)sqlite3_column_int64(s, 1),
		.dev_minor = (uint32_t)sqlite3_column_int64(s, 2),
		.ino = (uint64_t)sqlite3_column_int64(s, 3),
		.gen = (uint32_t)sqlite3_column_int64(s, 4),
		.size_bytes = known_or_absent(s, 7),
		.ra_pages = window_pages(s, 8),
		.io_pages = window_pages(s, 9),
		.max_order = known_or_absent(s, 10),
		.stratum = known_or_absent(s, 11),
		.stands_for = sqlite3_column_type(s, 12) == SQLITE_NULL
				      ? -1
				      : sqlite3_column_double(s, 12),
		.broken = !column_says(s, 13, "whole"),
		.warm = !column_says(s, 15, "cold"),
	};

	if (copy_text(s, 5, &f.path) || copy_text(s, 6, &f.fstype) || copy_text(s, 14, &f.reason)) {
		file_clear(&f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

struct file_list {
	struct trace_files files;
	size_t room;
};

static int push_file(void *arg, sqlite3_stmt *s)
{
	struct file_list *l = arg;

	if (vec_reserve(l->files.files, l->room, l->files.nr + 1))
		return -ENOMEM;
	if (read_trace_file(s, &l->files.files[l->files.nr]))
		return -ENOMEM;
	l->files.nr++;
	return 0;
}

static int take_reason(void *arg, sqlite3_stmt *s)
{
	return copy_text(s, 0, arg);
}

/* -ENOENT, and why there are none. */
static int no_traces(sqlite3 *db, int64_t job_id, struct errtext *err)
{
	char *reason = NULL;

	each_trace_row(db, "SELECT reason FROM trace_absent WHERE job_id = ? LIMIT 1", job_id,
		       take_reason, &reason, NULL);
	errtext_set(err, -ENOENT, "%s", reason ? reason : "no file of the job was traced");
	free(reason);
	return -ENOENT;
}

int load_trace_files(sqlite3 *db, int64_t job_id, struct trace_files *ret, struct errtext *err)
{
	struct file_list l = {.room = 0};
	int r;

	/* A database that was recorded before there were any. */
	if (sqlite3_table_column_metadata(db, "main", "traced_file", NULL, NULL, NULL, NULL, NULL,
					  NULL) != SQLITE_OK)
		return errtext_set(err, -ENOENT, "the database was recorded without traces");
	r = each_trace_row(db,
			   "SELECT id, dev_major, dev_minor, ino, gen, path, fstype, "
			   "size_bytes, ra_pages, io_pages, max_order, stratum, stands_for, "
			   "state, reason, began FROM traced_file WHERE job_id = ? ORDER BY id",
			   job_id, push_file, &l, err);
	if (r == -ENOMEM)
		errtext_set(err, r, "out of memory");
	if (!r && !l.files.nr)
		r = no_traces(db, job_id, err);
	if (r)
		trace_files_free(&l.files);
	else
		*ret = l.files;
	return r;
}

void trace_events_free(struct trace_events *events)
{
	free(events->events);
	*events = (struct trace_events){0};
}

/* The chunks of a file, in order. */
struct chunks {
	int64_t file_id, seq;
	struct trace_events all; /* what load_trace_events() keeps */
	size_t room;
	void (*take)(void *arg, const struct trace_event *e); /* NULL: events are kept */
	void *arg;
	struct errtext *err;
};

static int keep_events(struct chunks *c, int64_t events, const uint8_t *data, size_t size)
{
	struct trace_events *all = &c->all;
	struct trace_coder coder = {0};
	size_t at = 0, end;
	int n = 1;

	if (events <= 0 || (uint64_t)events > EVENTS_MAX - all->nr)
		return events <= 0 ? -EBADMSG : -E2BIG;
	end = all->nr + (size_t)events;
	if (vec_reserve(all->events, c->room, end))
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

static int hand_out_events(struct chunks *c, const uint8_t *data, size_t size)
{
	struct trace_coder coder = {0};
	struct trace_event e;
	size_t at = 0;
	int n;

	while ((n = trace_decode(&coder, data + at, size - at, &e)) > 0) {
		c->take(c->arg, &e);
		at += (size_t)n;
	}
	return n;
}

static int take_chunk(void *arg, sqlite3_stmt *s)
{
	struct chunks *c = arg;
	const uint8_t *data = sqlite3_column_blob(s, 2);
	size_t size = (size_t)sqlite3_column_bytes(s, 2);
	const char *what = "its bytes are no events";
	int r = -EBADMSG;

	/* One that is missing in between would go unnoticed otherwise. */
	if (sqlite3_column_int64(s, 0) == c->seq)
		r = c->take ? hand_out_events(c, data, size)
			    : keep_events(c, sqlite3_column_int64(s, 1), data, size);
	if (r == -ENOMEM)
		what = "there is no memory for it";
	else if (r == -E2BIG)
		what = "it is longer than any that is recorded";
	if (r)
		errtext_set(c->err, r, "the trace of file %lld cannot be used: chunk %lld: %s",
			    (long long)c->file_id, (long long)c->seq, what);
	c->seq++;
	return r;
}

static int each_chunk(sqlite3 *db, struct chunks *c)
{
	return each_trace_row(
		db,
		"SELECT seq, events, data FROM trace_chunk WHERE traced_file_id = ? ORDER BY seq",
		c->file_id, take_chunk, c, c->err);
}

int load_trace_events(sqlite3 *db, int64_t file_id, struct trace_events *ret, struct errtext *err)
{
	struct chunks c = {.file_id = file_id, .err = err};
	int r = each_chunk(db, &c);

	if (r)
		trace_events_free(&c.all);
	else
		*ret = c.all;
	return r;
}

int load_trace_each(sqlite3 *db, int64_t file_id,
		    void (*take)(void *arg, const struct trace_event *e), void *arg,
		    struct errtext *err)
{
	struct chunks c = {.file_id = file_id, .take = take, .arg = arg, .err = err};

	return each_chunk(db, &c);
}
