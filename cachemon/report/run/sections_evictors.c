/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/model_detail.h"

enum { ROWS_MAX = 20 };

static void put_bytes(FILE *out, const char *before, const struct bytes *b)
{
	if (!b->data)
		return;
	fputs(before, out);
	escape_inert(out, b->data, b->len);
}

/* "the job, by writing in /data/out", "rsync in /backup", "nobody knows". */
static void put_evictor(FILE *out, const struct model_eviction *e)
{
	bool own = bytes_is(&e->kind, "own");

	if (e->rows)
		fprintf(out, "%s other rows together",
			show_count((struct opt_i64){e->rows, true}, false).s);
	else if (!e->kind.data)
		fputs("not known", out);
	else if (own)
		fputs("the job itself", out);
	else if (e->job.data)
		put_bytes(out, "job ", &e->job);
	else
		put_bytes(out, "", &e->command);
	if (e->rows || !e->kind.data)
		return;
	if (e->writes.known)
		fputs(e->writes.value ? ", by writing" : ", by reading", out);
	put_bytes(out, own ? " in " : ", in ", own ? &e->directory : &e->cgroup);
}

/* NULL: no memory. */
static char *evictor_text(const struct model_eviction *e)
{
	struct text_builder b;

	if (text_begin(&b))
		put_evictor(b.out, e);
	return text_end(&b);
}

static void put_row(struct doc_table *t, const struct model_eviction *e, int64_t all,
		    int64_t page_size)
{
	doc_cell_text(t, evictor_text(e));
	doc_cell_name(t, &e->owner_directory, "-");
	doc_cell_name(t, &e->cause, "-");
	doc_cell_shown(t, show_about(show_count(e->pages, false), !e->exact));
	doc_cell_shown(t, show_about(show_bytes(opt_mul(e->pages, page_size), false), !e->exact));
	doc_cell(t, "%.4f", all > 0 ? (double)e->pages.value / (double)all : 0);
}

/* Evictors and owners: the rows of the table as streams. Owns its names. */
struct flow {
	char *names[2][FLOW_NAMES];
	size_t nr_names[2];
	struct doc_stream streams[INTERFERENCE_ROWS + EVICT_NR];
	size_t nr;
};

/* The index of a name on its side; the last one collects all that do not fit. */
static size_t name_of(struct flow *f, int side, char *name)
{
	size_t *nr = &f->nr_names[side];

	for (size_t i = 0; i < *nr && i < FLOW_NAMES - 1; i++)
		if (!strcmp(f->names[side][i], name)) {
			free(name);
			return i;
		}
	if (*nr < FLOW_NAMES - 1) {
		f->names[side][*nr] = name;
		return (*nr)++;
	}
	free(name);
	*nr = FLOW_NAMES;
	return FLOW_NAMES - 1;
}

static char *owner_text(const struct model_eviction *e)
{
	return e->owner_directory.data
		       ? escape_inert_copy(e->owner_directory.data, e->owner_directory.len)
		       : strdup("files without a name");
}

static enum tone tone_of(const struct model_eviction *e)
{
	if (e->rows || !e->kind.data)
		return TONE_OPEN;
	if (bytes_is(&e->kind, "own"))
		return TONE_AHEAD;
	return bytes_is(&e->kind, "kernel") ? TONE_OPEN : TONE_STALL;
}

/* false: no memory */
static bool add_stream(struct flow *f, const struct model_eviction *e)
{
	struct doc_stream s = {.tone = tone_of(e), .amount = (double)e->pages.value};

	char *from = evictor_text(e);
	char *to = owner_text(e);

	if (!from || !to) {
		free(from);
		free(to);
		return false;
	}
	s.from = name_of(f, 0, from);
	s.to = name_of(f, 1, to);
	f->streams[f->nr++] = s;
	return true;
}

static void put_flow(struct doc *d, const struct model_detail *x)
{
	struct flow *f = calloc(1, sizeof(*f));
	struct doc_flow flow = {
		.title = "Who evicted whose pages",
		.says = x->nr_evictions > ROWS_MAX
				? "Evictors are on the left, owners on the right. Width is the "
				  "number of pages. The table below lists the largest rows."
				: "Evictors are on the left, owners on the right. Width is the "
				  "number of pages, as listed in the table below.",
	};

	if (!f) {
		d->failed = true;
		return;
	}
	for (size_t i = 0; i < x->nr_evictions; i++)
		if (x->evictions[i].pages.value > 0 && !add_stream(f, &x->evictions[i]))
			d->failed = true;
	for (int side = 0; side < 2; side++) {
		flow.nr_names[side] = f->nr_names[side];
		for (size_t i = 0; i < f->nr_names[side]; i++)
			flow.names[side][i] = f->names[side][i] ? f->names[side][i] : "others";
	}
	flow.streams = f->streams;
	flow.nr = f->nr;
	doc_put_flow(d, &flow);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < FLOW_NAMES; i++)
			free(f->names[side][i]);
	free(f);
}

void sections_evictors(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"WHO", DOC_OWN_LINE}, {"WHOSE PAGES", DOC_LEFT}, {"CAUSE", DOC_LEFT},
		{"PAGES", DOC_RIGHT},  {"AMOUNT", DOC_RIGHT},	  {"", DOC_BAR},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const struct model_detail *x = job->detail;
	struct opt_i64 all = {.known = true};
	bool shared = false;

	if (x->interference_absent) {
		doc_para(d, "Not known: %s.", x->interference_absent);
		return;
	}
	for (size_t i = 0; i < x->nr_evictions; i++)
		all = opt_add(all, x->evictions[i].pages);
	for (size_t i = 0; i < x->nr_evictions && i < ROWS_MAX; i++) {
		put_row(&t, &x->evictions[i], all.known ? all.value : 0,
			m->run.page_size_bytes.value);
		shared = shared || !x->evictions[i].exact;
	}
	if (!t.nr_cells)
		doc_para(d, "No page of the job left the cache.");
	put_flow(d, x);
	doc_put_table(d, &t);
	if (shared)
		doc_para(d, "~ marks an estimate: pages that kswapd evicted are attributed in "
			    "proportion to the pages that each job added meanwhile.");
	if (x->nr_evictions > ROWS_MAX)
		doc_para(d,
			 "%s more rows are in the JSON report (cachemon report --json, key "
			 "interference.evictions).",
			 human_exact((int64_t)(x->nr_evictions - ROWS_MAX)).text);
}

static void put_causes(struct doc *d, const struct counts *c, struct opt_i64 all, int64_t page_size)
{
	static const char *const names[EVICT_NR] = {
		[EVICT_RECLAIM_KSWAPD] = "background reclaim (kswapd)",
		[EVICT_RECLAIM_DIRECT] = "direct reclaim by a task that needed memory",
		[EVICT_RECLAIM_MEMCG] = "reclaim by a memory limit",
		[EVICT_DONTNEED] = "DONTNEED advice",
		[EVICT_DROP_CACHES] = "drop_caches",
		[EVICT_TRUNCATE] = "file truncated or deleted",
		[EVICT_DIRECT_IO] = "direct I/O",
		[EVICT_OTHER] = "other",
		[EVICT_INVALIDATE] = "invalidated by the filesystem",
		[EVICT_DONTCACHE] = "calls with RWF_DONTCACHE",
	};
	static const struct doc_column columns[] = {
		{"CAUSE", DOC_LEFT},
		{"PAGES", DOC_RIGHT},
		{"AMOUNT", DOC_RIGHT},
		{"", DOC_BAR},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (int i = 0; i < EVICT_NR; i++) {
		enum counter cause = C_evicted_reclaim_kswapd + (enum counter)i;
		struct opt_i64 n = counts_get(c, cause);
		bool least = counts_lower_bound(c, cause);

		if (n.known && n.value == 0)
			continue;
		doc_cell(&t, "%s", names[i]);
		doc_cell_shown(&t, show_least(show_count(n, false), least));
		doc_cell_shown(&t, show_least(show_bytes(opt_mul(n, page_size), false), least));
		doc_cell(&t, "%.4f",
			 n.known && all.known && all.value > 0 ? (double)n.value / (double)all.value
							       : 0);
	}
	doc_put_table(d, &t);
}

static void put_distance(struct doc *d, const struct counts *c)
{
	struct opt_i64 refaults = counts_get(c, C_refaults);
	struct opt_i64 pages = counts_get(c, C_refault_distance_pages);
	struct opt_i64 ms = counts_get(c, C_refault_distance_ms);

	if (!refaults.known || refaults.value == 0 || !pages.known || !ms.known)
		return;
	doc_para(d,
		 "%s%s pages were added again, on average %s evictions and %s after they had left.",
		 counts_lower_bound(c, C_refaults) ? "At least " : "",
		 show_count(refaults, false).s,
		 show_count((struct opt_i64){pages.value / refaults.value, true}, false).s,
		 show_ns(opt_mul((struct opt_i64){ms.value / refaults.value, true}, 1000000)).s);
}

void sections_evictions(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct derived derived;

	counts_derive(&job->counts, m->run.page_size_bytes.value, &derived);
	if (derived.evicted_pages.known && derived.evicted_pages.value == 0) {
		doc_para(d, counts_lower_bound(&job->counts, C_evicted_other)
				    ? "No page of the job is known to have left the cache."
				    : "No page of the job left the cache.");
		return;
	}
	put_causes(d, &job->counts, derived.evicted_pages, m->run.page_size_bytes.value);
	put_distance(d, &job->counts);
}
