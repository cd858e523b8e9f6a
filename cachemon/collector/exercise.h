/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that does on request what jobs do, so that the probes can be timed in a task like the
 * job's. Owns the process; it ends with its parent.
 */
#ifndef EXERCISE_H
#define EXERCISE_H

#include <sys/types.h>

#include "cachemon/access/invoker.h"

enum exercise {
	EXERCISE_READS,	   /* cached reads of single pages: only the hit path */
	EXERCISE_SYSCALLS, /* the cheapest system call */
	EXERCISE_PAGES,	   /* a bit of everything: misses, windows, faults, forks, direct reads */
};

#define EXERCISE_READS_NR 4800 /* operations per request */

struct exerciser {
	pid_t pid;
	int fd;
};

/* Forks; the process reads its own unnamed file in dir, created as the user. < 0: -errno. */
int exerciser_start(struct exerciser *e, const char *dir, const struct invoker *as);
/* Waits until it is done. *ret_ns: CPU time of one operation in the quiet quarter; 0 for
 * EXERCISE_PAGES. < 0: it failed. */
int exerciser_do(struct exerciser *e, enum exercise what, double *ret_ns);
void exerciser_stop(struct exerciser *e);

/* The upper end of the quietest quarter; sorts v. */
double quiet_quarter(double *v, int nr);

#endif
