/* SPDX-License-Identifier: BSD-2-Clause */
#include "curve_traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return p;
}

/* The 64-bit finalizer of MurmurHash3. */
uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static double uniform(uint64_t *state)
{
	return (double)(mix(*state += UINT64_C(0x9e3779b97f4a7c15)) >> 11) / 9007199254740992.0;
}

static uint32_t below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(uniform(state) * n);
}

/* The item of rank r is scattered: neighbours in rank are not neighbours in number. */
struct zipf {
	double *sum;
	uint32_t *item;
	uint32_t n;
};

static void zipf_make(struct zipf *z, uint32_t n, double exponent, uint64_t *state)
{
	double all = 0;

	z->n = n;
	z->sum = allocate(n, sizeof(*z->sum));
	z->item = allocate(n, sizeof(*z->item));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = below(state, i + 1);

		all += pow(i + 1.0, -exponent);
		z->sum[i] = all;
		z->item[i] = z->item[j];
		z->item[j] = i;
	}
}

static uint32_t zipf_next(const struct zipf *z, uint64_t *state)
{
	double want = uniform(state) * z->sum[z->n - 1];
	uint32_t lo = 0;
	uint32_t hi = z->n - 1;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (z->sum[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return z->item[lo];
}

static void zipf_free(struct zipf *z)
{
	free(z->sum);
	free(z->item);
}

enum { ZIPF, LOOP_ZIPF, UNIFORM, HOT, RUNS };

enum { RUN = 32 };

static void fill(struct trace *t, int kind)
{
	uint64_t state = 1 + (uint64_t)kind;
	uint32_t loop = t->nr_pages * 25 / 64; /* 102,400 of 262,144 */
	uint32_t at = 0;
	uint32_t start = 0;
	struct zipf z;

	zipf_make(&z, kind == RUNS ? t->nr_pages / RUN : t->nr_pages, 0.9, &state);
	for (size_t i = 0; i < t->nr; i++) {
		uint32_t *page = &t->pages[i];

		if (kind == ZIPF) {
			*page = zipf_next(&z, &state);
		} else if (kind == LOOP_ZIPF) {
			*page = below(&state, 2) ? at++ % loop : zipf_next(&z, &state);
		} else if (kind == UNIFORM) {
			*page = below(&state, t->nr_pages);
		} else if (kind == HOT) {
			uint32_t hot = t->nr_pages / 10;

			*page = below(&state, 10) ? below(&state, hot)
						  : hot + below(&state, t->nr_pages - hot);
		} else {
			if (i % RUN == 0)
				start = zipf_next(&z, &state) * RUN;
			*page = start + (uint32_t)(i % RUN);
		}
	}
	zipf_free(&z);
}

void trace_make(int i, uint32_t nr_pages, size_t nr, struct trace *ret)
{
	static const char *const names[TRACES] = {
		[ZIPF] = "zipf 0.9",
		[LOOP_ZIPF] = "loop 100k + zipf",
		[UNIFORM] = "uniform",
		[HOT] = "hot 10 % gets 90 %",
		[RUNS] = "32-page runs + zipf",
	};
	struct trace t = {.name = names[i], .nr = nr, .nr_pages = nr_pages};
	uint8_t *seen = allocate(nr_pages, 1);

	t.pages = allocate(nr, sizeof(*t.pages));
	fill(&t, i);
	for (size_t j = 0; j < nr; j++) {
		t.distinct += !seen[t.pages[j]];
		seen[t.pages[j]] = 1;
	}
	free(seen);
	*ret = t;
}

void trace_free(struct trace *t)
{
	free(t->pages);
}

struct node {
	uint32_t newer, older;
	uint8_t cached;
};

size_t exact_lru_misses(const struct trace *t, uint32_t cache_pages)
{
	struct node *l = allocate((size_t)t->nr_pages + 1, sizeof(*l));
	uint32_t end = t->nr_pages;
	uint32_t cached = 0;
	size_t misses = 0;

	l[end].newer = l[end].older = end;
	for (size_t i = 0; i < t->nr; i++) {
		uint32_t page = t->pages[i];
		uint32_t out = page;

		misses += !l[page].cached;
		if (!l[page].cached && cached++ == cache_pages) {
			out = l[end].newer;
			cached--;
		}
		if (l[out].cached) {
			l[l[out].newer].older = l[out].older;
			l[l[out].older].newer = l[out].newer;
			l[out].cached = 0;
		}
		l[page] = (struct node){.newer = end, .older = l[end].older, .cached = 1};
		l[l[end].older].newer = page;
		l[end].older = page;
	}
	free(l);
	return misses;
}

struct use {
	size_t next;
	uint32_t page;
};

static void heap_push(struct use *heap, size_t *nr, struct use u)
{
	size_t i = (*nr)++;

	for (; i && heap[(i - 1) / 2].next < u.next; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = u;
}

static struct use heap_pop(struct use *heap, size_t *nr)
{
	struct use top = heap[0];
	struct use last = heap[--*nr];
	size_t i = 0;

	for (size_t child = 1; child < *nr; child = 2 * i + 1) {
		child += child + 1 < *nr && heap[child + 1].next > heap[child].next;
		if (heap[child].next <= last.next)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

size_t exact_opt_misses(const struct trace *t, uint32_t cache_pages)
{
	size_t *next = allocate(t->nr, sizeof(*next));
	size_t *coming = allocate(t->nr_pages, sizeof(*coming));
	size_t *due = allocate(t->nr_pages, sizeof(*due)); /* 0: not in the cache */
	struct use *heap = allocate(t->nr, sizeof(*heap));
	uint32_t cached = 0;
	size_t nr = 0;
	size_t misses = 0;

	for (size_t i = t->nr; i-- > 0;) {
		next[i] = coming[t->pages[i]] ? coming[t->pages[i]] : SIZE_MAX;
		coming[t->pages[i]] = i + 1;
	}
	for (size_t i = 0; i < t->nr; i++) {
		uint32_t page = t->pages[i];

		if (!due[page]) {
			misses++;
			while (cached == cache_pages) {
				struct use u = heap_pop(heap, &nr);

				/* Outdated entries of earlier uses may be in the heap. */
				if (due[u.page] != u.next)
					continue;
				due[u.page] = 0;
				cached--;
			}
			cached++;
		}
		due[page] = next[i];
		heap_push(heap, &nr, (struct use){next[i], page});
	}
	free(next);
	free(coming);
	free(due);
	free(heap);
	return misses;
}
