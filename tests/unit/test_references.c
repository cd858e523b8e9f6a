/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account */
/*
 * The sample of references equals the one that its last threshold alone would have taken, whatever
 * the order in which thresholds fell, bounds were reached and the store took the events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/reference_sample.h"

enum { EVENTS_MAX = 60000, FILES = 7 };

struct happening {
	struct file_key file;
	uint64_t index;
	uint32_t hash;
	bool removed;
};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Any function of the page will do. */
static uint32_t hash_of(const struct file_key *file, uint64_t index)
{
	uint64_t x = (file->ino << 32 ^ index) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL >> 32);
}

static struct happening event_at(uint64_t *rng, uint64_t pages)
{
	struct happening e = {.file = {.ino = next(rng) % FILES, .dev = 3, .gen = 9}};

	e.index = next(rng) % pages;
	e.hash = hash_of(&e.file, e.index);
	e.removed = next(rng) % 16 == 0;
	return e;
}

static bool same_page(const struct sampled_page *p, const struct happening *e)
{
	return p->index == e->index && p->hash == e->hash && p->file.ino == e->file.ino &&
	       p->file.dev == e->file.dev && p->file.gen == e->file.gen;
}

/* The events below a threshold; removals of pages that were not looked up before do not count. */
static size_t taken_alone(const struct happening *events, size_t nr, uint64_t threshold,
			  struct happening *ret)
{
	uint8_t *seen = calloc(FILES, 1 << 20);
	size_t to = 0;

	assert_non_null(seen);
	for (size_t i = 0; i < nr; i++) {
		uint8_t *s = &seen[events[i].file.ino << 20 | events[i].index];

		if (events[i].hash >= threshold || (events[i].removed && !*s))
			continue;
		*s = 1;
		ret[to++] = events[i];
	}
	free(seen);
	return to;
}

static void assert_is(const struct reference_sample *s, const struct happening *want, size_t nr)
{
	struct reference_view v;
	size_t chunked = 0, live = 0;
	int64_t refs = 0;

	reference_sample_view(s, &v);
	assert_int_equal(v.nr_entries, nr);
	for (size_t i = 0; i < nr; i++) {
		uint32_t number = v.entries[i] >> 1;

		assert_true(number < v.nr_pages);
		assert_true(same_page(&v.pages[number], &want[i]));
		assert_int_equal(v.entries[i] & 1, want[i].removed);
		refs += !want[i].removed;
	}
	assert_int_equal(v.refs, refs);
	for (size_t i = 0; i < v.nr_chunks; i++) {
		assert_int_equal(v.chunks[i].first, chunked);
		chunked += v.chunks[i].nr;
	}
	assert_true(chunked <= nr);
	for (size_t i = 0; i < v.nr_pages; i++)
		live += v.pages[i].entries > 0;
	assert_int_equal(v.live, live);
}

/* Like a reader that joins the stored data: rows by number, chunks by position. */
struct shelf {
	struct sampled_page *pages;
	size_t nr_pages;
	uint32_t *entries;
	size_t nr_entries, nr_chunks;
};

static void shelve(struct shelf *shelf, struct reference_sample *s)
{
	struct reference_view v;

	reference_sample_view(s, &v);
	if (v.rewrite)
		shelf->nr_pages = shelf->nr_entries = shelf->nr_chunks = 0;
	assert_int_equal(shelf->nr_pages, v.stored_pages);
	assert_int_equal(shelf->nr_chunks, v.stored_chunks);
	shelf->pages = realloc(shelf->pages, (v.nr_pages + 1) * sizeof(*shelf->pages));
	for (size_t i = v.stored_pages; i < v.nr_pages; i++)
		shelf->pages[shelf->nr_pages++] = v.pages[i];
	for (size_t i = v.stored_chunks; i < v.nr_chunks; i++) {
		const struct sampled_chunk *c = &v.chunks[i];

		shelf->entries = realloc(shelf->entries,
					 (shelf->nr_entries + c->nr + 1) * sizeof(*shelf->entries));
		for (size_t k = 0; k < c->nr; k++)
			shelf->entries[shelf->nr_entries++] = v.entries[c->first + k];
		shelf->nr_chunks++;
	}
	reference_sample_stored(s);
}

static void assert_shelf_is(const struct shelf *shelf, uint64_t threshold,
			    const struct happening *want, size_t nr)
{
	size_t at = 0;

	for (size_t i = 0; i < shelf->nr_entries; i++) {
		const struct sampled_page *p = &shelf->pages[shelf->entries[i] >> 1];

		assert_true(shelf->entries[i] >> 1 < shelf->nr_pages);
		if (p->hash >= threshold)
			continue;
		assert_true(at < nr);
		assert_true(same_page(p, &want[at]));
		assert_int_equal(shelf->entries[i] & 1, want[at].removed);
		at++;
	}
	assert_int_equal(at, nr);
}

struct trial {
	uint64_t seed, pages;
	struct reference_limits limits;
	size_t events;
	bool lowered; /* removed by others too */
};

static void try(const struct trial *t)
{
	struct happening *events = calloc(EVENTS_MAX, sizeof(*events));
	struct happening *want = calloc(EVENTS_MAX, sizeof(*want));
	struct reference_sample *s = NULL;
	struct reference_view v;
	struct shelf shelf = {};
	uint64_t rng = t->seed;
	int64_t lookups = 0;
	size_t nr;

	assert_non_null(events);
	assert_non_null(want);
	assert_int_equal(reference_sample_new(&t->limits, &s), 0);
	for (size_t i = 0; i < t->events; i++) {
		events[i] = event_at(&rng, t->pages);
		reference_sample_add(s, &events[i].file, events[i].index, events[i].hash,
				     events[i].removed);
		if (t->lowered && next(&rng) % 5000 == 0) {
			reference_sample_view(s, &v);
			reference_sample_lower(s, v.threshold - v.threshold / 8);
		}
		if (next(&rng) % 97 == 0) {
			reference_sample_close(s, i, 50);
			lookups += 50;
		}
		if (next(&rng) % 301 == 0)
			shelve(&shelf, s);
	}
	reference_sample_close(s, t->events, 50);
	shelve(&shelf, s);
	reference_sample_view(s, &v);
	assert_null(v.broken);
	assert_true(v.live <= t->limits.pages);
	assert_true(v.nr_entries <= t->limits.entries);
	assert_true(v.nr_chunks <= t->limits.chunks);
	assert_int_equal(v.lookups, lookups + 50);
	nr = taken_alone(events, t->events, v.threshold, want);
	assert_is(s, want, nr);
	assert_shelf_is(&shelf, v.threshold, want, nr);
	reference_sample_free(s);
	free(shelf.pages);
	free(shelf.entries);
	free(events);
	free(want);
}

static void test_all_of_a_small_job(void **state)
{
	try(&(struct trial){
		.seed = 1, .pages = 100, .limits = reference_limits_default(), .events = 20000});
}

static void test_pages_are_bounded(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		try(&(struct trial){.seed = seed,
				    .pages = 5000,
				    .limits = {200, 1000000, 4096},
				    .events = 20000});
}

static void test_entries_are_bounded(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		try(&(struct trial){
			.seed = seed, .pages = 300, .limits = {8192, 3000, 4096}, .events = 40000});
}

static void test_chunks_are_bounded(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		try(&(struct trial){
			.seed = seed, .pages = 3000, .limits = {500, 10000, 16}, .events = 40000});
}

static void test_it_falls_from_outside_too(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		try(&(struct trial){.seed = seed,
				    .pages = 20000,
				    .limits = {700, 20000, 100},
				    .events = EVENTS_MAX,
				    .lowered = true});
}

/* Of many pages with one hash, none can stay alone. */
static void test_equal_hashes_leave_together(void **state)
{
	struct reference_limits limits = {8, 1000, 10};
	struct file_key file = {.ino = 1};
	struct reference_sample *s = NULL;
	struct reference_view v;

	assert_int_equal(reference_sample_new(&limits, &s), 0);
	for (uint64_t i = 0; i < 8; i++)
		reference_sample_add(s, &file, i, 77, false);
	reference_sample_add(s, &file, 8, 5, false);
	reference_sample_view(s, &v);
	assert_int_equal(v.threshold, 77);
	assert_int_equal(v.live, 1);
	assert_int_equal(v.nr_entries, 1);
	reference_sample_free(s);
}

static void test_a_broken_one_ends_with_its_last_chunk(void **state)
{
	struct file_key file = {.ino = 1};
	struct reference_sample *s = NULL;
	struct reference_view v;

	assert_int_equal(reference_sample_new(NULL, &s), 0);
	reference_sample_add(s, &file, 1, 10, false);
	reference_sample_add(s, &file, 2, 20, false);
	reference_sample_close(s, 5, 100);
	reference_sample_add(s, &file, 2, 20, true);
	reference_sample_add(s, &file, 3, 30, false);
	reference_sample_break(s, "the ring was full");
	reference_sample_break(s, "something else");
	reference_sample_add(s, &file, 1, 10, false);
	reference_sample_close(s, 6, 100);
	reference_sample_view(s, &v);
	assert_string_equal(v.broken, "the ring was full");
	assert_int_equal(v.nr_entries, 2);
	assert_int_equal(v.live, 2);
	assert_int_equal(v.refs, 2);
	assert_int_equal(v.nr_chunks, 1);
	assert_int_equal(v.lookups, 100);
	assert_int_equal(v.chunks[0].start_ns, 5);
	assert_int_equal(v.chunks[0].lookups, 100);
	reference_sample_free(s);
}

/* An interval without a reference has no chunk, but its lookups are known. */
static void test_lookups_without_references(void **state)
{
	struct file_key file = {.ino = 1};
	struct reference_sample *s = NULL;
	struct reference_view v;

	assert_int_equal(reference_sample_new(NULL, &s), 0);
	reference_sample_close(s, 1, 10);
	reference_sample_add(s, &file, 1, 10, false);
	reference_sample_close(s, 2, 10);
	reference_sample_close(s, 3, 10);
	reference_sample_view(s, &v);
	assert_int_equal(v.nr_chunks, 1);
	assert_int_equal(v.chunks[0].lookups, 20);
	assert_int_equal(v.lookups, 30);
	/* A removal before the first lookup belongs to no page. */
	reference_sample_add(s, &file, 9, 90, true);
	reference_sample_view(s, &v);
	assert_int_equal(v.nr_entries, 1);
	assert_int_equal(v.live, 1);
	reference_sample_free(s);
}

static bool is_even(void *ctx, const struct sampled_page *p)
{
	++*(int *)ctx;
	return p->index % 2 == 0;
}

/* A page that was counted stays so, and is not tested again; neither is one that left. */
static void test_pages_that_are_counted(void **state)
{
	struct file_key file = {.ino = 1};
	struct reference_sample *s = NULL;
	int asked = 0;

	assert_int_equal(reference_sample_new(NULL, &s), 0);
	for (uint32_t i = 0; i < 10; i++)
		reference_sample_add(s, &file, i, i * 100, false);
	assert_int_equal(reference_sample_uncounted(s, is_even, &asked), 5);
	assert_int_equal(asked, 10);
	assert_int_equal(reference_sample_uncounted(s, is_even, &asked), 5);
	assert_int_equal(asked, 15);
	reference_sample_lower(s, 400);
	assert_int_equal(reference_sample_uncounted(s, is_even, &asked), 2);
	assert_int_equal(asked, 17);
	reference_sample_free(s);
}

/* Compared with the spread of random samples. */
static void test_distinct_pages_have_their_error(void **state)
{
	enum { TRIALS = 4000, PAGES = 3000, KNOWN = 1000 };
	const uint64_t threshold = REFERENCE_THRESHOLD_ALL / 5;
	double mean = 0, square = 0, stated = 0, error;
	uint64_t rng = 99;

	for (int t = 0; t < TRIALS; t++) {
		size_t sampled = 0;
		double pages;

		for (int i = 0; i < PAGES; i++)
			sampled += (next(&rng) >> 32) < threshold;
		pages = (double)reference_distinct(threshold, KNOWN, sampled, &error);
		mean += pages / TRIALS;
		square += pages * pages / TRIALS;
		stated += error / TRIALS;
	}
	assert_true(mean > (PAGES + KNOWN) * 0.998 && mean < (PAGES + KNOWN) * 1.002);
	error = sqrt(square - mean * mean) / mean;
	assert_true(stated > error * 0.95 && stated < error * 1.05);
	assert_int_equal(reference_distinct(REFERENCE_THRESHOLD_ALL, 0, 77, &error), 77);
	assert_true(error == 0);
	assert_int_equal(reference_distinct(threshold, 500, 0, &error), 500);
	assert_true(error > 0.008 && error < 0.01);
	assert_int_equal(reference_distinct(0, 0, 0, &error), -1);
	assert_int_equal(reference_distinct(threshold, 0, 0, &error), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_a_small_job),
		cmocka_unit_test(test_pages_are_bounded),
		cmocka_unit_test(test_entries_are_bounded),
		cmocka_unit_test(test_chunks_are_bounded),
		cmocka_unit_test(test_it_falls_from_outside_too),
		cmocka_unit_test(test_equal_hashes_leave_together),
		cmocka_unit_test(test_a_broken_one_ends_with_its_last_chunk),
		cmocka_unit_test(test_lookups_without_references),
		cmocka_unit_test(test_pages_that_are_counted),
		cmocka_unit_test(test_distinct_pages_have_their_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
