// SPDX-License-Identifier: BSD-2-Clause
#include "advisor/load/load_traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"
#include "cachemon/db/db_rows.h"

/* For one file. Recording limits the accesses; sizes and settings are added. */
#define EVENTS_MAX 1000000

/* For a window, in pages: 4 GiB. */
#define WINDOW_MAX (1 << 20)

static int traces_error(sqlite3 *db, struct errtext *err)
{
	return errtext_set(err, -EIO, "the traces cannot be read: %s", rows_error(db));
}

/* An impossible size counts as unknown. */
static int64_t window_pages(struct rows *r)
{
	int64_t pages = rows_value(r, -1);

	return pages >= 0 && pages <= WINDOW_MAX ? pages : -1;
}

/* Whether the column has another value, or is NULL. */
static bool is_not(struct rows *r, const char *word)
{
	struct bytes text = rows_bytes(r);

	return !bytes_is(&text, word);
}

static void read_trace_file(struct rows *r, struct trace_file *f)
{
	struct opt_f64 stands_for;

	f->id = rows_value(r, 0);
	f->dev_major = (uint32_t)rows_value(r, 0);
	f->dev_minor = (uint32_t)rows_value(r, 0);
	f->ino = (uint64_t)rows_value(r, 0);
	f->gen = (uint32_t)rows_value(r, 0);
	f->path = rows_bytes(r).data;
	f->fstype = rows_bytes(r).data;
	f->size_bytes = rows_value(r, -1);
	f->ra_pages = window_pages(r);
	f->io_pages = window_pages(r);
	f->max_order = rows_value(r, -1);
	f->stratum = rows_value(r, -1);
	stands_for = rows_f64(r);
	f->stands_for = stands_for.known ? stands_for.value : -1;
	f->broken = is_not(r, "whole");
	f->reason = rows_bytes(r).data;
	f->warm = is_not(r, "cold");
}

void trace_files_free(struct trace_files *files)
{
	free(files->files);
	arena_free(&files->texts);
	*files = (struct trace_files){0};
}

/* -ENOENT; the text has the reason. */
static int no_traces(sqlite3 *db, int64_t job_id, struct errtext *err)
{
	struct arena texts = {0};
	struct rows r = rows_begin(db, &texts, "SELECT reason FROM trace_absent WHERE job_id = ?",
				   1, &job_id);
	const char *reason = rows_next(&r) ? rows_bytes(&r).data : NULL;

	errtext_set(err, -ENOENT, "%s", reason ? reason : "no file of the job was traced");
	rows_finish(&r);
	arena_free(&texts);
	return -ENOENT;
}

int load_trace_files(sqlite3 *db, int64_t job_id, struct trace_files *ret, struct errtext *err)
{
	struct trace_files all = {0};
	struct rows r;
	size_t room = 0;
	int e = 0, end;

	/* An older database, recorded before traces existed. */
	if (sqlite3_table_column_metadata(db, "main", "traced_file", NULL, NULL, NULL, NULL, NULL,
					  NULL) != SQLITE_OK)
		return errtext_set(err, -ENOENT, "the database was recorded without traces");
	r = rows_begin(db, &all.texts,
		       "SELECT id, dev_major, dev_minor, ino, gen, path, fstype, "
		       "size_bytes, ra_pages, io_pages, max_order, stratum, stands_for, "
		       "state, reason, began FROM traced_file WHERE job_id = ? ORDER BY id",
		       1, &job_id);
	while (!e && rows_next(&r)) {
		e = vec_reserve(all.files, room, all.nr + 1);
		if (!e)
			read_trace_file(&r, &all.files[all.nr++]);
	}
	end = rows_finish(&r);
	if (e || end == -ENOMEM)
		e = errtext_set(err, -ENOMEM, "out of memory");
	else if (end)
		e = traces_error(db, err);
	else if (!all.nr)
		e = no_traces(db, job_id, err);
	if (e)
		trace_files_free(&all);
	else
		*ret = all;
	return e;
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

/* The blob is used in place, not copied as a text would be. */
static int take_chunk(struct chunks *c, sqlite3_stmt *s)
{
	const uint8_t *data = sqlite3_column_blob(s, 2);
	size_t size = (size_t)sqlite3_column_bytes(s, 2);
	const char *what = "the data is not a list of events";
	int r = -EBADMSG;

	/* Otherwise a missing chunk would go unnoticed. */
	if (sqlite3_column_int64(s, 0) == c->seq)
		r = c->take ? hand_out_events(c, data, size)
			    : keep_events(c, sqlite3_column_int64(s, 1), data, size);
	if (r == -ENOMEM)
		what = "out of memory";
	else if (r == -E2BIG)
		what = "the trace is longer than any recorded trace";
	if (r)
		errtext_set(c->err, r, "the trace of file %lld cannot be used: chunk %lld: %s",
			    (long long)c->file_id, (long long)c->seq, what);
	c->seq++;
	return r;
}

static int each_chunk(sqlite3 *db, struct chunks *c)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(
		db, &no_texts,
		"SELECT seq, events, data FROM trace_chunk WHERE traced_file_id = ? ORDER BY seq",
		1, &c->file_id);
	int e = 0, end;

	while (!e && rows_next(&r))
		e = take_chunk(c, r.stmt);
	end = rows_finish(&r);
	return e || !end ? e : traces_error(db, c->err);
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
