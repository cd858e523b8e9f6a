/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that is measured: does blocks of operations on command and tells their CPU time. A
 * process of its own, so that the watcher is neither its child nor in its address space.
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker {
	pid_t pid;
	int to, from;
};

struct worker_result {
	int err; /* 0 or -errno of the operation that failed */
	uint64_t cpu_ns, wall_ns;
	uint64_t blocks_in; /* of 512 bytes, from a device */
	uint64_t switches;
};

/*
 * Forks; the worker calls run() for each worker_do() and ends with this process. run() returns 0 or
 * -errno; the CPU time is that of the calling thread unless run() puts another into *cpu_ns.
 * ahead: it runs before everything else on its CPU (SCHED_FIFO), so that what the machine does
 * beside it does not come in between and take its caches; for blocks of milliseconds.
 */
void worker_start(int (*run)(void *ctx, int op, long n, uint64_t *cpu_ns), void *ctx, bool ahead,
		  struct worker *ret);
/* Does n operations of kind op; exits when they fail. */
void worker_do(struct worker *w, int op, long n, struct worker_result *ret);
void worker_stop(struct worker *w);

#endif
