/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach_cycles COUNT [SECONDS]: loads and attaches everything that a watch uses, takes a sample,
 * and releases it, COUNT times in one process; spread over SECONDS, attached for half of each turn.
 * Fails if descriptors, heap, mappings or anonymous memory grow after the first cycles. Pages of
 * the program's own file come and go with the machine's free memory.
 * GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 makes the heap exact to the
 * byte: otherwise chunks cached by malloc count as used.
 */
#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/collector/calibrate.h"
#include "cachemon/capture/sampler.h"
#include "cachemon/plan/machine_plan.h"

/* By then everything that is made once and kept (by the C library, libelf) exists. */
enum { WARM_UP = 5, SLACK_KB = 128 };

static struct timespec begin;
static pid_t job;     /* a process that only waits: cachemon itself never belongs to a job */
static double turn_s; /* 0: as fast as possible */

struct footprint {
	size_t descriptors;
	size_t heap_bytes;
	long anon_kb, mapped_kb;
};

static struct footprint footprint_now(void)
{
	struct footprint f = {.heap_bytes = mallinfo2().uordblks};
	FILE *status;
	char line[128];
	DIR *dir;

	/* The C library's caches vary with the order in which memory was freed. */
	malloc_trim(0);
	status = fopen("/proc/self/status", "re");
	while (status && fgets(line, sizeof(line), status)) {
		sscanf(line, "RssAnon: %ld", &f.anon_kb);
		sscanf(line, "VmSize: %ld", &f.mapped_kb);
	}
	if (status)
		fclose(status);
	dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		f.descriptors++;
	if (dir)
		closedir(dir);
	return f;
}

/* Waits for that many turns since the beginning; continues at once if it is late. */
static void wait_turns(double turns)
{
	double seconds = turns * turn_s;
	struct timespec at = begin;

	at.tv_sec += (time_t)seconds;
	at.tv_nsec += (long)((seconds - (time_t)seconds) * 1e9);
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
		;
}

static int cycle(int nr, struct errtext *err)
{
	static const struct plan_request all = {.level = LEVEL_FULL, .advice_calls = true};
	static struct kernel_caps caps;
	static struct probe_plan plan;
	struct probe_set_config config = {.caps = &caps, .advice_calls = true};
	struct sampler *sampler = NULL;
	struct probe_set *set = NULL;
	struct sample sample;
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
		r = probe_set_seed(set, &job, 1, err);
	}
	/* The per-read hook is detached and attached within a run: slices. */
	for (int i = 0; i < 3 && !r; i++) {
		r = probe_set_reads(set, true);
		if (!r)
			r = probe_set_reads(set, i == 2);
		if (r)
			errtext_set(err, r, "the per-read hook: %s", strerror(-r));
	}
	wait_turns(nr - 0.5);
	if (!r)
		r = sampler_take(sampler, true, &sample, err);
	sampler_free(sampler);
	probe_set_free(set);
	return r;
}

static int compare(int at, const struct footprint *first, const struct footprint *now)
{
	int grown = now->descriptors != first->descriptors || now->heap_bytes > first->heap_bytes ||
		    now->anon_kb > first->anon_kb + SLACK_KB ||
		    now->mapped_kb > first->mapped_kb + SLACK_KB;

	if (grown)
		fprintf(stderr,
			"cycle %d: descriptors %zu, heap %zu bytes, anonymous %ld kB, mapped %ld "
			"kB; "
			"after cycle %d: %zu, %zu bytes, %ld kB, %ld kB\n",
			at, now->descriptors, now->heap_bytes, now->anon_kb, now->mapped_kb,
			WARM_UP, first->descriptors, first->heap_bytes, first->anon_kb,
			first->mapped_kb);
	return grown;
}

static void wait_for_end(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int count = argc == 2 || argc == 3 ? atoi(argv[1]) : 0;
	struct footprint first = {}, now = {};
	struct errtext err;

	if (count <= WARM_UP) {
		fprintf(stderr, "usage: attach_cycles COUNT [SECONDS], COUNT above %d\n", WARM_UP);
		return 2;
	}
	job = fork();
	if (!job)
		wait_for_end();
	if (job < 0) {
		perror("fork");
		return 1;
	}
	turn_s = argc == 3 ? atof(argv[2]) / count : 0;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 1; i <= count; i++) {
		if (cycle(i, &err)) {
			fprintf(stderr, "cycle %d: %s\n", i, err.text);
			return 1;
		}
		now = footprint_now();
		if (i == WARM_UP)
			first = now;
		if (i > WARM_UP && compare(i, &first, &now))
			return 1;
		wait_turns(i);
	}
	printf("%zu descriptors, %zu bytes of heap, %ld kB anonymous, %ld kB mapped after cycle "
	       "%d; "
	       "%zu, %zu, %ld, %ld after cycle %d\n",
	       first.descriptors, first.heap_bytes, first.anon_kb, first.mapped_kb, WARM_UP,
	       now.descriptors, now.heap_bytes, now.anon_kb, now.mapped_kb, count);
	return 0;
}
