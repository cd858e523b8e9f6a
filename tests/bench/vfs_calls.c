/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of counting calls of files at the end of each system call of the machine, for a process
 * that is in no job: loops of getppid(), the cheapest call, and of cached 4 KiB preads, with that
 * hook alternately on and off. All other programs of the daemon are attached all the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/plan/machine_plan.h"
#include "hotfile.h"

enum { GETPPID, PREAD, NR_CALLS };

static const char *const names[NR_CALLS] = {"getppid", "pread"};

static double call_ns(int call, struct hotfile *file, long n)
{
	uint64_t start = bench_thread_cpu_ns();

	if (call == PREAD && hotfile_read(file, n))
		bench_fail("cannot read");
	for (long i = 0; call == GETPPID && i < n; i++)
		syscall(SYS_getppid);
	return (double)(bench_thread_cpu_ns() - start) / (double)n;
}

static struct probe_set *open_set(void)
{
	static const struct plan_request request = {.level = LEVEL_FULL,
						    .cgroup = true,
						    .births = true,
						    .sockets = true,
						    .vfs_calls = true};
	static struct kernel_caps caps;
	static struct probe_plan plan;
	struct probe_set_config config = {
		.caps = &caps, .jobs = 255, .job_hierarchies = 1U << CGROUP_V2};
	struct probe_set *set;
	struct errtext err;

	if (machine_plan_viable(&request, &caps, &plan, &err))
		bench_fail("%s", err.text);
	config.ram_bytes = caps.ram_bytes;
	config.nr_cpus = caps.nr_cpus;
	if (probe_set_new(&config, &plan, &set, &err))
		bench_fail("%s", err.text);
	probe_set_start(set);
	if (probe_set_reads(set, true))
		bench_fail("no per-read hook");
	return set;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 60,
				  .blocks = 1,
				  .ops = 20000,
				  .file_bytes = 64ull << 20,
				  .patience_s = 600};
	struct probe_set *set;
	struct hotfile file;
	bool is_on = true;
	double *with[NR_CALLS], *without[NR_CALLS], *added;

	bench_options(argc, argv, &o);
	hotfile_make(o.dir, o.file_bytes, &file);
	set = open_set();
	added = calloc((size_t)o.rounds, sizeof(*added));
	for (int call = 0; call < NR_CALLS; call++) {
		char name[64];

		with[call] = calloc((size_t)o.rounds, sizeof(double));
		without[call] = calloc((size_t)o.rounds, sizeof(double));
		for (int i = 0; i < o.rounds; i++) {
			/* The first of a pair takes turns. */
			for (int k = 0; k < 2; k++) {
				bool on = (k + i) % 2;

				if (on != is_on && probe_set_hook(set, ROLE_VFS_CALLS, on))
					bench_fail("cannot switch the hook");
				is_on = on;
				call_ns(call, &file, o.ops / 4);
				(on ? with : without)[call][i] = call_ns(call, &file, o.ops);
			}
			added[i] = with[call][i] - without[call][i];
		}
		snprintf(name, sizeof(name), "%s: metrics.vfs calls adds", names[call]);
		bench_print(name, added, o.rounds, "ns a call");
		snprintf(name, sizeof(name), "%s: without it", names[call]);
		bench_print(name, without[call], o.rounds, "ns a call");
		free(with[call]);
		free(without[call]);
	}
	free(added);
	probe_set_free(set);
	hotfile_free(&file);
	return 0;
}
