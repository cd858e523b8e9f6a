/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LINK: account access
 * The estimator, compared with jobs whose true values are known: simulated by the millisecond, in
 * phases, in bursts and with bytes that are not lookups. Its interval must contain the true value
 * in nine of ten runs, and the mean of many runs must equal it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cachemon/account/slices.h"

enum { SEEDS = 400, SLICE_MS = 10, CELL_MS = 200, PART_MS = 500 };

static double uniform(uint64_t *r)
{
	*r ^= *r << 13;
	*r ^= *r >> 7;
	*r ^= *r << 17;
	return (double)(*r >> 11) / 9007199254740992.0;
}

/* What a job reads in a millisecond; tasks: the kernel's count, for any source. */
struct reading {
	double lookups, calls, bytes; /* of files */
	struct slice_read tasks;
};

typedef struct reading job_fn(int ms, uint64_t *r);

/* n calls of a few pages each. */
static struct reading reads(double n, double pages, double bytes)
{
	return (struct reading){n * pages, n, n * bytes, {n * bytes, n}};
}

/* Reads of 4 KiB, at the varying speed of the machine. */
static struct reading hot(int ms, uint64_t *r)
{
	(void)ms;
	return reads(floor(500 + 500 * uniform(r)), 1, 4096);
}

/* Hot small reads, then a pipe, then large reads, for some seconds each. */
static struct reading phases(int ms, uint64_t *r)
{
	double n = floor(200 + 200 * uniform(r));

	switch (ms / 1700 % 3) {
	case 0:
		return reads(n, 1, 4096);
	case 1:
		return (struct reading){.tasks = {n * 8192, n}};
	default:
		return reads(n, 16, 65536);
	}
}

/* Batches: 30 ms of reads of 100 bytes, 70 ms of computing. */
static struct reading batches(int ms, uint64_t *r)
{
	double n = floor(400 + 100 * uniform(r));

	return reads(ms % 100 < 30 ? n : 0, 1, 100);
}

/* Half of the bytes come from a socket, at random times. */
static struct reading mixed(int ms, uint64_t *r)
{
	double n = floor(300 * uniform(r)), other = uniform(r) < 0.5 ? 300 * uniform(r) : 0;

	(void)ms;
	return (struct reading){n, n, n * 4096, {(n + other) * 4096, n + floor(other)}};
}

/* Every two seconds some milliseconds of a pipe, which most slices miss. */
static struct reading pipe_at_times(int ms, uint64_t *r)
{
	double n = floor(400 + 50 * uniform(r)), seen = ms % 2000 < 16 ? 0 : n;

	return (struct reading){seen, seen, seen * 4096, {n * 4096, n}};
}

/* A record size that grows continuously. */
static struct reading drifts(int ms, uint64_t *r)
{
	return reads(floor(500 + 100 * uniform(r)), 1, 1000 + ms);
}

/* Whole files, mostly small ones: two calls each, the second of which finds the end. */
static struct reading whole_files(int ms, uint64_t *r)
{
	double n = floor(20 + 20 * uniform(r)), pages = uniform(r) < 0.1 ? 256 : 4;

	(void)ms;
	return (struct reading){n * pages, n, n * pages * 4096, {n * pages * 4096, 2 * n}};
}

static void see(double seen[SLICE_FIGURES], const struct reading *v)
{
	seen[SLICE_READ_CALLS] += v->calls;
	seen[SLICE_READ_BYTES] += v->bytes;
	seen[SLICE_LOOKUPS] += v->lookups;
}

static double simulate(job_fn *job, enum slice_figure f, int length_ms, int exact_ms, uint64_t seed,
		       struct slices *s)
{
	uint64_t r = seed * 0x9e3779b97f4a7c15ull + 1;
	double truth = 0, exact[SLICE_FIGURES] = {0};
	struct slice_part part = {0};
	int slice_at = 0;

	*s = (struct slices){0};
	for (int ms = 0; ms < length_ms; ms++) {
		struct reading v = job(ms, &r);

		truth += f == SLICE_READ_CALLS ? v.calls : v.lookups;
		if (ms < exact_ms) {
			see(exact, &v);
			continue;
		}
		if ((ms - exact_ms) % CELL_MS == 0)
			part.cuts += 2;
		if ((ms - exact_ms) % CELL_MS == 0)
			slice_at = ms + (int)(uniform(&r) * (CELL_MS - SLICE_MS + 1));
		part.all.bytes += v.tasks.bytes;
		part.all.calls += v.tasks.calls;
		if (ms >= slice_at && ms < slice_at + SLICE_MS) {
			part.on.bytes += v.tasks.bytes;
			part.on.calls += v.tasks.calls;
			see(part.seen, &v);
		}
		if ((ms - exact_ms) % PART_MS == PART_MS - 1 || ms == length_ms - 1) {
			slices_add(s, &part);
			part = (struct slice_part){0};
		}
	}
	slices_exact(s, exact);
	return truth;
}

/* Returns the mean width of the interval, as a share of the true value. */
static double holds(job_fn *job, enum slice_figure f, const char *name, int length_ms,
		    double known_min)
{
	static struct slices s;
	double bias = 0, width = 0;
	int held = 0, known = 0;

	/* Figures that are shown. */
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		double truth = simulate(job, f, length_ms, 300, seed, &s);
		struct slice_estimate e;

		slices_estimate(&s, f, &e);
		if (!e.known)
			continue;
		known++;
		held += e.low <= truth * (1 + 1e-9) && truth * (1 - 1e-9) <= e.high;
		bias += e.value / truth - 1;
		width += (e.high - e.low) / truth;
	}
	printf("%s of %s, %d s: held %.1f %%, shown %.1f %%, bias %+.2f %%, width %.1f %%\n",
	       f == SLICE_READ_CALLS ? "calls" : "lookups", name, length_ms / 1000,
	       100.0 * held / known, 100.0 * known / SEEDS, 100 * bias / known,
	       100 * width / known);
	assert_true(known >= known_min * SEEDS);
	assert_true(held >= 0.9 * known - 2);
	assert_true(fabs(bias) <= 0.02 * known);
	return width / known;
}

static void intervals_hold_the_truth(void **state)
{
	static const int lengths[] = {3000, 10000, 60000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (enum slice_figure f = SLICE_READ_CALLS; f <= SLICE_LOOKUPS;
		     f += SLICE_LOOKUPS - SLICE_READ_CALLS) {
			holds(hot, f, "hot", lengths[i], i ? 0.99 : 0);
			holds(batches, f, "batches", lengths[i], i ? 0.99 : 0);
			holds(drifts, f, "drifts", lengths[i], i > 1 ? 0.99 : 0);
			holds(pipe_at_times, f, "pipe at times", lengths[i], i ? 0.99 : 0);
			holds(mixed, f, "mixed", lengths[i], 0);
			holds(phases, f, "phases", lengths[i], 0);
		}
	}
}

/* For any sizes: the kernel counts all calls, including those that find the end. */
static void calls_are_a_share_of_calls(void **state)
{
	double width = holds(whole_files, SLICE_READ_CALLS, "whole files", 60000, 0.99);

	assert_true(width <= 0.05);
}

static void one_ratio_is_exact(void **state)
{
	static struct slices s;
	struct slice_part part = {
		.seen = {[SLICE_LOOKUPS] = 100}, .on = {1000, 100}, .all = {20000, 2000}};
	struct slice_estimate e;

	s = (struct slices){0};
	for (int i = 0; i < 20; i++)
		slices_add(&s, &part);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_true(e.known);
	assert_float_equal(e.value, 20 * 2000, 1e-6);
	assert_true(e.high - e.low <= 2 * SLICE_SEAM * e.value);
}

static void exact_time_is_not_estimated(void **state)
{
	static struct slices s;
	double seen[SLICE_FIGURES] = {[SLICE_LOOKUPS] = 12345, [SLICE_DELAYED_HITS] = 3};
	struct slice_estimate e;

	s = (struct slices){0};
	slices_exact(&s, seen);
	slices_exact(&s, seen);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_true(e.known);
	assert_float_equal(e.value, 24690, 0);
	assert_float_equal(e.low, 24690, 0);
	assert_float_equal(e.high, 24690, 0);
	slices_estimate(&s, SLICE_DELAYED_HITS, &e);
	assert_true(e.known);
}

static void what_no_slice_saw_is_absent(void **state)
{
	static struct slices s;
	struct slice_part unseen = {.all = {20000, 2000}};
	struct slice_part seen = {
		.seen = {[SLICE_LOOKUPS] = 10}, .on = {1000, 100}, .all = {20000, 2000}};
	struct slice_estimate e;

	s = (struct slices){0};
	slices_add(&s, &unseen);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_false(e.known);
	assert_non_null(e.reason);
	/* A part with a slice does not describe the parts without one. */
	slices_add(&s, &seen);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_false(e.known);
	/* A part in which nothing was read needs no slice. */
	s = (struct slices){0};
	unseen.all = (struct slice_read){0};
	slices_add(&s, &unseen);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_true(e.known);
	assert_float_equal(e.value, 0, 0);
	/* If no slice saw delayed hits, there may still be some. */
	for (int i = 0; i < 20; i++)
		slices_add(&s, &seen);
	slices_estimate(&s, SLICE_DELAYED_HITS, &e);
	assert_false(e.known);
}

static void a_wide_interval_is_absent(void **state)
{
	static struct slices s;
	struct slice_part some = {
		.seen = {[SLICE_LOOKUPS] = 100}, .on = {1000, 100}, .all = {20000, 2000}};
	struct slice_part none = {.on = {1000, 100}, .all = {20000, 2000}};
	struct slice_estimate e;

	s = (struct slices){0};
	for (int i = 0; i < 4; i++)
		slices_add(&s, i % 2 ? &some : &none);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_false(e.known);
	assert_true(e.high - e.low > e.value / 4);
}

static void hits_are_lookups_less_exact_misses(void **state)
{
	static struct slices s;
	struct slice_part part = {
		.seen = {[SLICE_LOOKUPS] = 100}, .on = {1000, 100}, .all = {20000, 2000}};
	struct slice_estimate hits, ratio;

	s = (struct slices){0};
	for (int i = 0; i < 20; i++)
		slices_add(&s, &part);
	slices_hits(&s, 10000, &hits, &ratio);
	assert_true(hits.known && ratio.known);
	assert_float_equal(hits.value, 30000, 1e-6);
	assert_float_equal(ratio.value, 0.75, 1e-9);
	/* More misses than estimated lookups, inside or outside their interval. */
	slices_hits(&s, 40010, &hits, &ratio);
	assert_false(hits.known);
	assert_false(ratio.known);
	assert_float_equal(hits.low, 0, 0);
	assert_true(hits.high > 0);
	slices_lookups(&s, 40010, &hits);
	assert_true(hits.known);
	assert_float_equal(hits.value, 40010, 0);
	assert_float_equal(hits.low, 40010, 0);
	slices_hits(&s, 50000, &hits, &ratio);
	assert_false(hits.known);
	assert_false(ratio.known);
	slices_lookups(&s, 50000, &hits);
	assert_false(hits.known);
}

/* AIO and io_uring: seen in slices, but not in the kernel's count of reads. */
static void what_the_kernel_does_not_count_is_absent(void **state)
{
	static struct slices s;
	struct slice_part ring = {.seen = {[SLICE_READ_CALLS] = 100,
					   [SLICE_READ_BYTES] = 409600,
					   [SLICE_LOOKUPS] = 100},
				  .cuts = 2};
	struct slice_part plain = ring, some = ring;
	struct slice_estimate e;

	plain.on = (struct slice_read){409600, 100};
	plain.all = (struct slice_read){20 * 409600, 20 * 100};
	some.on = (struct slice_read){0.98 * 409600, 98};
	some.all = (struct slice_read){20 * 0.98 * 409600, 20 * 98};
	for (int turn = 0; turn < 4; turn++) {
		s = (struct slices){0};
		for (int i = 0; i < 40; i++)
			slices_add(&s, turn == 0 || (turn == 1 && i % 4 == 0) ? &ring
				       : turn == 2			      ? &some
									      : &plain);
		for (int f = 0; f < SLICE_DELAYED_HITS; f++) {
			slices_estimate(&s, (enum slice_figure)f, &e);
			assert_int_equal(e.known, turn > 1);
			assert_int_equal(e.reason != NULL, turn < 2);
		}
		if (turn > 1)
			assert_in_range((int)e.value, 0.99 * 40 * 20 * 100, 1.01 * 40 * 20 * 100);
	}
	s.lost = true;
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_false(e.known);
}

/* The bytes may come from any source, but a slice may also have missed reads. */
static void what_no_slice_saw_has_an_interval(void **state)
{
	static struct slices s;
	double exact[SLICE_FIGURES] = {
		[SLICE_READ_CALLS] = 1000, [SLICE_READ_BYTES] = 4096000, [SLICE_LOOKUPS] = 1000};
	struct slice_part none = {.on = {40960, 10}, .all = {819200, 200}, .cuts = 2};
	struct slice_estimate e;

	s = (struct slices){0};
	slices_exact(&s, exact);
	for (int i = 0; i < 12; i++)
		slices_add(&s, &none);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	/* 12 slices, and bytes for 190 lookups in each part. */
	assert_float_equal(e.value, 1000, 0);
	assert_float_equal(e.high, 1000 + SLICE_UNSEEN / 12 * 12 * 190, 1);
	assert_false(e.known);
	exact[SLICE_READ_CALLS] = exact[SLICE_LOOKUPS] = 1e6;
	exact[SLICE_READ_BYTES] = 4096e6;
	slices_exact(&s, exact);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_true(e.known);
	assert_true(e.high > e.value + 400);
}

static void a_long_run_is_bounded(void **state)
{
	static struct slices s;
	struct slice_part part = {.seen = {[SLICE_LOOKUPS] = 1}, .on = {10, 1}, .all = {200, 20}};
	struct slice_estimate e;
	enum { MANY = 100000 };

	s = (struct slices){0};
	for (int i = 0; i < MANY; i++)
		slices_add(&s, &part);
	assert_true(s.nr <= SLICE_PARTS_MAX);
	assert_true(s.nr > SLICE_PARTS_MAX / 2 - 2);
	slices_estimate(&s, SLICE_LOOKUPS, &e);
	assert_float_equal(e.value, 20.0 * MANY, 1e-3 * MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(calls_are_a_share_of_calls),
		cmocka_unit_test(one_ratio_is_exact),
		cmocka_unit_test(exact_time_is_not_estimated),
		cmocka_unit_test(what_no_slice_saw_is_absent),
		cmocka_unit_test(a_wide_interval_is_absent),
		cmocka_unit_test(hits_are_lookups_less_exact_misses),
		cmocka_unit_test(what_the_kernel_does_not_count_is_absent),
		cmocka_unit_test(what_no_slice_saw_has_an_interval),
		cmocka_unit_test(a_long_run_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
