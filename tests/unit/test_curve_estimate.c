/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
/* Curves of whole and sampled reference strings, compared with closed forms; their order and
 * their judgement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/curve/curve_judge.h"

enum { M = 4000 };

struct string {
	uint32_t *entries;
	size_t nr;
	uint32_t hashes[M];
	struct curve_sample sample;
	uint32_t state;
};

static uint32_t random_below(struct string *s, uint32_t n)
{
	s->state ^= s->state << 13;
	s->state ^= s->state >> 17;
	s->state ^= s->state << 5;
	return s->state % n;
}

/* lookups(i): the page of lookup i. */
static void string_make(struct string *s, size_t nr, uint32_t (*page)(struct string *, size_t))
{
	s->state = 2463534242;
	s->entries = malloc(nr * sizeof(*s->entries));
	assert_non_null(s->entries);
	s->nr = nr;
	for (uint32_t p = 0; p < M; p++)
		s->hashes[p] = p * UINT32_C(2654435761);
	for (size_t i = 0; i < nr; i++)
		s->entries[i] = page(s, i) << 1;
	s->sample = (struct curve_sample){
		.entries = s->entries,
		.nr_entries = nr,
		.hashes = s->hashes,
		.nr_pages = M,
		.threshold = CURVE_HASHES,
		.lookups = (double)nr,
		.distinct_pages = M,
	};
}

static uint32_t order[M];

static uint32_t shuffled(struct string *s, size_t i)
{
	if (i == 0)
		for (uint32_t p = 0; p < M; p++)
			order[p] = p;
	if (i % M == 0)
		for (uint32_t p = M; p-- > 1;) {
			uint32_t other = random_below(s, p + 1);
			uint32_t was = order[p];

			order[p] = order[other];
			order[other] = was;
		}
	return order[i % M];
}

static uint32_t cyclic(struct string *s, size_t i)
{
	return (uint32_t)(i % M);
}

/* All pages once, then random ones. */
static uint32_t uniform(struct string *s, size_t i)
{
	return i < M ? (uint32_t)i : random_below(s, M);
}

/* Nine of ten lookups use a tenth of the pages, which moves through all of them. */
static uint32_t moving(struct string *s, size_t i)
{
	if (i < M)
		return (uint32_t)i;
	if (random_below(s, 10) == 0)
		return random_below(s, M);
	return ((uint32_t)(i / 20) + random_below(s, M / 10)) % M;
}

static uint32_t resting(struct string *s, size_t i)
{
	if (i < M)
		return (uint32_t)i;
	return random_below(s, random_below(s, 10) ? M / 10 : M);
}

/* Hits of a warm epoch in an LRU cache with a share f of its pages: f + (1 - f) ln(1 - f). */
static void shuffled_epochs(void **state)
{
	static struct string s;
	struct curve c;

	string_make(&s, (size_t)M * 12, shuffled);
	assert_int_equal(curve_make(&s.sample, &c), 0);
	for (double f = 0.1; f < 0.95; f += 0.1) {
		struct curve_point p;
		double warm = f + (1 - f) * log(1 - f);

		curve_at(&c, f * M, &p);
		assert_float_equal(1 - p.miss, warm * 11 / 12, 0.01);
		/* With every page in the sample, the band has no width. */
		assert_float_equal(p.low, p.miss, 1e-9);
		assert_float_equal(p.high, p.miss, 1e-9);
	}
	assert_float_equal(c.first_touch, 1.0 / 12, 1e-9);
	assert_int_equal(c.shape.order, CURVE_ORDER_SHUFFLED);
	assert_false(c.shape.hot_moves);
	assert_float_equal(c.shape.kernel_better_up_to, 0.1, 1e-9);
	curve_free(&c);
	free(s.entries);
}

static void cyclic_passes(void **state)
{
	static struct string s;
	struct curve_need need;
	struct curve_point p;
	struct curve c;

	string_make(&s, (size_t)M * 20, cyclic);
	assert_int_equal(curve_make(&s.sample, &c), 0);
	assert_int_equal(c.shape.order, CURVE_ORDER_SAME);
	assert_float_equal(c.shape.kernel_better_up_to, 0, 1e-9);
	curve_at(&c, M - 1, &p);
	assert_float_equal(p.miss, 1, 1e-9);
	assert_float_equal(1 - p.opt, (M - 2.0) / (M - 1) * 19 / 20, 0.005);
	curve_at(&c, M, &p);
	assert_float_equal(p.miss, 0.05, 1e-9);
	curve_need(&c, 0.9, &need);
	assert_float_equal(need.pages, M, 1e-6);
	curve_need(&c, 0.96, &need);
	assert_true(need.pages < 0);
	curve_free(&c);
	free(s.entries);
}

static void uniform_reads(void **state)
{
	static struct string s;
	struct curve_point p;
	struct curve c;

	string_make(&s, (size_t)M * 30, uniform);
	assert_int_equal(curve_make(&s.sample, &c), 0);
	assert_int_equal(c.shape.order, CURVE_ORDER_NONE);
	assert_false(c.shape.hot_moves);
	curve_at(&c, M / 2.0, &p);
	assert_float_equal(p.miss, 0.5 * 29 / 30 + 1.0 / 30, 0.01);
	curve_free(&c);
	free(s.entries);
}

static void hot_pages_that_move(void **state)
{
	static struct string s;
	struct curve c;

	string_make(&s, (size_t)M * 20, moving);
	assert_int_equal(curve_make(&s.sample, &c), 0);
	assert_true(c.shape.hot_moves);
	assert_float_equal(c.shape.kernel_worse_up_to, 0.15, 1e-9);
	curve_free(&c);
	free(s.entries);
	string_make(&s, (size_t)M * 20, resting);
	assert_int_equal(curve_make(&s.sample, &c), 0);
	assert_false(c.shape.hot_moves);
	assert_float_equal(c.shape.kernel_worse_up_to, 0, 1e-9);
	curve_free(&c);
	free(s.entries);
}

static void bands_are_monotone_and_ratios(void **state)
{
	static struct string s;
	struct curve c;

	string_make(&s, (size_t)M * 5, resting);
	/* As if the sample were a tenth of the job's pages. */
	s.sample.threshold = CURVE_HASHES / 10;
	s.sample.lookups *= 10;
	for (int known = 0; known < 3; known++) {
		s.sample.distinct_pages = known ? M * (9.9 + 0.1 * known) : -1;
		s.sample.distinct_error = known == 2 ? 0.01 : 0;
		assert_int_equal(curve_make(&s.sample, &c), 0);
		for (uint32_t k = 0; k <= M; k++) {
			assert_true(c.lru.low[k] >= 0 && c.lru.high[k] <= 1);
			assert_true(c.lru.low[k] <= c.lru.miss[k]);
			assert_true(c.lru.miss[k] <= c.lru.high[k]);
			assert_true(c.opt.miss[k] <= c.lru.miss[k]);
			if (!k)
				continue;
			assert_true(c.lru.low[k] <= c.lru.low[k - 1]);
			assert_true(c.lru.miss[k] <= c.lru.miss[k - 1]);
			assert_true(c.lru.high[k] <= c.lru.high[k - 1]);
		}
		assert_true(c.lru.high[M / 2] > c.lru.low[M / 2]);
		assert_int_equal(c.estimate.by_threshold, !known);
		curve_free(&c);
	}
	free(s.entries);
}

static void impossible_totals(void **state)
{
	static struct string s;
	struct curve c;

	string_make(&s, (size_t)M * 2, cyclic);
	s.sample.distinct_pages = M - 1;
	assert_int_equal(curve_make(&s.sample, &c), -EINVAL);
	/* An estimate may be too low. */
	s.sample.distinct_error = 0.01;
	assert_int_equal(curve_make(&s.sample, &c), 0);
	assert_float_equal(c.estimate.rate, 1, 1e-9);
	curve_free(&c);
	s.sample.distinct_pages = M;
	s.sample.lookups = M - 1;
	assert_int_equal(curve_make(&s.sample, &c), -EINVAL);
	s.sample.lookups = M * 2;
	s.sample.threshold = 0;
	assert_int_equal(curve_make(&s.sample, &c), -EINVAL);
	free(s.entries);
}

static void judged(const struct curve *c, const struct string *s, struct curve_counted counted,
		   bool outside, enum curve_opinion refaults)
{
	struct curve_verdict v;

	assert_int_equal(curve_judge(c, &s->sample, &counted, &v), 0);
	assert_int_equal(v.compared, counted.present_pages >= 0 && counted.miss_low >= 0);
	assert_int_equal(v.outside, outside);
	assert_int_equal(v.refaults, refaults);
	assert_int_equal(v.uncertain, outside || refaults == OPINION_OTHER);
	assert_int_equal(v.uncertain, v.reason[0] != '\0');
}

static void judgement(void **state)
{
	static struct string s;
	struct curve c;

	string_make(&s, (size_t)M * 20, cyclic);
	assert_int_equal(curve_make(&s.sample, &c), 0);
	/* Half of the pages fit: nothing hits, and each returns after M / 2 evictions. */
	judged(&c, &s, (struct curve_counted){M / 2, 0.99, 0.99, 1e5, M / 2, 1}, false,
	       OPINION_SAME);
	judged(&c, &s, (struct curve_counted){M / 2, 0.9, 0.9, 1e5, M / 2, 1}, true, OPINION_SAME);
	judged(&c, &s, (struct curve_counted){M / 2, 0.9, 0.99, 1e5, M / 2, 1}, false,
	       OPINION_SAME);
	judged(&c, &s, (struct curve_counted){M / 2, 0.99, 0.99, 1e5, M, 1}, false, OPINION_OTHER);
	judged(&c, &s, (struct curve_counted){M / 2, 0.99, 0.99, 1e5, 10, 1}, false, OPINION_WEAK);
	judged(&c, &s, (struct curve_counted){M / 2, 0.99, 0.99, 1e5, 10, 64}, false,
	       OPINION_OTHER);
	judged(&c, &s, (struct curve_counted){M * 2, 0.05, 0.05, 0, -1, -1}, false, OPINION_NONE);
	judged(&c, &s, (struct curve_counted){M * 2, 0, 0, 0, -1, -1}, true, OPINION_NONE);
	judged(&c, &s, (struct curve_counted){-1, -1, -1, -1, -1, -1}, false, OPINION_NONE);
	curve_free(&c);
	free(s.entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shuffled_epochs),
		cmocka_unit_test(cyclic_passes),
		cmocka_unit_test(uniform_reads),
		cmocka_unit_test(hot_pages_that_move),
		cmocka_unit_test(bands_are_monotone_and_ratios),
		cmocka_unit_test(impossible_totals),
		cmocka_unit_test(judgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
