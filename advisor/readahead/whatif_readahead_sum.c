/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "advisor/readahead/whatif_readahead.h"

/* Of a normal distribution, both sides. */
#define BAND_95 1.96

/* Files of which one sum is made. */
struct which {
	const struct whatif_readahead *w;
	bool mapped;
	size_t candidate;
};

/* A mapping of which nothing had to be read has nothing to read with any setting. */
static bool counts(const struct which *of, const struct whatif_file *f)
{
	if (!f->counted || f->stands_for <= 0)
		return false;
	return of->mapped ? f->mapped && f->windows : !f->mapped;
}

/* What the file adds to the sum, once. */
static double figure_of(const struct which *of, const struct whatif_file *f, int figure)
{
	return counts(of, f) ? (double)f->results[of->candidate].figure[figure] : 0;
}

/* Files whose figures are held against the same count of pages. */
static bool together(const struct whatif_readahead *w, int64_t a, int64_t b)
{
	return w->scale == WHATIF_BY_JOB || a == b;
}

/* Of the figure for each page that was brought; 0 where these were not counted. */
static double ratio_of(const struct which *of, int figure, int64_t stratum)
{
	const struct whatif_readahead *w = of->w;
	double sum = 0, brought = 0;

	for (size_t i = 0; w->scale != WHATIF_BY_FILES && i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];

		if (!whatif_file_sampled(f) || !together(w, f->stratum, stratum))
			continue;
		sum += f->counts_for * figure_of(of, f, figure);
		brought += f->counts_for * f->brought;
	}
	return brought > 0 ? sum / brought : 0;
}

/*
 * What the files of one stratum add to the variance: of what a file is off its pages times the
 * ratio, or of all of it where pages were not counted, as how many files there are is not known
 * either. One file tells nothing of the spread.
 */
static double variance_of(const struct which *of, int figure, int64_t stratum)
{
	const struct whatif_readahead *w = of->w;
	double n = 0, squares = 0, weight = 1, ratio = ratio_of(of, figure, stratum);

	for (size_t i = 0; i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];
		double off;

		if (!whatif_file_sampled(f) || f->stratum != stratum)
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

/* It is the first file of its stratum. */
static bool leads(const struct which *of, size_t at)
{
	const struct whatif_readahead *w = of->w;

	for (size_t i = 0; i < at; i++)
		if (counts(of, &w->files[i]) && w->files[i].stratum == w->files[at].stratum)
			return false;
	return true;
}

static double error_of(const struct which *of, int figure)
{
	const struct whatif_readahead *w = of->w;
	double variance = 0;

	for (size_t i = 0; i < w->nr_files; i++) {
		if (!counts(of, &w->files[i]) || w->files[i].stratum < 0 || !leads(of, i))
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

		if (!counts(of, f))
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

static bool better(const struct whatif_sum *a, const struct whatif_sum *b, double fewest)
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
		if (in[i] && (best < 0 || better(&sums[i], &sums[best], fewest)))
			best = i;
	return best;
}
