/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach_cycles COUNT: loads and attaches all that a watch does, takes a sample, and lets it all
 * go again, COUNT times in one process. Fails if descriptors, heap or resident memory grow after
 * the first cycles. GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 makes the heap
 * exact to the byte: else chunks that malloc keeps aside count as used.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/calibrate.h"
#include "capture/sampler.h"
#include "plan/machine_plan.h"

/* Until then what is made once and kept (of the C library, libelf) has been made. */
enum { WARM_UP = 5, RSS_SLACK_KB = 128 };

struct footprint {
	size_t descriptors;
	size_t heap_bytes;
	long rss_kb;
};

static struct footprint footprint_now(void)
{
	struct footprint f = {.heap_bytes = mallinfo2().uordblks};
	FILE *status;
	char line[128];
	DIR *dir;

	status = fopen("/proc/self/status", "re");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "VmRSS: %ld", &f.rss_kb);
	if (status)
		fclose(status);
	dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		f.descriptors++;
	if (dir)
		closedir(dir);
	return f;
}

static int cycle(struct errtext *err)
{
	static const struct plan_request all = {.level = LEVEL_FULL, .advice_calls = true};
	static struct kernel_caps caps;
	static struct probe_plan plan;
	struct probe_set_config config = {.caps = &caps, .advice_calls = true};
	struct sampler *sampler = NULL;
	struct probe_set *set = NULL;
	struct sample sample;
	pid_t self = getpid();
	int r = machine_plan_viable(&all, &caps, &plan, err);

	if (r)
		return r;
	config.ram_bytes = caps.ram_bytes;
	config.nr_cpus = caps.nr_cpus;
	r = probe_set_new(&config, &plan, &set, err);
	if (!r)
		r = sampler_new(set, &sampler, err);
	if (!r) {
		probe_set_start(set);
		r = probe_set_seed(set, &self, 1, err);
	}
	/* The per-read hook comes and goes within a run: slices. */
	for (int i = 0; i < 3 && !r; i++) {
		r = probe_set_reads(set, true);
		if (!r)
			r = probe_set_reads(set, i == 2);
		if (r)
			errtext_set(err, r, "the per-read hook: %s", strerror(-r));
	}
	if (!r)
		r = sampler_take(sampler, true, &sample, err);
	sampler_free(sampler);
	probe_set_free(set);
	return r;
}

static int compare(int at, const struct footprint *first, const struct footprint *now)
{
	int grown = now->descriptors != first->descriptors || now->heap_bytes > first->heap_bytes ||
		    now->rss_kb > first->rss_kb + RSS_SLACK_KB;

	if (grown)
		fprintf(stderr,
			"cycle %d: descriptors %zu, heap %zu bytes, resident %ld kB; "
			"after cycle %d: %zu, %zu bytes, %ld kB\n",
			at, now->descriptors, now->heap_bytes, now->rss_kb, WARM_UP,
			first->descriptors, first->heap_bytes, first->rss_kb);
	return grown;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;
	struct footprint first = {}, now = {};
	struct errtext err;

	if (count <= WARM_UP) {
		fprintf(stderr, "usage: attach_cycles COUNT, above %d\n", WARM_UP);
		return 2;
	}
	for (int i = 1; i <= count; i++) {
		if (cycle(&err)) {
			fprintf(stderr, "cycle %d: %s\n", i, err.text);
			return 1;
		}
		now = footprint_now();
		if (i == WARM_UP)
			first = now;
		if (i > WARM_UP && compare(i, &first, &now))
			return 1;
	}
	printf("%zu descriptors, %zu bytes of heap, %ld kB resident after cycle %d; "
	       "%zu, %zu, %ld after cycle %d\n",
	       first.descriptors, first.heap_bytes, first.rss_kb, WARM_UP, now.descriptors,
	       now.heap_bytes, now.rss_kb, count);
	return 0;
}
