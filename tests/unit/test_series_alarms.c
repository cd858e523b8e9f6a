/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access m */
/*
 * How often something is found in jobs in which nothing happens, and how often a real change is
 * found: simulated, with all metrics of a job at once. CACHEMON_FULL=1: twenty times as many jobs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixtures/counts.h"
#include "fixtures/series/made.h"

enum { JOBS = 50, STEPS = 100 };

/* Compared with 20 times the 100 misses per second of made_job(). */
#define NOISE 200

struct rates {
	int jobs, changes, anomalies, links, most_anomalies;
};

static struct rates look_at(enum process p, size_t nr, int jobs)
{
	struct rates ret = {.jobs = jobs};
	uint64_t seed = 1000 * (uint64_t)p + nr;

	for (int i = 0; i < jobs; i++) {
		struct arena arena = {0};
		struct series_cells c;
		struct series_job job = {0};
		size_t found;

		made_job(&seed, p, nr, &arena, &c);
		assert_int_equal(series_look(&c, &arena, &job), 0);
		found = job.nr_anomalies + job.more_anomalies;
		ret.changes += job.nr_changes > 0;
		ret.anomalies += found > 0;
		ret.links += job.nr_links > 0;
		if ((int)found > ret.most_anomalies)
			ret.most_anomalies = (int)found;
		arena_free(&arena);
	}
	return ret;
}

/* Jobs with a change, per hundred. The test looks for a level that changes once and for good, and
 * some random walks look like that. */
static double changes_allowed(enum process p)
{
	return p == WALK ? 5 : 2;
}

static void nothing_is_found(void **state)
{
	static const size_t lengths[] = {30, 60, 120, 400, 1200};
	int jobs = full_counts() ? JOBS * 20 : JOBS;

	(void)state;
	for (int p = 0; p < PROCESSES; p++) {
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			struct rates r = look_at(p, lengths[k], lengths[k] > 400 ? jobs / 4 : jobs);
			double to = 100.0 / r.jobs;

			printf("%-40s %5zu intervals: changes in %.1f %%, links in %.1f %%, "
			       "anomalies in %.1f %% of %d jobs, at most %d\n",
			       process_names[p], lengths[k], r.changes * to, r.links * to,
			       r.anomalies * to, r.jobs, r.most_anomalies);
			/* Two more jobs than the rate, because the number of jobs is small. */
			assert_true(r.changes <= changes_allowed(p) / to + 2);
			assert_true(r.links <= 2 / to + 2);
			if (p != LONG_TAIL && p != CHECKPOINTS && p != BURSTS)
				assert_true(r.anomalies <= 2 / to + 2);
			assert_true(r.most_anomalies <= 64 * FIGURE_NR);
		}
	}
}

/* Steps of two standard deviations of the noise, in one metric of a job. */
static void steps_are_found(void **state)
{
	static const struct {
		double deviations; /* standard deviations */
		enum process p;
		size_t nr, at;
		int least; /* per hundred */
	} steps[] = {
		{2, STEADY, 120, 60, 90},   {2, STEADY, 120, 30, 90}, {2, STEADY, 400, 200, 95},
		{2, STEADY, 1200, 400, 95}, {6, STEADY, 60, 30, 95},  {6, ALIKE, 120, 40, 90},
		{20, STEADY, 30, 10, 65},   {20, STEADY, 60, 10, 90},
	};
	int trials = full_counts() ? STEPS * 10 : STEPS;

	(void)state;
	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		uint64_t seed = 77 + k;
		int found = 0;
		int near = 0;

		for (int t = 0; t < trials; t++) {
			struct arena arena = {0};
			struct series_cells c;
			struct series_job job = {0};

			made_job(&seed, steps[k].p, steps[k].nr, &arena, &c);
			/* A mean of 600 with a noise of 200. */
			for (size_t i = 0; i < steps[k].nr; i++)
				c.v[FIGURE_MISSES][i] +=
					steps[k].deviations * NOISE * (i >= steps[k].at) - 1400;
			assert_int_equal(series_look(&c, &arena, &job), 0);
			for (size_t i = 0; i < job.nr_changes; i++) {
				int64_t off = job.changes[i].at_ns - c.start_ns[steps[k].at];

				if (job.changes[i].metric != series_metric(FIGURE_MISSES))
					continue;
				found++;
				near += llabs(off) <= 2 * c.length_ns;
				break;
			}
			arena_free(&arena);
		}
		printf("a step of %2.0f deviations behind %3zu of %4zu, %s: found in %.0f %%, "
		       "within 2 in %.0f %%\n",
		       steps[k].deviations, steps[k].at, steps[k].nr, process_names[steps[k].p],
		       100.0 * found / trials, 100.0 * near / trials);
		assert_true(100 * found >= steps[k].least * trials);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found),
		cmocka_unit_test(steps_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
