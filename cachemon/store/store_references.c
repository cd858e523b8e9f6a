/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of references: what came since they were last written, or all of it anew. */
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

static int drop(struct store *st, enum statement which)
{
	struct binder b = bind_first(st, which);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	return bind_run(&b);
}

static int write_page(struct store *st, const struct sampled_page *p, size_t number)
{
	struct binder b = bind_first(st, S_REFERENCE_PAGE);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_int(&b, (int64_t)number);
	bind_int(&b, p->file.dev >> 20);
	bind_int(&b, p->file.dev & 0xfffff);
	bind_int(&b, (int64_t)p->file.ino);
	bind_int(&b, p->file.gen);
	bind_int(&b, (int64_t)p->index);
	bind_int(&b, p->hash);
	return bind_run(&b);
}

static int write_chunk(struct store *st, const struct reference_view *v, size_t seq)
{
	const struct sampled_chunk *c = &v->chunks[seq];
	uint8_t *data = malloc(c->nr * VARINT_MAX + 1);
	struct binder b = bind_first(st, S_REFERENCE_CHUNK);
	size_t len = 0;
	int rc;

	if (!data)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < c->nr; i++)
		len += put_varint(data + len, v->entries[c->first + i]);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_int(&b, (int64_t)seq);
	bind_int(&b, (int64_t)c->start_ns);
	bind_int(&b, c->lookups);
	bind_int(&b, (int64_t)c->nr);
	bind_blob(&b, data, len);
	rc = bind_run(&b);
	free(data);
	return rc;
}

static int write_sample(struct store *st, const struct reference_view *v)
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
	return bind_run(&b);
}

int rows_write_references(struct store *st, const struct reference_sample *s)
{
	struct reference_view v;
	int rc;

	reference_sample_view(s, &v);
	rc = write_sample(st, &v);
	if (v.rewrite && rc == SQLITE_OK)
		rc = drop(st, S_REFERENCE_DROP_CHUNKS);
	if (v.rewrite && rc == SQLITE_OK)
		rc = drop(st, S_REFERENCE_DROP_PAGES);
	for (size_t i = v.stored_pages; i < v.nr_pages && rc == SQLITE_OK; i++)
		if (v.pages[i].entries)
			rc = write_page(st, &v.pages[i], i);
	for (size_t i = v.stored_chunks; i < v.nr_chunks && rc == SQLITE_OK; i++)
		rc = write_chunk(st, &v, i);
	return rc;
}
