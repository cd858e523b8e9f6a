/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/model/timeline.h"

enum { SECOND = 1000000000, RUNS = 200 };

struct world {
	struct timeline t;
	struct counts total;
	int64_t cpu_ns, duration_ns, read_on_ns, intervals;
	uint64_t random;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct world));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* xorshift64: the same sequence everywhere. */
static uint64_t draw(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % below;
}

static struct timeline_bucket interval(int64_t start_ns, int64_t duration_ns)
{
	struct timeline_bucket b = {.start_ns = start_ns,
				    .duration_ns = duration_ns,
				    .read_on_ns = duration_ns,
				    .intervals = 1,
				    .cpu_ns = {.known = true}};

	memset(b.counts.known, true, sizeof(b.counts.known));
	return b;
}

static void begin(struct world *w, int64_t end_ns)
{
	uint64_t random = w->random;

	*w = (struct world){.random = random};
	memset(w->total.known, true, sizeof(w->total.known));
	timeline_begin(&w->t, end_ns);
}

static void add(struct world *w, const struct timeline_bucket *b)
{
	for (int c = 0; c < C_NR; c++)
		w->total.c[c] += b->counts.c[c];
	w->cpu_ns += b->cpu_ns.value;
	w->duration_ns += b->duration_ns;
	w->read_on_ns += b->read_on_ns;
	w->intervals += b->intervals;
	timeline_add(&w->t, b);
}

static void end(struct world *w)
{
	timeline_end(&w->t, &w->total, (struct opt_i64){w->cpu_ns, true});
}

static bool may_fall(int c)
{
	return c == C_resident_unused || (c >= C_window_log2_0 && c <= C_window_log2_15);
}

/* Buckets and rest add up to each counter, and no count is negative. */
static void assert_adds_up(const struct world *w)
{
	int64_t cpu_ns = w->t.rest.cpu_ns.value;
	int64_t sum[C_NR], facts[3] = {0};

	assert_true(w->t.nr <= TIMELINE_BUCKETS);
	memcpy(sum, w->t.rest.counts.c, sizeof(sum));
	for (size_t i = 0; i < w->t.nr; i++) {
		const struct timeline_bucket *b = &w->t.buckets[i];

		for (int c = 0; c < C_NR; c++) {
			assert_true(b->counts.known[c]);
			assert_true(b->counts.c[c] >= 0 || may_fall(c));
			sum[c] += b->counts.c[c];
		}
		assert_true(b->counts.c[C_lookups] >= b->counts.c[C_misses]);
		assert_true(!i || b->start_ns > b[-1].start_ns);
		cpu_ns += b->cpu_ns.value;
		facts[0] += b->duration_ns;
		facts[1] += b->read_on_ns;
		facts[2] += b->intervals;
	}
	assert_memory_equal(sum, w->total.c, sizeof(sum));
	assert_int_equal(cpu_ns, w->cpu_ns);
	assert_int_equal(facts[0], w->duration_ns);
	assert_int_equal(facts[1], w->read_on_ns);
	assert_int_equal(facts[2], w->intervals);
}

/* A count that is taken back was given before: sums since the start are never negative. */
static void fill(struct world *w, struct timeline_bucket *b)
{
	for (int c = 0; c < C_NR; c++) {
		b->counts.c[c] = (int64_t)draw(w, 1000);
		if (draw(w, 8) == 0)
			b->counts.c[c] = -(int64_t)draw(w, (uint64_t)w->total.c[c] + 1);
	}
	b->cpu_ns.value = (int64_t)draw(w, 1000);
	/* Misses of earlier lookups. */
	if (b->counts.c[C_misses] >
	    b->counts.c[C_lookups] + w->total.c[C_lookups] - w->total.c[C_misses])
		b->counts.c[C_lookups] = b->counts.c[C_misses];
}

static void any_run_adds_up(void **state)
{
	struct world *w = *state;

	w->random = 88172645463325252;
	for (int run = 0; run < RUNS; run++) {
		int64_t nr = 1 + (int64_t)draw(w, 3000);
		int64_t start_ns = 0;

		begin(w, nr * 60 * SECOND);
		for (int64_t i = 0; i < nr; i++) {
			struct timeline_bucket b =
				interval(start_ns, (int64_t)(1 + draw(w, 60)) * SECOND);

			b.read_on_ns = (int64_t)draw(w, (uint64_t)b.duration_ns + 1);
			b.intervals = 1 + (int64_t)draw(w, 60);
			fill(w, &b);
			add(w, &b);
			start_ns += b.duration_ns;
		}
		end(w);
		assert_adds_up(w);
		assert_false(w->t.has_rest);
	}
}

/* A day: minutes, then the last 15 minutes in seconds. */
static void buckets_are_of_about_equal_length(void **state)
{
	struct world *w = *state;
	int64_t start_s = 0;

	begin(w, INT64_C(86400) * SECOND);
	while (start_s < 86400) {
		int64_t length_s = start_s < 85500 ? 60 : 1;
		struct timeline_bucket b = interval(start_s * SECOND, length_s * SECOND);

		b.counts.c[C_lookups] = length_s;
		add(w, &b);
		start_s += length_s;
	}
	end(w);
	assert_adds_up(w);
	assert_int_equal(w->t.nr, TIMELINE_BUCKETS);
	for (size_t i = 0; i < w->t.nr; i++)
		assert_true(w->t.buckets[i].duration_ns >= INT64_C(600) * SECOND &&
			    w->t.buckets[i].duration_ns <= INT64_C(840) * SECOND);
}

static void a_short_run_keeps_its_intervals(void **state)
{
	struct world *w = *state;

	begin(w, 10 * INT64_C(200000000));
	for (int64_t i = 0; i < 10; i++) {
		struct timeline_bucket b = interval(i * 200000000, 200000000);

		b.counts.c[C_lookups] = i;
		add(w, &b);
	}
	end(w);
	assert_adds_up(w);
	assert_int_equal(w->t.nr, 10);
	assert_int_equal(w->t.buckets[7].counts.c[C_lookups], 7);
}

static void late_misses_join_their_lookups(void **state)
{
	struct world *w = *state;
	struct timeline_bucket b[3] = {interval(0, SECOND), interval(SECOND, SECOND),
				       interval(2 * (int64_t)SECOND, SECOND)};

	begin(w, 3 * (int64_t)SECOND);
	b[0].counts.c[C_lookups] = 100;
	b[1].counts.c[C_misses] = 30;
	b[2].counts.c[C_lookups] = 5;
	for (int i = 0; i < 3; i++)
		add(w, &b[i]);
	end(w);
	assert_adds_up(w);
	assert_int_equal(w->t.nr, 2);
	assert_int_equal(w->t.buckets[0].counts.c[C_misses], 30);
	assert_int_equal(w->t.buckets[0].duration_ns, 2 * (int64_t)SECOND);
}

static void what_no_interval_has_is_the_rest(void **state)
{
	struct world *w = *state;
	struct timeline_bucket b = interval(0, SECOND);

	begin(w, SECOND);
	b.counts.c[C_lookups] = 7;
	add(w, &b);
	w->total.c[C_lookups] += 40;
	w->total.c[C_misses] += 2;
	end(w);
	assert_true(w->t.has_rest);
	assert_int_equal(w->t.rest.counts.c[C_lookups], 40);
	assert_int_equal(w->t.rest.counts.c[C_misses], 2);
	assert_adds_up(w);
}

/* Not measured stays so; what a slice missed is unknown only in its bucket. */
static void unknown_is_not_zero(void **state)
{
	struct world *w = *state;
	struct timeline_bucket b[2] = {interval(0, SECOND), interval(SECOND, SECOND)};

	begin(w, 2 * (int64_t)SECOND);
	for (int i = 0; i < 2; i++) {
		b[i].counts.sliced = true;
		b[i].counts.known[C_faults_minor] = false;
		b[i].counts.c[C_lookups] = 10;
		b[i].counts.c[C_misses] = 4;
	}
	b[1].read_on_ns /= 2;
	add(w, &b[0]);
	add(w, &b[1]);
	w->total.known[C_faults_minor] = false;
	end(w);
	assert_int_equal(w->t.nr, 2);
	assert_true(w->t.buckets[0].counts.known[C_lookups]);
	assert_false(w->t.buckets[1].counts.known[C_lookups]);
	assert_true(w->t.buckets[1].counts.known[C_misses]);
	assert_false(w->t.buckets[0].counts.known[C_faults_minor]);
	assert_false(w->t.rest.counts.known[C_lookups]);
	assert_false(w->t.has_rest);
}

static void a_run_without_intervals(void **state)
{
	struct world *w = *state;

	begin(w, 0);
	end(w);
	assert_int_equal(w->t.nr, 0);
	assert_false(w->t.has_rest);
}

#define TIMELINE_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TIMELINE_TEST(any_run_adds_up),
		TIMELINE_TEST(buckets_are_of_about_equal_length),
		TIMELINE_TEST(a_short_run_keeps_its_intervals),
		TIMELINE_TEST(late_misses_join_their_lookups),
		TIMELINE_TEST(what_no_interval_has_is_the_rest),
		TIMELINE_TEST(unknown_is_not_zero),
		TIMELINE_TEST(a_run_without_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
