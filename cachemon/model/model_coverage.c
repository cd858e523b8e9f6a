/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_detail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/load/load_references.h"
#include "advisor/load/load_traces.h"
#include "cachemon/model/model_rows.h"

/* Index in the list, by the kernel's file key. */
struct identity {
	uint64_t dev_major, dev_minor, ino, gen;
	size_t at;
};

struct index {
	struct identity *files;
	size_t nr;
};

static int compare_identities(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct identity, at));
}

static int index_files(struct model *m, const struct model_job *job, struct index *ret)
{
	ret->files = arena_alloc(&m->arena, job->nr_files * sizeof(*ret->files));
	ret->nr = job->nr_files;
	for (size_t i = 0; ret->files && i < job->nr_files; i++) {
		const struct model_file *f = &job->files[i];

		ret->files[i] = (struct identity){
			.dev_major = (uint64_t)f->dev_major.value,
			.dev_minor = (uint64_t)f->dev_minor.value,
			.ino = (uint64_t)f->ino.value,
			.gen = (uint64_t)f->gen.value,
			.at = i,
		};
	}
	if (!ret->files)
		return -ENOMEM;
	qsort(ret->files, ret->nr, sizeof(*ret->files), compare_identities);
	return 0;
}

/* NULL: not listed. */
static const struct identity *find_identity(const struct index *in, uint64_t dev_major,
					    uint64_t dev_minor, uint64_t ino, uint64_t gen)
{
	struct identity key = {dev_major, dev_minor, ino, gen, 0};

	return bsearch(&key, in->files, in->nr, sizeof(key), compare_identities);
}

static void set_absent(struct arena *a, struct model_coverage *c, const char *reason)
{
	c->absent = arena_text(a, reason);
}

static uint64_t pages_of(int64_t bytes, uint64_t page_bytes)
{
	return bytes > 0 && page_bytes ? ((uint64_t)bytes + page_bytes - 1) / page_bytes : 0;
}

/* State of the pass over one file's events. */
struct walk {
	uint64_t page_bytes;
	uint64_t file_pages;
	struct coverage_pages pages;
	struct model_detail *detail;
	bool all; /* all events of the file were read */
};

static void look_ahead(void *arg, const struct trace_event *e)
{
	struct walk *w = arg;

	coverage_reach(&w->file_pages, e, w->page_bytes);
}

static void count_advice(struct model_detail *d, const struct trace_event *e)
{
	const struct timeline *t = &d->timeline;
	size_t i = t->nr;

	while (i > 1 && (uint64_t)t->buckets[i - 1].start_ns > e->time_ns)
		i--;
	if (i && e->detail < ADVICE_KINDS)
		d->advice.calls[e->detail][i - 1]++;
}

/* The parts of one sendfile are separate reads here. */
static void count_read(struct model_detail *d, const struct trace_event *e)
{
	int size = e->len ? 64 - __builtin_clzll(e->len) : 0;

	d->reads[size < READ_SIZES ? size : READ_SIZES - 1]++;
}

static void count_event(void *arg, const struct trace_event *e)
{
	struct walk *w = arg;

	if (w->pages.pages)
		coverage_event(&w->pages, e);
	if (e->kind == TRACE_ADVICE)
		count_advice(w->detail, e);
	else if (e->kind == TRACE_READ)
		count_read(w->detail, e);
}

/* c is NULL for a file that is not listed: then only its advice counts. */
static int walk_file(sqlite3 *db, const struct trace_file *f, struct walk *w,
		     struct model_coverage *c, struct errtext *err)
{
	uint64_t size = f->size_bytes > 0 ? (uint64_t)f->size_bytes : 0;
	int ret = c ? load_trace_each(db, f->id, look_ahead, w, err) : 0;
	int done;

	if (!ret && c) {
		coverage_divide(c->parts, w->file_pages);
		ret = coverage_begin(&w->pages, c->parts, w->page_bytes, size);
	}
	/* Calls to a file that is too large for parts still count. */
	if (!ret || (ret == -E2BIG && !err->text[0])) {
		int walked = load_trace_each(db, f->id, count_event, w, err);

		w->all = !walked;
		ret = ret ? ret : walked;
	}
	if (!w->pages.pages)
		return ret;
	done = coverage_end(&w->pages);
	return ret ? ret : done;
}

static int cover_traced(sqlite3 *db, struct model *m, const struct trace_file *f,
			struct model_detail *d, struct model_coverage *c)
{
	uint64_t page_bytes = (uint64_t)m->run.page_size_bytes.value;
	struct walk w = {.page_bytes = page_bytes,
			 .file_pages = pages_of(f->size_bytes, page_bytes),
			 .detail = d};
	struct errtext text = {0};
	int ret;

	if (c)
		c->parts = arena_alloc(&m->arena, sizeof(*c->parts));
	if (c && !c->parts)
		return -ENOMEM;
	ret = walk_file(db, f, &w, c, &text);
	d->advice.incomplete += f->broken || !w.all;
	if (ret == -ENOMEM || !c)
		return ret == -ENOMEM ? ret : 0;
	if (ret)
		set_absent(&m->arena, c,
			   ret == -E2BIG && !text.text[0] ? "it is too large to be counted in parts"
							  : text.text);
	else
		c->absent = NULL;
	if (f->broken)
		c->broken = arena_text(&m->arena, f->reason ?: "not known");
	return 0;
}

/* *ret_reason: why the other files have no trace. */
static int cover_traces(sqlite3 *db, struct model *m, struct model_job *job, const struct index *in,
			struct model_detail *d, struct errtext *ret_reason)
{
	struct trace_files files = {0};
	int ret = load_trace_files(db, job->id, &files, ret_reason);

	if (ret == -ENOENT || ret == -EIO) {
		d->advice.absent = arena_text(&m->arena, ret_reason->text);
		return 0;
	}
	if (!ret)
		errtext_set(ret_reason, 0, "it was not traced");
	d->advice.files = (int64_t)files.nr;
	for (size_t i = 0; i < files.nr && !ret; i++) {
		const struct trace_file *f = &files.files[i];
		const struct identity *id =
			find_identity(in, f->dev_major, f->dev_minor, f->ino, f->gen);

		ret = cover_traced(db, m, f, d, id ? &d->coverage[id->at] : NULL);
	}
	trace_files_free(&files);
	return ret;
}

/* Sets one reason, copied once, for all files without a recording. */
static int keep_reason(struct model *m, const struct model_job *job, struct model_detail *d,
		       const char *reason)
{
	const char *copy = arena_text(&m->arena, reason);

	for (size_t i = 0; i < job->nr_files; i++)
		if (d->coverage[i].absent == reason)
			d->coverage[i].absent = copy;
	return copy ? 0 : -ENOMEM;
}

/* Sampled pages of a file, by part; NULL: none. */
struct sampled {
	struct coverage c;
	uint64_t pages[COVERAGE_PARTS];
};

static int count_sampled(struct model *m, const struct model_job *job, const struct index *in,
			 const struct reference_page *p, struct sampled **of)
{
	const struct identity *id = find_identity(in, p->dev_major, p->dev_minor, p->ino, p->gen);
	uint64_t pages = id ? pages_of(job->files[id->at].size_bytes.value,
				       (uint64_t)m->run.page_size_bytes.value)
			    : 0;

	if (p->page_index < 0 || (uint64_t)p->page_index >= pages)
		return 0;
	if (!of[id->at]) {
		of[id->at] = arena_alloc(&m->arena, sizeof(**of));
		if (!of[id->at])
			return -ENOMEM;
		coverage_divide(&of[id->at]->c, pages);
	}
	of[id->at]->pages[(uint64_t)p->page_index / of[id->at]->c.part_pages]++;
	return 0;
}

static void cover_file_sampled(struct model_coverage *c, struct sampled *s,
			       const struct references *refs, const char *broken)
{
	coverage_of_sample(&s->c, s->pages, refs->threshold);
	*c = (struct model_coverage){.parts = &s->c,
				     .sampled = true,
				     .estimated = refs->threshold < REFERENCE_THRESHOLD_ALL,
				     .broken = broken};
}

/* Files without a trace, but with pages in the sample of references. */
static int cover_sampled(sqlite3 *db, struct model *m, struct model_job *job,
			 const struct index *in, struct model_detail *d)
{
	struct references refs = {0};
	struct errtext ignored = {0};
	const char *broken = NULL;
	struct sampled **of;
	int ret = load_references(db, job->id, &refs, &ignored);

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	of = arena_alloc(&m->arena, job->nr_files * sizeof(struct sampled *));
	if (refs.broken)
		broken = arena_text(&m->arena, refs.reason);
	for (size_t i = 0; of && !ret && i < refs.nr_pages; i++)
		if (refs.pages[i].hash < refs.threshold)
			ret = count_sampled(m, job, in, &refs.pages[i], of);
	for (size_t i = 0; of && !ret && i < job->nr_files; i++)
		if (of[i] && d->coverage[i].absent)
			cover_file_sampled(&d->coverage[i], of[i], &refs, broken);
	references_free(&refs);
	return of ? ret : -ENOMEM;
}

int model_coverage_load(sqlite3 *db, struct model *m, struct model_job *job, struct model_detail *d,
			struct errtext *err)
{
	struct errtext why = {0};
	struct index in = {0};
	int ret = index_files(m, job, &in);

	d->coverage = arena_alloc(&m->arena, job->nr_files * sizeof(*d->coverage));
	for (size_t i = 0; d->coverage && i < job->nr_files; i++)
		d->coverage[i].absent = why.text;
	if (!ret)
		ret = d->coverage ? cover_traces(db, m, job, &in, d, &why) : -ENOMEM;
	if (!ret)
		ret = cover_sampled(db, m, job, &in, d);
	if (!ret)
		ret = keep_reason(m, job, d, why.text);
	return ret == -ENOMEM ? model_no_memory(err) : ret;
}
