/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in addition to the counters. References: those that came since the last write, or all of
 * them again. Traces of files: a row per file, and a chunk of events for each interval that has
 * some.
 */
#include <stdlib.h>

#include "cachemon/store/store_impl.h"

enum { VARINT_MAX = 5 }; /* bytes of 32 bits, seven in each */

static size_t put_varint(uint8_t *to, uint32_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

static void drop_references(struct store *st, enum statement which)
{
	struct binder b = bind_first(st, which);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_run(&b);
}

static void write_reference_page(struct store *st, const struct sampled_page *p, size_t number)
{
	struct binder b = bind_first(st, S_REFERENCE_PAGE);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_int(&b, (int64_t)number);
	bind_key(&b, &p->file);
	bind_int(&b, (int64_t)p->index);
	bind_int(&b, p->hash);
	bind_run(&b);
}

static void write_reference_chunk(struct store *st, const struct reference_view *v, size_t seq)
{
	const struct sampled_chunk *c = &v->chunks[seq];
	uint8_t *data = malloc(c->nr * VARINT_MAX + 1);
	struct binder b = bind_first(st, S_REFERENCE_CHUNK);
	size_t len = 0;

	if (!data) {
		st->rc = SQLITE_NOMEM;
		return;
	}
	for (size_t i = 0; i < c->nr; i++)
		len += put_varint(data + len, v->entries[c->first + i]);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_int(&b, (int64_t)seq);
	bind_int(&b, (int64_t)c->start_ns);
	bind_int(&b, c->lookups);
	bind_int(&b, (int64_t)c->nr);
	bind_blob(&b, data, len);
	bind_run(&b);
	free(data);
}

static void write_reference_sample(struct store *st, const struct reference_view *v)
{
	struct binder b = bind_first(st, S_REFERENCE_SAMPLE);
	bool known = v->distinct_pages >= 0;

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, v->broken ? "broken" : "whole");
	bind_text(&b, v->broken);
	bind_int(&b, (int64_t)v->threshold);
	bind_int(&b, (int64_t)v->live);
	bind_int(&b, v->refs);
	bind_int(&b, v->lookups);
	bind_known(&b, known, v->distinct_pages);
	bind_real(&b, known ? v->distinct_error : -1);
	bind_run(&b);
}

void references_write(struct store *st, const struct reference_sample *s)
{
	struct reference_view v;

	reference_sample_view(s, &v);
	write_reference_sample(st, &v);
	if (v.rewrite) {
		drop_references(st, S_REFERENCE_DROP_CHUNKS);
		drop_references(st, S_REFERENCE_DROP_PAGES);
	}
	for (size_t i = v.stored_pages; i < v.nr_pages; i++)
		if (v.pages[i].entries)
			write_reference_page(st, &v.pages[i], i);
	for (size_t i = v.stored_chunks; i < v.nr_chunks && st->rc == SQLITE_OK; i++)
		write_reference_chunk(st, &v, i);
}

void store_traces(struct store *st, struct traces *traces)
{
	st->traces = traces;
}

void store_no_traces(struct store *st, const char *reason)
{
	st->no_traces = reason;
}

static void write_traced_file(struct store *st, struct traced_file *f, const struct traced_row *row)
{
	struct binder b = bind_first(st, row->db_id ? S_TRACED_UPDATE : S_TRACED_INSERT);

	bind_known(&b, row->db_id, row->db_id);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_key(&b, row->key);
	bind_count(&b, row->ra_pages);
	bind_count(&b, row->max_order);
	bind_count(&b, row->stratum);
	bind_bytes(&b, row->path);
	bind_text(&b, row->fstype);
	bind_count(&b, row->size_bytes);
	bind_count(&b, row->io_pages);
	bind_real(&b, row->stands_for);
	bind_text(&b, row->state);
	bind_text(&b, row->reason);
	bind_text(&b, row->began);
	if (bind_run(&b) && !row->db_id)
		traces_set_db_id(f, sqlite3_last_insert_rowid(st->file->db));
}

static void write_trace_chunk(struct store *st, const struct traced_row *row)
{
	struct binder b = bind_first(st, S_TRACE_CHUNK);

	bind_int(&b, row->db_id);
	bind_int(&b, row->seq);
	bind_int(&b, row->events);
	bind_blob(&b, row->data, row->data_bytes);
	bind_run(&b);
}

static void write_trace_absent(struct store *st)
{
	struct binder b = bind_first(st, S_TRACE_ABSENT);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, st->no_traces);
	bind_run(&b);
}

void traces_write(struct store *st)
{
	struct traced_row row;

	if (st->no_traces)
		write_trace_absent(st);
	for (size_t i = 0; st->traces && i < traces_nr(st->traces); i++) {
		struct traced_file *f = traces_at(st->traces, i);

		traces_row(f, &row);
		if (row.dirty || !row.db_id)
			write_traced_file(st, f, &row);
		traces_row(f, &row);
		if (row.data_bytes)
			write_trace_chunk(st, &row);
	}
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
