/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
/* Stack distances and OPT, compared with simulated caches, including removals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/curve/opt.h"
#include "advisor/curve/curve_judge.h"
#include "advisor/curve/stack.h"

enum { PAGES = 40, ENTRIES = 4000 };

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

struct world {
	uint32_t entries[ENTRIES];
	uint32_t hashes[PAGES];
	struct curve_sample sample;
};

/* Half of the lookups use a quarter of the pages; one entry in `removals` is a removal. */
static void world_make(struct world *w, uint32_t seed, uint32_t removals)
{
	uint32_t state = seed;

	for (int i = 0; i < ENTRIES; i++) {
		uint32_t page = random_next(&state) % (i % 2 ? PAGES : PAGES / 4);

		w->entries[i] = page << 1;
		if (removals && random_next(&state) % removals == 0)
			w->entries[i] |= 1;
	}
	for (int p = 0; p < PAGES; p++)
		w->hashes[p] = (uint32_t)p;
	w->sample = (struct curve_sample){
		.entries = w->entries,
		.nr_entries = ENTRIES,
		.hashes = w->hashes,
		.nr_pages = PAGES,
	};
}

/* An LRU cache as an array, newest first; counts the hits of each entry. */
static void plain_lru(const struct world *w, uint32_t size, uint8_t hit[])
{
	uint32_t list[PAGES + 1];
	uint32_t nr = 0;

	for (int i = 0; i < ENTRIES; i++) {
		uint32_t page = w->entries[i] >> 1;
		uint32_t at = 0;

		while (at < nr && list[at] != page)
			at++;
		hit[i] = at < nr;
		if (at < nr) {
			memmove(list + at, list + at + 1, (nr - at - 1) * sizeof(*list));
			nr--;
		}
		if (w->entries[i] & 1)
			continue;
		memmove(list + 1, list, nr * sizeof(*list));
		list[0] = page;
		nr = nr + 1 > size ? size : nr + 1;
	}
}

static void distances_are_those_of_lists(void **state)
{
	static uint32_t distance[ENTRIES];
	static uint8_t hit[ENTRIES];
	struct world w;

	for (uint32_t seed = 1; seed <= 12; seed++) {
		world_make(&w, seed, seed % 3 == 0 ? 0 : seed * 5);
		assert_int_equal(stack_distances(&w.sample, distance), 0);
		for (uint32_t size = 1; size <= PAGES; size++) {
			plain_lru(&w, size, hit);
			for (int i = 0; i < ENTRIES; i++) {
				if (w.entries[i] & 1)
					assert_int_equal(distance[i], STACK_REMOVED);
				else
					assert_int_equal(hit[i], distance[i] <= size);
			}
		}
	}
}

static void first_and_again(void **state)
{
	uint32_t entries[] = {0 << 1, 1 << 1, 0 << 1 | 1, 0 << 1, 1 << 1, 2 << 1 | 1, 2 << 1};
	uint32_t want[] = {STACK_FIRST, STACK_FIRST,   STACK_REMOVED, STACK_AGAIN,
			   2,		STACK_REMOVED, STACK_FIRST};
	uint32_t got[7];
	struct curve_sample s = {.entries = entries, .nr_entries = 7, .nr_pages = 3};

	assert_int_equal(stack_distances(&s, got), 0);
	assert_memory_equal(got, want, sizeof(want));
}

/* The next lookup of page after i; ENTRIES: none before its removal. */
static int next_use(const struct world *w, uint32_t page, int i)
{
	for (; i < ENTRIES; i++)
		if (w->entries[i] >> 1 == page)
			return w->entries[i] & 1 ? ENTRIES : i;
	return ENTRIES;
}

static uint32_t plain_opt(const struct world *w, uint32_t size)
{
	uint8_t cached[PAGES] = {0};
	uint32_t misses = 0;
	uint32_t nr = 0;

	for (int i = 0; i < ENTRIES; i++) {
		uint32_t page = w->entries[i] >> 1;

		if (w->entries[i] & 1) {
			nr -= cached[page];
			cached[page] = 0;
			continue;
		}
		if (cached[page])
			continue;
		misses++;
		if (nr == size) {
			uint32_t out = 0;
			int last = -1;

			for (uint32_t p = 0; p < PAGES; p++) {
				int use = cached[p] ? next_use(w, p, i + 1) : -1;

				if (use > last) {
					last = use;
					out = p;
				}
			}
			cached[out] = 0;
			nr--;
		}
		cached[page] = 1;
		nr++;
	}
	return misses;
}

static uint32_t sum_of(const struct curve_misses *m)
{
	uint32_t sum = 0;

	for (int g = 0; g < CURVE_GROUPS; g++)
		sum += m->of_group[g];
	return sum;
}

static void opt_is_the_plain_one(void **state)
{
	uint32_t lookups[PAGES] = {0};
	struct world w;

	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct opt *opt = NULL;

		world_make(&w, seed, seed % 2 ? 0 : 20);
		assert_int_equal(opt_new(&w.sample, &opt), 0);
		for (uint32_t size = 1; size <= PAGES; size += 3) {
			struct curve_misses m = {0};

			opt_misses(opt, size, lookups, &m);
			assert_int_equal(sum_of(&m), plain_opt(&w, size));
		}
		opt_free(opt);
	}
}

/* Warm passes over M pages: of the M - 1 other pages, the best cache of c pages keeps c - 1 for the
 * next pass. */
static void cyclic_scan(void **state)
{
	enum { M = 500, C = 308, PASSES = 40 };
	uint32_t *entries = malloc(sizeof(uint32_t) * M * PASSES);
	uint32_t *distance = malloc(sizeof(uint32_t) * M * PASSES);
	uint32_t hashes[M] = {0};
	uint32_t lookups[M] = {0};
	struct curve_misses m = {0};
	struct curve_sample s = {.entries = entries,
				 .hashes = hashes,
				 .nr_pages = M,
				 .nr_entries = (size_t)M * PASSES};
	struct refault_model model;
	struct opt *opt = NULL;

	assert_non_null(entries);
	assert_non_null(distance);
	for (uint32_t i = 0; i < s.nr_entries; i++)
		entries[i] = i % M << 1;
	assert_int_equal(stack_distances(&s, distance), 0);
	for (uint32_t i = M; i < s.nr_entries; i++)
		assert_int_equal(distance[i], M);
	assert_int_equal(opt_new(&s, &opt), 0);
	opt_misses(opt, C, lookups, &m);
	assert_float_equal(1 - (double)(sum_of(&m) - M) / (M * (PASSES - 1)),
			   (double)(C - 1) / (M - 1), 0.002);
	/* LRU evicts each page M - C evictions before it is read again. */
	assert_int_equal(refault_simulate(&s, C, &model), 0);
	assert_int_equal(model.refaults, M * (PASSES - 1));
	assert_float_equal(model.mean_distance, M - C, 1.01);
	opt_free(opt);
	free(entries);
	free(distance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_are_those_of_lists),
		cmocka_unit_test(first_and_again),
		cmocka_unit_test(opt_is_the_plain_one),
		cmocka_unit_test(cyclic_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
