/* SPDX-License-Identifier: BSD-2-Clause */
/* The traces of files: a row each, and a chunk of events of each interval that has some. */
#include "cachemon/store/store_impl.h"

void store_traces(struct store *st, struct traces *traces)
{
	st->traces = traces;
}

void store_no_traces(struct store *st, const char *reason)
{
	st->no_traces = reason;
}

static int write_row(struct store *st, struct traced_file *f, const struct traced_row *row)
{
	struct binder b = bind_first(st, row->db_id ? S_TRACED_UPDATE : S_TRACED_INSERT);
	int rc;

	bind_known(&b, row->db_id, row->db_id);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_int(&b, row->key->dev >> 20);
	bind_int(&b, row->key->dev & 0xfffff);
	bind_int(&b, (int64_t)row->key->ino);
	bind_int(&b, row->key->gen);
	bind_bytes(&b, row->path);
	bind_text(&b, row->fstype);
	bind_known(&b, row->size_bytes >= 0, row->size_bytes);
	bind_known(&b, row->ra_pages >= 0, row->ra_pages);
	bind_known(&b, row->io_pages >= 0, row->io_pages);
	bind_known(&b, row->max_order >= 0, row->max_order);
	bind_known(&b, row->stratum >= 0, row->stratum);
	bind_real(&b, row->stands_for);
	bind_text(&b, row->state);
	bind_text(&b, row->reason);
	bind_text(&b, row->began);
	rc = bind_run(&b);
	if (rc == SQLITE_OK && !row->db_id)
		traces_set_db_id(f, sqlite3_last_insert_rowid(st->db));
	return rc;
}

static int write_chunk(struct store *st, const struct traced_row *row)
{
	struct binder b = bind_first(st, S_TRACE_CHUNK);

	bind_int(&b, row->db_id);
	bind_int(&b, row->seq);
	bind_int(&b, row->events);
	bind_blob(&b, row->data, row->data_bytes);
	return bind_run(&b);
}

static int write_absent(struct store *st)
{
	struct binder b = bind_first(st, S_TRACE_ABSENT);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, st->no_traces);
	return bind_run(&b);
}

int traces_write(struct store *st)
{
	int rc = st->no_traces ? write_absent(st) : SQLITE_OK;
	struct traced_row row;

	for (size_t i = 0; st->traces && i < traces_nr(st->traces) && rc == SQLITE_OK; i++) {
		struct traced_file *f = traces_at(st->traces, i);

		traces_row(f, &row);
		if (row.dirty || !row.db_id)
			rc = write_row(st, f, &row);
		traces_row(f, &row);
		if (rc == SQLITE_OK && row.data_bytes)
			rc = write_chunk(st, &row);
	}
	return rc;
}

void traces_settle(struct store *st, bool written)
{
	if (written)
		st->no_traces = NULL;
	if (!st->traces)
		return;
	if (written)
		traces_written(st->traces);
	else
		traces_unwritten(st->traces);
}
