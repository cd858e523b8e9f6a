/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>

#include "advisor/load/load_brought.h"
#include "advisor/readahead/whatif_readahead.h"

/* What the counters have of the files, beside what was traced of them. */
struct brought {
	struct whatif_readahead *w;
	double stratum[WHATIF_STRATA]; /* pages of its files, but for those chosen for being read
					  much */
	double rows;		       /* pages of all files that have a row */
	bool unknown;		       /* not measured, or of a file whose size nobody knows */
};

static size_t stratum_of(int64_t size_bytes)
{
	size_t s = 0;

	while (s < WHATIF_STRATA - 1 && size_bytes >= 16384LL << 3 * s)
		s++;
	return s;
}

static struct whatif_file *traced(struct whatif_readahead *w, int64_t id)
{
	for (size_t i = 0; id >= 0 && i < w->nr_files; i++)
		if (w->files[i].id == id)
			return &w->files[i];
	return NULL;
}

static void take(void *arg, const struct brought_file *row)
{
	struct brought *b = arg;
	struct whatif_file *f = traced(b->w, row->traced_file_id);

	if (row->pages < 0 || (!f && row->size_bytes < 0 && row->pages > 0)) {
		b->unknown = true;
		return;
	}
	b->rows += row->pages;
	if (f)
		f->brought = row->pages;
	if (!f)
		b->stratum[stratum_of(row->size_bytes)] += row->pages;
	else if (f->stratum >= 0 && f->stratum < WHATIF_STRATA)
		b->stratum[f->stratum] += row->pages;
}

/* A file beyond those that have rows: what the model has of it, where it was held against the
 * kernel. */
static bool fill_brought(struct whatif_readahead *w)
{
	for (size_t i = 0; i < w->nr_files; i++) {
		struct whatif_file *f = &w->files[i];
		const uint64_t *figure = f->results[WHATIF_ACTUAL].figure;

		if (f->brought >= 0 || f->stands_for <= 0)
			continue;
		if (!f->judged && f->reason != WHATIF_CACHED)
			return false;
		f->brought = (double)(figure[WHATIF_MISSES] + figure[WHATIF_PREFETCHED]);
	}
	return true;
}

static void count_for(struct whatif_file *f, double times)
{
	f->counts_for = times > 1 ? times : 1;
}

/* Each stratum for itself: what its files brought over what those of the sample did. */
static void weigh_strata(struct whatif_readahead *w, const double pages[WHATIF_STRATA])
{
	double sampled[WHATIF_STRATA] = {0};

	for (size_t i = 0; i < w->nr_files; i++)
		if (whatif_file_sampled(&w->files[i]))
			sampled[w->files[i].stratum] += w->files[i].brought;
	for (size_t i = 0; i < w->nr_files; i++) {
		struct whatif_file *f = &w->files[i];

		if (whatif_file_sampled(f) && sampled[f->stratum] > 0)
			count_for(f, pages[f->stratum] / sampled[f->stratum]);
	}
}

/* Files without rows are of any size: the sample as a whole makes what the job brought. */
static void weigh_job(struct whatif_readahead *w, double pages)
{
	double sampled = 0;

	for (size_t i = 0; i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];

		if (f->stands_for > 1)
			sampled += f->stands_for * f->brought;
		else if (f->brought > 0)
			pages -= f->stands_for > 0 ? f->brought : 0;
	}
	for (size_t i = 0; sampled > 0 && i < w->nr_files; i++)
		if (w->files[i].stands_for > 1)
			count_for(&w->files[i], w->files[i].stands_for * pages / sampled);
}

int whatif_readahead_weigh(sqlite3 *db, int64_t job_id, struct whatif_readahead *w,
			   struct errtext *err)
{
	struct brought b = {.w = w};
	double pages;
	int r;

	for (size_t i = 0; i < w->nr_files; i++) {
		w->files[i].brought = -1;
		w->files[i].counts_for = w->files[i].stands_for;
	}
	r = load_brought(db, job_id, take, &b, &pages, err);
	if (r)
		return r;
	w->scale = WHATIF_BY_FILES;
	if (pages < 0 || b.unknown || !fill_brought(w))
		return 0;
	w->scale = b.rows < pages ? WHATIF_BY_JOB : WHATIF_BY_SIZE;
	if (w->scale == WHATIF_BY_SIZE)
		weigh_strata(w, b.stratum);
	else
		weigh_job(w, pages);
	return 0;
}
