/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far the miss-ratio curve of a sample is from the exact one: mean absolute error of LRU and
 * OPT, and how often the band contains the true value. usage: curve_accuracy SAMPLE SEEDS [hll]
 * Prints one line per trace: name, then figures. Judged by curve_accuracy.py.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/curve/curve.h"
#include "curve_traces.h"

enum { PAGES = 262144, ACCESSES = 1000000, SIZES = 10 };

/* Of 256: small caches, which depend on few pages, and large ones. */
static const uint32_t sizes[SIZES] = {1, 2, 4, 8, 16, 32, 64, 96, 128, 192};

struct truth {
	double lru[SIZES], opt[SIZES];
};

/* How the number of distinct pages is known. */
enum distinct { COUNTED, ESTIMATED, NOT_KNOWN };

struct error {
	double sum, max;
	int cells, held, too_low;
};

static void error_add(struct error *e, double got, double low, double high, double want)
{
	double off = fabs(got - want);

	e->sum += off;
	e->max = off > e->max ? off : e->max;
	e->cells++;
	e->held += want >= low - 1e-12 && want <= high + 1e-12;
	e->too_low += want > high + 1e-12;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t hash_of(uint32_t page, uint64_t seed)
{
	return (uint32_t)(mix(mix(page + 1) ^ mix(seed * UINT64_C(0x9e3779b97f4a7c15))) >> 32);
}

struct sampled {
	struct curve_sample sample;
	uint32_t *entries, *hashes, *number;
};

/* The threshold below which that many of the distinct pages are. */
static uint64_t threshold_of(const struct trace *t, const uint32_t *hash, uint32_t pages)
{
	uint32_t *seen = malloc(t->nr_pages * sizeof(*seen));
	uint8_t *once = calloc(t->nr_pages, 1);
	uint64_t threshold = CURVE_HASHES;
	uint32_t n = 0;

	if (!seen || !once)
		abort();
	for (size_t i = 0; i < t->nr; i++) {
		if (!once[t->pages[i]]++)
			seen[n++] = hash[t->pages[i]];
		once[t->pages[i]] = 1;
	}
	qsort(seen, n, sizeof(*seen), by_value);
	if (n > pages)
		threshold = seen[pages];
	free(seen);
	free(once);
	return threshold;
}

static void sample_make(const struct trace *t, uint32_t pages, uint64_t seed, struct sampled *ret)
{
	uint32_t *hash = malloc(t->nr_pages * sizeof(*hash));
	struct sampled s = {0};
	size_t n = 0;

	s.entries = malloc(t->nr * sizeof(*s.entries));
	s.hashes = malloc(t->nr_pages * sizeof(*s.hashes));
	s.number = malloc(t->nr_pages * sizeof(*s.number));
	if (!hash || !s.entries || !s.hashes || !s.number)
		abort();
	memset(s.number, 0xff, t->nr_pages * sizeof(*s.number));
	for (uint32_t p = 0; p < t->nr_pages; p++)
		hash[p] = hash_of(p, seed);
	s.sample.threshold = threshold_of(t, hash, pages);
	for (size_t i = 0; i < t->nr; i++) {
		uint32_t p = t->pages[i];

		if (hash[p] >= s.sample.threshold)
			continue;
		if (s.number[p] == UINT32_MAX) {
			s.number[p] = s.sample.nr_pages;
			s.hashes[s.sample.nr_pages++] = hash[p];
		}
		s.entries[n++] = s.number[p] << 1;
	}
	free(hash);
	s.sample.entries = s.entries;
	s.sample.hashes = s.hashes;
	s.sample.nr_entries = n;
	s.sample.lookups = (double)t->nr;
	*ret = s;
}

static void sample_free(struct sampled *s)
{
	free(s->entries);
	free(s->hashes);
	free(s->number);
}

/* Errors of an estimate of M: fixed ones, of the size of a normal distribution. */
static double estimate_of(double distinct, double error, uint64_t seed)
{
	double u = ((double)(mix(seed * 77 + 5) >> 11) + 0.5) / 9007199254740992.0;
	double v = (double)(mix(seed * 99 + 3) >> 11) / 9007199254740992.0;

	return distinct * (1 + error * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

static void judge(const struct trace *t, const struct truth *truth, uint32_t pages, uint64_t seed,
		  enum distinct how, struct error *lru, struct error *opt)
{
	struct sampled s;
	struct curve c;

	sample_make(t, pages, seed, &s);
	s.sample.distinct_pages = t->distinct;
	if (how == NOT_KNOWN)
		s.sample.distinct_pages = -1;
	if (how == ESTIMATED) {
		s.sample.distinct_error = 1.04 / 128; /* HyperLogLog of 2^14 registers */
		s.sample.distinct_pages = estimate_of(t->distinct, s.sample.distinct_error, seed);
	}
	if (curve_make(&s.sample, &c) < 0)
		abort();
	for (int i = 0; i < SIZES; i++) {
		struct curve_point p;

		curve_at(&c, (double)t->nr_pages * sizes[i] / 256, &p);
		error_add(lru, p.miss, p.low, p.high, truth->lru[i]);
		error_add(opt, p.opt, p.opt_low, p.opt_high, truth->opt[i]);
	}
	curve_free(&c);
	sample_free(&s);
}

static void find_truth(const struct trace *t, struct truth *ret)
{
	for (int i = 0; i < SIZES; i++) {
		uint32_t pages = (uint32_t)((uint64_t)t->nr_pages * sizes[i] / 256);

		ret->lru[i] = (double)exact_lru_misses(t, pages) / (double)t->nr;
		ret->opt[i] = (double)exact_opt_misses(t, pages) / (double)t->nr;
	}
}

static void print_error(const char *name, const struct error *e)
{
	printf("\t%s_mae=%.5f\t%s_max=%.5f\t%s_held=%d\t%s_cells=%d", name, e->sum / e->cells, name,
	       e->max, name, e->held, name, e->cells);
}

int main(int argc, char **argv)
{
	long pages = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long seeds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	enum distinct how = COUNTED;

	if (argc > 3)
		how = strcmp(argv[3], "hll") == 0 ? ESTIMATED : NOT_KNOWN;
	if (pages < 16 || seeds < 1) {
		fputs("usage: curve_accuracy SAMPLED-PAGES SEEDS [hll|unknown]\n", stderr);
		return 2;
	}
	for (int i = 0; i < TRACES; i++) {
		struct error lru = {0};
		struct error opt = {0};
		struct truth truth;
		struct trace t;

		trace_make(i, PAGES, ACCESSES, &t);
		find_truth(&t, &truth);
		for (long seed = 1; seed <= seeds; seed++)
			judge(&t, &truth, (uint32_t)pages, (uint64_t)seed, how, &lru, &opt);
		printf("%s\tdistinct=%u", t.name, t.distinct);
		print_error("lru", &lru);
		print_error("opt", &opt);
		putchar('\n');
		fflush(stdout);
		trace_free(&t);
	}
	return 0;
}
