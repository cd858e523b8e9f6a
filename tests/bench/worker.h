/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measured process: runs blocks of operations on command and reports their CPU time. It is a
 * separate process, so that the watcher is neither its child nor in its address space.
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
	int err; /* 0 or -errno of the failed operation */
	uint64_t cpu_ns, wall_ns;
	uint64_t blocks_in; /* of 512 bytes, from a device */
	uint64_t switches;
};

/*
 * Forks; the worker calls run() for each worker_do() and ends with this process. run() returns 0 or
 * -errno. The CPU time is that of the calling thread unless run() stores another one in *cpu_ns.
 * ahead: it has priority over everything else on its CPU (SCHED_FIFO), so that other work does not
 * preempt it and evict its caches; for blocks of milliseconds.
 */
void worker_start(int (*run)(void *ctx, int op, long n, uint64_t *cpu_ns), void *ctx, bool ahead,
		  struct worker *ret);
/* Does n operations of kind op; exits if they fail. */
void worker_do(struct worker *w, int op, long n, struct worker_result *ret);
void worker_stop(struct worker *w);

#endif
