/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The per-read hook in slices. Time is cut into cells, each with one slice at a random place; a
 * part, the time between two samples, holds several cells. The hook's counts in a part are
 * compared with everything that the job's tasks read, in its slices and in all of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cachemon/watch/watch_run.h"
#include "cachemon/base/clock.h"

/* A slice is as short as switching allows, about fifty times the error at its ends; a gap between
 * slices is at least as long. */
#define SLICE_NS    10000000.0
#define CELL_MAX_NS 500000000.0
#define RETRY_NS    1000000000ULL
/* Samples of the beginning are short, so that a short job has several parts. */
#define PART_NS	    500000000ULL
#define PARTS_SHORT 12

/* How long the per-read hook has been on. */
uint64_t watch_slices_on_ns(const struct watch_run *run, uint64_t now)
{
	return run->hook_on_ns + (probe_set_reads_on(run->set) ? now - run->hook_since_ns : 0);
}

double watch_slices_on_share(const struct watch_run *run)
{
	uint64_t now = clock_now_ns();

	return now > run->start_ns
		       ? (double)watch_slices_on_ns(run, now) / (double)(now - run->start_ns)
		       : 0;
}

static double random_share(void)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (uint32_t)clock_now_ns() * 2654435761u;
	return r / 4294967296.0;
}

/* Everything that the job's tasks read between two checks. */
static void add_read(struct slices *s, struct slice_read *sum, const struct sample_job *from,
		     const struct sample_job *to)
{
	if (to->rchar_bytes < from->rchar_bytes || to->syscr_calls < from->syscr_calls) {
		s->lost = true;
		return;
	}
	sum->bytes += (double)(to->rchar_bytes - from->rchar_bytes);
	sum->calls += (double)(to->syscr_calls - from->syscr_calls);
}

static struct sample_job job_now(struct watch_run *run)
{
	struct sample_job job;

	if (!sampler_progress(run->sampler, &job))
		return job;
	run->slices->lost = true;
	return run->slice_job;
}

/* When the next slice begins, and what is left of its cell after it. */
static void plan_cell(struct watch_run *run, uint64_t now)
{
	double cell = SLICE_NS / fmin(run->duty, 1 - run->duty), off, place;

	if (!(cell < CELL_MAX_NS))
		cell = CELL_MAX_NS;
	off = fmin(fmax((1 - run->duty) * cell, SLICE_NS), cell - SLICE_NS);
	place = random_share() * off;
	run->slice_length_ns = (uint64_t)(cell - off);
	run->slice_ns = now + run->cell_rest_ns + (uint64_t)place;
	run->cell_rest_ns = (uint64_t)(off - place);
}

static void say_failed(struct watch_run *run, const char *to, int r)
{
	struct errtext text;

	if (!run->hook_failed) {
		errtext_set(&text, r, "the per-read hook cannot be switched %s: %s", to,
			    strerror(-r));
		watch_say(text.text);
	}
	run->hook_failed = true;
	run->slice_ns = clock_now_ns() + RETRY_NS;
}

static void close_slice(struct watch_run *run)
{
	struct sample_job now = job_now(run);

	add_read(run->slices, &run->part.on, &run->slice_job, &now);
	run->part.cuts += 2;
}

static void switch_off(struct watch_run *run)
{
	int r;

	close_slice(run);
	r = probe_set_reads(run->set, false);
	if (!probe_set_reads_on(run->set))
		run->hook_on_ns += clock_now_ns() - run->hook_since_ns;
	else
		run->slice_job = job_now(run);
	if (r) {
		say_failed(run, "off", r);
		return;
	}
	run->hook_failed = false;
	plan_cell(run, clock_now_ns());
}

static void switch_on(struct watch_run *run)
{
	int r = probe_set_reads(run->set, true);

	if (r) {
		say_failed(run, "on", r);
		return;
	}
	run->hook_failed = false;
	run->slice_job = job_now(run);
	run->hook_since_ns = clock_now_ns();
	run->slice_ns = run->hook_since_ns + run->slice_length_ns;
}

void watch_slices_begin(struct watch_run *run)
{
	bool gone[C_NR];

	run->slices = calloc(1, sizeof(*run->slices));
	if (!run->slices)
		return;
	run->sliced = true;
	run->duty = COST_DUTY_MIN;
	/* Everything before this is exact. */
	watch_run_sample(run, false);
	for (int c = 0; c < C_NR; c++)
		gone[c] = probe_plan_needs((enum counter)c, ROLE_READ);
	store_measure_no_more(run->store, run->ledger, gone,
			      "reads were watched in slices, to stay within --max-overhead");
	run->slice_job = run->part_job;
	switch_off(run);
}

uint64_t watch_run_slice_due(const struct watch_run *run)
{
	return run->sliced ? run->slice_ns : 0;
}

void watch_run_slice(struct watch_run *run)
{
	if (probe_set_reads_on(run->set))
		switch_off(run);
	else
		switch_on(run);
}

uint64_t watch_run_part_due(const struct watch_run *run)
{
	return run->sliced && run->nr_parts < PARTS_SHORT ? run->last_ns + PART_NS : 0;
}

/* For the watched job, in this sample. */
static void sum_seen(const struct sample *s, double seen[SLICE_FIGURES])
{
	static const enum counter of[SLICE_FIGURES] = {
		[SLICE_READ_CALLS] = C_read_calls,
		[SLICE_READ_BYTES] = C_read_bytes,
		[SLICE_LOOKUPS] = C_lookups,
		[SLICE_DELAYED_HITS] = C_delayed_hits,
	};

	for (int f = 0; f < SLICE_FIGURES; f++)
		seen[f] += (double)s->rest[JOB_WATCHED][of[f]];
	for (size_t i = 0; i < s->nr_files; i++)
		for (int f = 0; f < SLICE_FIGURES && s->files[i].job == JOB_WATCHED; f++)
			seen[f] += (double)s->files[i].c[of[f]];
}

/* A sample in the middle of a slice divides it. */
static void end_part(struct watch_run *run, const struct sample_job *now, bool on)
{
	if (on)
		add_read(run->slices, &run->part.on, &run->slice_job, now);
	run->slice_job = *now;
	add_read(run->slices, &run->part.all, &run->part_job, now);
	memcpy(run->part.seen, run->seen, sizeof(run->seen));
	slices_add(run->slices, &run->part);
	run->part = (struct slice_part){0};
	run->nr_parts++;
}

void watch_slices_sample(struct watch_run *run, struct sample *s, bool on)
{
	sum_seen(s, run->seen);
	s->slices = run->slices;
	if (run->slices && run->slices_begun)
		end_part(run, &s->jobs[JOB_WATCHED], on);
	else if (run->slices)
		slices_exact(run->slices, run->seen);
	if (run->slices)
		memset(run->seen, 0, sizeof(run->seen));
	run->slices_begun = run->slices;
	run->part_job = s->jobs[JOB_WATCHED];
}
