/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/reuse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/order.h"

enum {
	EPOCHS_MAX = 8, /* pages examined one by one; later ones count as similar */
	NEAR = 8,	/* references among which a stream's last one is searched */
};

struct work {
	uint32_t *count; /* number of references of each page */
	uint32_t *nth; /* index among the references of its page; UINT32_MAX: the same read again */
	uint32_t *rank; /* rank of each page in an epoch */
	double *gap;
	size_t nr;    /* references without repeats of the same read */
	size_t pages; /* pages with references */
};

/* A page that is read in pieces, or at the seam of two reads, counts as read once. */
static void count_references(const struct reuse_input *in, struct work *w)
{
	for (size_t i = 0; i < in->nr; i++) {
		uint32_t page = in->page[i];

		if (i && in->page[i - 1] == page) {
			w->nth[i] = UINT32_MAX;
			continue;
		}
		w->pages += w->count[page] == 0;
		w->nth[i] = w->count[page]++;
		w->nr++;
	}
}

/* The share of pages that were read n or n + 1 times, for the best n. */
static double evenness_of(const struct work *w, size_t nr_pages)
{
	uint32_t mean = (uint32_t)(w->nr / w->pages);
	size_t best = 0;

	for (uint32_t n = mean > 1 ? mean - 1 : 1; n <= mean; n++) {
		size_t fit = 0;

		for (size_t i = 0; i < nr_pages; i++)
			fit += w->count[i] == n || w->count[i] == n + 1;
		if (fit > best)
			best = fit;
	}
	return (double)best / (double)w->pages;
}

/*
 * How well one moment separates the k-th references of all pages from the next ones: 1 for epochs,
 * 3/4 if each page comes twice at random times.
 */
static double separation_of(const struct reuse_input *in, const struct work *w, uint32_t k,
			    size_t *ret_next)
{
	size_t next = 0;
	size_t total = 0;
	size_t before = 0;
	size_t after;
	size_t best;

	for (size_t i = 0; i < in->nr; i++) {
		next += w->nth[i] == k + 1;
		total += w->nth[i] == k || w->nth[i] == k + 1;
	}
	after = next;
	best = after;
	for (size_t i = 0; i < in->nr; i++) {
		before += w->nth[i] == k;
		after -= w->nth[i] == k + 1;
		if (before + after > best)
			best = before + after;
	}
	*ret_next = next;
	return total ? (double)best / (double)total : 0;
}

/* Spearman's rank correlation of the k-th and the next references, over pages that have both. */
static double similarity_of(const struct reuse_input *in, struct work *w, uint32_t k)
{
	uint32_t first = 0;
	uint32_t second = 0;
	double squares = 0;
	double n;

	for (size_t i = 0; i < in->nr; i++)
		if (w->nth[i] == k && w->count[in->page[i]] > k + 1)
			w->rank[in->page[i]] = first++;
	for (size_t i = 0; i < in->nr; i++)
		if (w->nth[i] == k + 1) {
			double d = (double)w->rank[in->page[i]] - second++;

			squares += d * d;
		}
	n = second;
	return n > 1 ? 1 - 6 * squares / (n * (n * n - 1)) : NAN;
}

static double median_of(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), order_f64);
	return v[nr / 2];
}

/* From the first read of a page to its second; -1: no page was read twice. */
static double period_of(const struct reuse_input *in, struct work *w, const int64_t *lookup,
			const double *time_s)
{
	size_t nr = 0;

	for (size_t i = 0; i < in->nr; i++)
		if (w->nth[i] == 0)
			w->rank[in->page[i]] = (uint32_t)i;
	for (size_t i = 0; i < in->nr; i++) {
		uint32_t first = w->rank[in->page[i]];

		if (w->nth[i] != 1)
			continue;
		w->gap[nr++] =
			lookup ? (double)(lookup[i] - lookup[first]) : time_s[i] - time_s[first];
	}
	return nr ? median_of(w->gap, nr) : -1;
}

/* Shares of the first pass's steps: up, slightly up, and slightly up from one of the last pages. */
static void put_order(const struct reuse_input *in, const struct work *w, struct features *f)
{
	uint64_t last[NEAR] = {0};
	uint64_t near = (uint64_t)(4 / in->rate) + 1;
	uint64_t lowest = UINT64_MAX;
	uint64_t highest = 0;
	size_t nr = 0;
	size_t up = 0;
	size_t jumps = 0;
	size_t jumps_up = 0;
	size_t on_stream = 0;

	for (size_t i = 0; i < in->nr; i++) {
		uint64_t index = in->index[in->page[i]];
		uint64_t before = last[(nr + NEAR - 1) % NEAR];
		bool close = false;

		if (w->nth[i] != 0)
			continue;
		for (size_t k = 0; k < nr && k < NEAR; k++)
			close |= index > last[k] && index - last[k] <= near;
		up += nr && index > before;
		if (nr && !(index > before && index - before <= near)) {
			jumps++;
			jumps_up += index > before;
			on_stream += close;
		}
		last[nr++ % NEAR] = index;
		lowest = index < lowest ? index : lowest;
		highest = index > highest ? index : highest;
	}
	if (nr < 2)
		return;
	features_set(f, F_page_ascending_share, (double)up / (double)(nr - 1));
	features_set(f, F_page_jumps, (double)jumps);
	features_set_ratio(f, F_page_jump_ascending_share, (double)jumps_up, (double)jumps);
	features_set_ratio(f, F_page_stream_share, (double)on_stream, (double)jumps);
	features_set(f, F_density, fmin((double)nr / in->rate / (double)(highest - lowest + 1), 1));
}

static void put_epochs(const struct reuse_input *in, struct work *w, struct features *f)
{
	double parted = 1;
	double similar = 0;
	size_t seams = 0;

	for (uint32_t k = 0; k + 1 < EPOCHS_MAX; k++) {
		size_t next = 0;
		double s = separation_of(in, w, k, &next);
		double r;

		if (next * 10 < w->pages || next < 2)
			break;
		parted = fmin(parted, s);
		r = similarity_of(in, w, k);
		similar += r;
		seams++;
	}
	if (!seams)
		return;
	features_set(f, F_epoch_separation, parted);
	features_set(f, F_order_similarity, similar / (double)seams);
	if (in->lookup)
		features_set(f, F_period_lookups, period_of(in, w, in->lookup, NULL));
	if (in->time_s)
		features_set(f, F_period_s, period_of(in, w, NULL, in->time_s));
}

int reuse_features(const struct reuse_input *in, struct features *f)
{
	struct arena arena = {0};
	struct work w = {
		.count = arena_alloc(&arena, (in->nr_pages + 1) * sizeof(*w.count)),
		.nth = arena_alloc(&arena, (in->nr + 1) * sizeof(*w.nth)),
		.rank = arena_alloc(&arena, (in->nr_pages + 1) * sizeof(*w.rank)),
		.gap = arena_alloc(&arena, (in->nr + 1) * sizeof(*w.gap)),
	};
	int ret = arena.failed ? -ENOMEM : 0;

	if (!ret)
		count_references(in, &w);
	if (!ret && w.pages) {
		features_set(f, F_reuse, (double)w.nr / (double)w.pages);
		features_set(f, F_evenness, evenness_of(&w, in->nr_pages));
		features_set(f, F_epochs, (double)w.nr / (double)w.pages);
		if (in->size_pages > 0)
			features_set(f, F_coverage,
				     fmin((double)w.pages / in->rate / in->size_pages, 1));
		if (in->index)
			put_order(in, &w, f);
		put_epochs(in, &w, f);
		/* Reads outside epochs have no epoch order. */
		if (!features_least(f, F_evenness, 0.85) ||
		    (f->known[F_epoch_separation] && f->value[F_epoch_separation] < 0.9))
			f->known[F_epochs] = false;
	}
	arena_free(&arena);
	return ret;
}
