/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the benchmarks: order statistics, options, and the exit. Figures are CPU time of one
 * thread, compared between phases that alternate within one run; wall time is never judged.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#define EXIT_SKIPPED 77

struct bench_options {
	const char *cachemon; /* the program under test */
	const char *also;     /* another build, compared at level full; NULL: none */
	const char *dir;      /* where files are made: on the filesystem under test */
	int rounds;	      /* each phase once per round */
	int blocks;	      /* measurements of a phase in a round */
	long ops;	      /* operations per block */
	uint64_t file_bytes;
	int patience_s; /* how long to wait until no other tracing runs */
};

/* Overwrites the options given on the command line; exits on a bad one or without root. */
void bench_options(int argc, char **argv, struct bench_options *o);

/* Prints "name: why" on stderr and exits with 1. */
__attribute__((format(printf, 1, 2), noreturn)) void bench_fail(const char *format, ...);

/* The q-quantile (0..1), interpolated; sorts v. nr > 0. */
double bench_quantile(double *v, int nr, double q);

/* "NAME: MEDIAN (quartiles A to B, N rounds) UNIT"; sorts v. */
void bench_print(const char *name, double *v, int nr, const char *unit);

/* "goal: NAME WANT, is VALUE: met" or "... not met". */
void bench_goal(const char *name, double value, double want, bool at_least);

uint64_t bench_now_ns(void);	    /* CLOCK_MONOTONIC */
uint64_t bench_thread_cpu_ns(void); /* of the calling thread */

#endif
