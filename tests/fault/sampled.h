/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probes and a sampler without the rest of the program, and sums of the samples for the job.
 * For helpers that consist of one file, so everything is in this header.
 */
#ifndef SAMPLED_H
#define SAMPLED_H

#include <stdio.h>
#include <stdlib.h>

#include "bpf/shared.h"

#include "cachemon_maps.skel.h"
#include "cachemon/capture/sampler.h"
#include "cachemon/plan/machine_plan.h"

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

struct sums {
	int64_t c[C_NR];
	size_t files;
};

/* Even after an error. */
static inline int take(struct sampler *s, bool last, struct sums *sums,
		       int64_t *ret_unsettled_error)
{
	struct sample sample;
	struct errtext err;
	int r = sampler_take(s, last, &sample, &err);

	for (int c = 0; c < C_NR; c++)
		sums->c[c] += sample.rest[JOB_WATCHED][c];
	for (size_t i = 0; i < sample.nr_files; i++)
		for (int c = 0; c < C_NR && sample.files[i].job == JOB_WATCHED; c++)
			sums->c[c] += sample.files[i].c[c];
	sums->files += sample.nr_files;
	*ret_unsettled_error = sample.unsettled_error_pages;
	return r;
}

static inline void take_all(struct sampler *s, bool last, struct sums *sums,
			    int64_t *ret_unsettled_error)
{
	if (take(s, last, sums, ret_unsettled_error))
		fail("a sample was not taken");
}

/* jobs: at once, in these hierarchies; 0: one job, a tree of processes. */
static void open_jobs(unsigned int jobs, unsigned int hierarchies, struct probe_set **ret_set,
		      struct sampler **ret_sampler)
{
	const struct plan_request request = {
		.level = LEVEL_FULL, .cgroup = jobs, .births = jobs, .sockets = jobs};
	static struct kernel_caps caps;
	static struct probe_plan plan;
	struct probe_set_config config = {.jobs = jobs, .job_hierarchies = hierarchies};
	struct errtext err;

	if (machine_plan_viable(&request, &caps, &plan, &err))
		fail(err.text);
	config.caps = &caps;
	config.ram_bytes = caps.ram_bytes;
	config.nr_cpus = caps.nr_cpus;
	if (probe_set_new(&config, &plan, ret_set, &err) ||
	    sampler_new(*ret_set, ret_sampler, &err))
		fail(err.text);
	probe_set_start(*ret_set);
	if (probe_set_reads(*ret_set, true))
		fail("no per-read hook");
}

static inline void open_probes(struct probe_set **ret_set, struct sampler **ret_sampler)
{
	open_jobs(0, 0, ret_set, ret_sampler);
}

static void expect(const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s: %lld, not %lld\n", what, (long long)got, (long long)want);
	exit(1);
}

#endif
