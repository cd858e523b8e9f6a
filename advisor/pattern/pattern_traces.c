/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern_file.h"

#include <errno.h>
#include <stdlib.h>

#include "advisor/load/load_traces.h"
#include "advisor/pattern/accesses.h"
#include "advisor/pattern/reuse.h"
#include "cachemon/base/order.h"
#include "cachemon/base/vec.h"
#include "cachemon/db/db_rows.h"

/* Limits: pages whose references are kept, references, and pages visited to find them. */
enum { PAGES_MAX = 8192, REFERENCES_MAX = 1 << 20, WALK_MAX = 1 << 28 };

/* Tasks whose last touch is kept; more tasks share a slot. */
enum { ACTORS = 256 };

struct gathered {
	struct access *reads, *touches;
	uint64_t last_touch[ACTORS]; /* 1 + the page */
	size_t nr_reads, nr_touches;
	uint64_t first_size, last_size; /* of the file, as the events show */
	bool sized;
	double bytes, bytes_behind; /* bytes read; bytes past the file's first end */
};

/* One touch may cause several events: fault-around, then the fault, and both again after a wait. */
static void add_touch(struct gathered *g, const struct trace_event *e, uint64_t page,
		      uint64_t page_bytes)
{
	uint64_t *last = &g->last_touch[e->actor % ACTORS];

	if (*last == page + 1)
		return;
	*last = page + 1;
	g->touches[g->nr_touches++] = (struct access){
		.pos = page * page_bytes, .len = page_bytes, .description = e->map.id};
}

/* At the end of a file, a read asks for more bytes than it gets. */
static void add_read(struct gathered *g, const struct trace_event *e)
{
	uint64_t len = e->len;
	uint64_t end;

	if (g->sized && e->pos >= g->last_size)
		return;
	if (g->sized && len > g->last_size - e->pos)
		len = g->last_size - e->pos;
	if (!len)
		return;
	end = e->pos + len;
	g->reads[g->nr_reads++] = (struct access){e->pos, len, e->description, e->actor};
	g->bytes += (double)len;
	if (g->sized && end > g->first_size)
		g->bytes_behind += (double)(e->pos > g->first_size ? len : end - g->first_size);
}

static void see_size(struct gathered *g, uint64_t size)
{
	if (!g->sized)
		g->first_size = size;
	g->sized = true;
	g->last_size = size;
}

static void gather_event(const struct trace_event *e, uint64_t page_bytes, struct gathered *g)
{
	switch (e->kind) {
	case TRACE_READ:
		add_read(g, e);
		break;
	case TRACE_FAULT:
		if (!(e->flags & TRACE_RETRY))
			add_touch(g, e, e->pos, page_bytes);
		break;
	case TRACE_MAP:
		if (e->map.touched)
			add_touch(g, e, e->map.touched - 1, page_bytes);
		break;
	case TRACE_OPEN:
	case TRACE_SIZE:
		see_size(g, e->pos);
		break;
	default:
		break;
	}
}

static uint32_t page_hash(uint64_t page)
{
	page = (page ^ (page >> 33)) * 0xff51afd7ed558ccd;
	page = (page ^ (page >> 33)) * 0xc4ceb9fe1a85ec53;
	return (uint32_t)(page >> 32);
}

struct sample {
	uint64_t limit; /* of 2^32 */
	uint64_t *seen; /* pages in the order of their reads */
	size_t nr;
	uint64_t *pages; /* distinct pages, ascending */
	size_t nr_pages;
};

/* The pages that reads requested, up to the end of the file, if their hash is below the limit. */
static void take_pages(const struct gathered *g, uint64_t size_pages, uint64_t page_bytes,
		       struct sample *s)
{
	uint64_t walked = 0;

	for (size_t i = 0; i < g->nr_reads; i++) {
		uint64_t page = g->reads[i].pos / page_bytes;
		uint64_t last = (g->reads[i].pos + g->reads[i].len - 1) / page_bytes;

		if (size_pages && last >= size_pages)
			last = size_pages - 1;
		for (; page <= last && s->nr < REFERENCES_MAX && walked < WALK_MAX;
		     page++, walked++)
			if (page_hash(page) < s->limit)
				s->seen[s->nr++] = page;
	}
}

static void number_pages(struct sample *s)
{
	for (size_t i = 0; i < s->nr; i++)
		s->pages[i] = s->seen[i];
	qsort(s->pages, s->nr, sizeof(*s->pages), order_u64);
	for (size_t i = 0; i < s->nr; i++)
		if (!i || s->pages[i] != s->pages[s->nr_pages - 1])
			s->pages[s->nr_pages++] = s->pages[i];
}

static int put_reuse(const struct gathered *g, uint64_t size_pages, uint64_t page_bytes,
		     struct features *f)
{
	struct arena arena = {0};
	struct sample s = {
		.limit = UINT64_C(1) << 32,
		.seen = arena_alloc(&arena, REFERENCES_MAX * sizeof(*s.seen)),
		.pages = arena_alloc(&arena, REFERENCES_MAX * sizeof(*s.pages)),
	};
	uint32_t *numbers = arena_alloc(&arena, REFERENCES_MAX * sizeof(*numbers));
	struct reuse_input in = {.page = numbers, .size_pages = (double)size_pages};
	int ret = -ENOMEM;

	if (size_pages > PAGES_MAX)
		s.limit = ((uint64_t)PAGES_MAX << 32) / size_pages + 1;
	if (!arena.failed) {
		take_pages(g, size_pages, page_bytes, &s);
		number_pages(&s);
		for (size_t i = 0; i < s.nr; i++) {
			const uint64_t *at = bsearch(&s.seen[i], s.pages, s.nr_pages,
						     sizeof(*s.pages), order_u64);

			numbers[i] = (uint32_t)(at - s.pages);
		}
		in.nr = s.nr;
		in.index = s.pages;
		in.nr_pages = s.nr_pages;
		in.rate = (double)s.limit / 4294967296.0;
		ret = reuse_features(&in, f);
	}
	arena_free(&arena);
	return ret;
}

int trace_features(const struct trace_event *events, size_t nr, uint64_t size_bytes,
		   uint64_t page_bytes, struct features *f)
{
	struct gathered g = {.reads = malloc((nr + 1) * sizeof(*g.reads)),
			     .touches = malloc((nr + 1) * sizeof(*g.touches))};
	int ret = g.reads && g.touches ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !ret; i++)
		gather_event(&events[i], page_bytes, &g);
	if (!ret)
		ret = accesses_features(g.reads, g.nr_reads, page_bytes, f);
	if (!ret)
		ret = faults_features(g.touches, g.nr_touches, page_bytes, f);
	if (!ret && g.nr_reads) {
		uint64_t size = size_bytes ? size_bytes : g.last_size;

		ret = put_reuse(&g, (size + page_bytes - 1) / page_bytes, page_bytes, f);
		if (!ret)
			ret = readers_features(g.reads, g.nr_reads, size, f);
	}
	if (!ret && g.sized)
		features_set_ratio(f, F_growth_share, g.bytes_behind, g.bytes);
	free(g.reads);
	free(g.touches);
	return ret;
}

/* Limit for one file; a longer trace shows nothing new. */
enum { EVENTS_MAX = 1 << 20 };

struct events {
	struct trace_event *e;
	size_t nr, room;
	bool ended; /* long enough, or the rest is damaged */
	bool no_memory;
};

static void take_event(void *arg, const struct trace_event *e)
{
	struct events *v = arg;

	v->ended = v->ended || v->nr == EVENTS_MAX || !trace_event_possible(e);
	if (v->ended || v->no_memory)
		return;
	v->no_memory = vec_reserve(v->e, v->room, v->nr + 1) != 0;
	if (!v->no_memory)
		v->e[v->nr++] = *e;
}

static int add_traced_file(sqlite3 *db, int64_t traced, struct pattern_file *file,
			   double page_bytes, struct errtext *err)
{
	struct features f = {0};
	struct events v = {0};
	uint64_t size = file->size_bytes > 0 ? (uint64_t)file->size_bytes : 0;
	int ret = load_trace_each(db, traced, take_event, &v, NULL);

	if (ret == -EIO)
		ret = pattern_error(db, "traces", err);
	else
		ret = v.no_memory ? -ENOMEM : 0; /* damaged data ends the trace */
	if (!ret)
		ret = trace_features(v.e, v.nr, size, (uint64_t)page_bytes, &f);
	if (!ret)
		features_merge(&file->f, &f);
	free(v.e);
	return ret;
}

int pattern_traces(sqlite3 *db, struct pattern_job *job, struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r;
	int ret = 0;

	if (sqlite3_table_column_metadata(db, "main", "traced_file", NULL, NULL, NULL, NULL, NULL,
					  NULL) != SQLITE_OK)
		return 0;
	r = rows_begin(
		db, &no_texts,
		"SELECT id, dev_major, dev_minor, ino, gen FROM traced_file WHERE job_id = ?1", 1,
		&job->id);
	while (!ret && rows_next(&r)) {
		int64_t id = rows_value(&r, 0);
		int64_t dev_major = rows_value(&r, 0);
		int64_t dev_minor = rows_value(&r, 0);
		int64_t ino = rows_value(&r, 0);
		struct pattern_file *file =
			pattern_file_find(job, dev_major, dev_minor, ino, rows_value(&r, 0));

		if (file)
			ret = add_traced_file(db, id, file, job->page_bytes, err);
	}
	if (rows_finish(&r) && !ret)
		ret = pattern_error(db, "traces", err);
	return ret;
}
