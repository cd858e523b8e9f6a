/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counters.h"

/* Strata of sizes: below 16 KiB, then each eight times as large. */
enum { WHATIF_STRATA = 8 };

/* Whether the file was chosen by its hash, and so represents others of its stratum. */
static bool is_sampled(const struct whatif_file *f)
{
	return f->stands_for > 0 && f->stratum >= 0 && f->stratum < WHATIF_STRATA;
}

/* The counters of the files, in addition to their traces. */
struct brought {
	struct whatif_readahead *w;
	double stratum[WHATIF_STRATA]; /* pages of the stratum's files, except those chosen because
					* they were read much */
	double rows;		       /* pages of all files that have a row */
	bool unknown;		       /* not measured, or of a file of unknown size */
};

static size_t stratum_of(double size_bytes)
{
	size_t s = 0;

	while (s < WHATIF_STRATA - 1 && size_bytes >= (double)(16384LL << 3 * s))
		s++;
	return s;
}

static struct whatif_file *find_traced(struct whatif_readahead *w, int64_t id)
{
	for (size_t i = 0; id >= 0 && i < w->nr_files; i++)
		if (w->files[i].id == id)
			return &w->files[i];
	return NULL;
}

/* size_bytes and pages < 0: unknown. */
static void add_brought(struct brought *b, int64_t traced_file_id, double size_bytes, double pages)
{
	struct whatif_file *f = find_traced(b->w, traced_file_id);

	if (pages < 0 || (!f && size_bytes < 0 && pages > 0)) {
		b->unknown = true;
		return;
	}
	b->rows += pages;
	if (f)
		f->brought = pages;
	if (!f)
		b->stratum[stratum_of(size_bytes)] += pages;
	else if (f->stratum >= 0 && f->stratum < WHATIF_STRATA)
		b->stratum[f->stratum] += pages;
}

static double count_or_absent(struct rows *r)
{
	struct opt_f64 v = rows_f64(r);

	return v.known && v.value >= 0 ? v.value : -1;
}

static int end_brought(struct rows *r, struct errtext *err)
{
	int e = rows_finish(r);

	return e ? errtext_set(err, e, "cannot read the counters of the job's files: %s",
			       rows_error(r->db))
		 : 0;
}

/* Databases from other programs or tests may lack the table. */
static bool has_counters(sqlite3 *db, const char *table)
{
	return sqlite3_table_column_metadata(db, "main", table, "demand_pages", NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

/* One NULL (not measured) makes the sum NULL. */
#define JOB_BROUGHT  SQL_brought_pages("j.")
#define FILE_BROUGHT SQL_brought_pages("f.")

/* For the whole job; < 0: not measured. */
static int load_job_brought(sqlite3 *db, int64_t job_id, double *ret_pages, struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(db, &no_texts,
				   "SELECT " JOB_BROUGHT " FROM job j WHERE j.id = ?1", 1, &job_id);

	*ret_pages = rows_next(&r) ? count_or_absent(&r) : -1;
	return end_brought(&r, err);
}

/* Each file of the job that has a row of its own. */
static int load_files_brought(sqlite3 *db, int64_t job_id, struct brought *b, struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(
		db, &no_texts,
		"SELECT t.id, f.size_bytes, " FILE_BROUGHT
		" FROM file f LEFT JOIN traced_file t ON t.job_id = f.job_id AND t.dev_major = "
		"f.dev_major AND t.dev_minor = f.dev_minor AND t.ino = f.ino AND t.gen = f.gen "
		"WHERE f.job_id = ?1",
		1, &job_id);

	while (rows_next(&r)) {
		int64_t traced_file_id = rows_value(&r, -1);
		double size_bytes = count_or_absent(&r);

		add_brought(b, traced_file_id, size_bytes, count_or_absent(&r));
	}
	return end_brought(&r, err);
}

/* A file without a row: the model's figure, if the model was checked for the file. */
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

/* Per stratum: pages of all its files / pages of the sampled files. */
static void weigh_strata(struct whatif_readahead *w, const double pages[WHATIF_STRATA])
{
	double sampled[WHATIF_STRATA] = {0};

	for (size_t i = 0; i < w->nr_files; i++)
		if (is_sampled(&w->files[i]))
			sampled[w->files[i].stratum] += w->files[i].brought;
	for (size_t i = 0; i < w->nr_files; i++) {
		struct whatif_file *f = &w->files[i];

		if (is_sampled(f) && sampled[f->stratum] > 0)
			count_for(f, pages[f->stratum] / sampled[f->stratum]);
	}
}

/* Files without rows may have any size: the whole sample is scaled to the job's pages. */
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
	w->scale = WHATIF_BY_FILES;
	if (!has_counters(db, "job") || !has_counters(db, "file"))
		return 0;
	r = load_job_brought(db, job_id, &pages, err);
	if (!r)
		r = load_files_brought(db, job_id, &b, err);
	if (r || pages < 0 || b.unknown || !fill_brought(w))
		return r;
	w->scale = b.rows < pages ? WHATIF_BY_JOB : WHATIF_BY_SIZE;
	if (w->scale == WHATIF_BY_SIZE)
		weigh_strata(w, b.stratum);
	else
		weigh_job(w, pages);
	return 0;
}

/* Two-sided, of the normal distribution. */
#define BAND_95 1.96

/* Files that make up one sum. */
struct which {
	const struct whatif_readahead *w;
	bool mapped;
	size_t candidate;
};

/* If no page of a mapping had to be read, no setting reads any. */
static bool counts_in(const struct which *of, const struct whatif_file *f)
{
	if (!f->counted || f->stands_for <= 0)
		return false;
	return of->mapped ? f->mapped && f->windows : !f->mapped;
}

/* The file's unweighted part of the sum. */
static double figure_of(const struct which *of, const struct whatif_file *f, int figure)
{
	return counts_in(of, f) ? (double)f->results[of->candidate].figure[figure] : 0;
}

/* Files whose figures are compared with the same count of pages. */
static bool is_weighed_with(const struct whatif_readahead *w, int64_t a, int64_t b)
{
	return w->scale == WHATIF_BY_JOB || a == b;
}

/* The figure per page that was brought in; 0 if pages were not counted. */
static double ratio_of(const struct which *of, int figure, int64_t stratum)
{
	const struct whatif_readahead *w = of->w;
	double sum = 0, brought = 0;

	for (size_t i = 0; w->scale != WHATIF_BY_FILES && i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];

		if (!is_sampled(f) || !is_weighed_with(w, f->stratum, stratum))
			continue;
		sum += f->counts_for * figure_of(of, f, figure);
		brought += f->counts_for * f->brought;
	}
	return brought > 0 ? sum / brought : 0;
}

/*
 * The variance that the files of one stratum add: the difference between a file and its pages
 * times the ratio, or all of it if pages were not counted, because the number of files is unknown
 * too. One file says nothing about the spread.
 */
static double variance_of(const struct which *of, int figure, int64_t stratum)
{
	const struct whatif_readahead *w = of->w;
	double n = 0, squares = 0, weight = 1, ratio = ratio_of(of, figure, stratum);

	for (size_t i = 0; i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];
		double off;

		if (!is_sampled(f) || f->stratum != stratum)
			continue;
		off = figure_of(of, f, figure) - (ratio > 0 ? ratio * f->brought : 0);
		squares += off * off;
		weight = f->counts_for;
		n++;
	}
	if (weight <= 1)
		return 0;
	if (n < 2)
		return NAN;
	return weight * (weight - 1) * squares * n / (n - 1);
}

/* Whether the file is the first one of its stratum. */
static bool leads_stratum(const struct which *of, size_t at)
{
	const struct whatif_readahead *w = of->w;

	for (size_t i = 0; i < at; i++)
		if (counts_in(of, &w->files[i]) && w->files[i].stratum == w->files[at].stratum)
			return false;
	return true;
}

static double error_of(const struct which *of, int figure)
{
	const struct whatif_readahead *w = of->w;
	double variance = 0;

	for (size_t i = 0; i < w->nr_files; i++) {
		if (!counts_in(of, &w->files[i]) || w->files[i].stratum < 0 ||
		    !leads_stratum(of, i))
			continue;
		variance += variance_of(of, figure, w->files[i].stratum);
	}
	return isnan(variance) ? -1 : BAND_95 * sqrt(variance);
}

void whatif_readahead_sum(const struct whatif_readahead *w, bool mapped, size_t candidate,
			  struct whatif_sum *ret)
{
	struct which which = {w, mapped, candidate}, *of = &which;
	size_t nr = 0;

	memset(ret, 0, sizeof(*ret));
	ret->known = true;
	for (size_t i = 0; i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];

		if (!counts_in(of, f))
			continue;
		nr++;
		ret->known &= f->results[of->candidate].known;
		for (int j = 0; j < WHATIF_FIGURES; j++)
			ret->figure[j] +=
				f->counts_for * (double)f->results[of->candidate].figure[j];
	}
	ret->known &= nr > 0;
	for (int j = 0; ret->known && j < WHATIF_FIGURES; j++) {
		ret->error[j] = -1;
		if (whatif_figure_seen(mapped, j))
			ret->error[j] = error_of(of, j);
		else
			ret->figure[j] = NAN;
	}
}

static double pages_read(const struct whatif_sum *s)
{
	return s->figure[WHATIF_MISSES] + s->figure[WHATIF_PREFETCHED];
}

static bool wastes_little(const struct whatif_sum *s, const struct whatif_sum *actual)
{
	if (isnan(s->figure[WHATIF_WASTED]))
		return pages_read(s) <= 1.1 * pages_read(actual);
	return s->figure[WHATIF_WASTED] <= 0.1 * pages_read(s) ||
	       s->figure[WHATIF_WASTED] <= actual->figure[WHATIF_WASTED];
}

static bool is_better(const struct whatif_sum *a, const struct whatif_sum *b, double fewest)
{
	if ((a->figure[WHATIF_STALLS] > 1.01 * fewest) !=
	    (b->figure[WHATIF_STALLS] > 1.01 * fewest))
		return a->figure[WHATIF_STALLS] < b->figure[WHATIF_STALLS];
	if (pages_read(a) != pages_read(b))
		return pages_read(a) < pages_read(b);
	return a->figure[WHATIF_REQUESTS] < b->figure[WHATIF_REQUESTS];
}

int whatif_readahead_best(const struct whatif_readahead *w, bool mapped)
{
	struct whatif_sum sums[WHATIF_CANDIDATES];
	bool in[WHATIF_CANDIDATES];
	double fewest = INFINITY;
	int best = -1;

	for (size_t i = 0; i < WHATIF_CANDIDATES; i++) {
		whatif_readahead_sum(w, mapped, i, &sums[i]);
		in[i] = sums[i].known && wastes_little(&sums[i], &sums[WHATIF_ACTUAL]);
		if (in[i] && sums[i].figure[WHATIF_STALLS] < fewest)
			fewest = sums[i].figure[WHATIF_STALLS];
	}
	for (int i = 0; i < WHATIF_CANDIDATES; i++)
		if (in[i] && (best < 0 || is_better(&sums[i], &sums[best], fewest)))
			best = i;
	return best;
}
