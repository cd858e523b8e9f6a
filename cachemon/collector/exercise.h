/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that does on order what jobs do, so that the probes can be timed in a task like those
 * of the job. Owns the process; it ends with its parent.
 */
#ifndef EXERCISE_H
#define EXERCISE_H

#include <sys/types.h>

#include "cachemon/access/invoker.h"

enum exercise {
	EXERCISE_READS,	   /* cached reads of single pages: the hit path and nothing else */
	EXERCISE_SYSCALLS, /* the cheapest system call there is */
	EXERCISE_PAGES,	   /* a bit of everything: misses, windows, faults, forks, direct reads */
};

#define EXERCISE_READS_NR 4800 /* of one order */

struct exerciser {
	pid_t pid;
	int fd;
};

/* Forks; the process reads a file of its own in dir that has no name, made as the user. < 0:
 * -errno.
 */
int exerciser_start(struct exerciser *e, const char *dir, const struct invoker *as);
/* Waits until it is done. *ret_ns: CPU time of one operation in the quiet quarter of them; 0 for
 * EXERCISE_PAGES. < 0: it could not be done. */
int exerciser_do(struct exerciser *e, enum exercise what, double *ret_ns);
void exerciser_stop(struct exerciser *e);

/* The quietest quarter's upper end; sorts v. */
double quiet_quarter(double *v, int nr);

#endif
