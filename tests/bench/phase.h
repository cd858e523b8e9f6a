/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alternating phases: nothing attached, empty programs, a cachemon watch. Enters and leaves them,
 * and decides which blocks count: none begins while another tracer runs, and one in which another
 * tracer appeared is repeated.
 */
#ifndef BENCH_PHASE_H
#define BENCH_PHASE_H

#include "bench.h"
#include "empties.h"
#include "scan.h"
#include "watcher.h"
#include "worker.h"

#define PHASE_OPS 2

enum phase_kind { PHASE_OFF, PHASE_EMPTY, PHASE_WATCH };

struct phase {
	const char *name;
	enum phase_kind kind;
	const char *cachemon;
	const char *args[WATCHER_ARGS_MAX];
	double *ns[PHASE_OPS];	 /* per round: CPU time of one operation */
	double *wall[PHASE_OPS]; /* the same, wall-clock time */
};

struct phase_env {
	const struct bench_options *o;
	struct worker *worker;
	pid_t watched;	   /* the worker, unless the benchmark sets another */
	struct scan hooks; /* on whose hooks the empty programs run */
	int nr_ops;
	long ops[PHASE_OPS]; /* operations per block */
	bool mean;	     /* of the blocks, instead of the lower quartile: the cost varies */
	char db[256];
	unsigned int discarded; /* disturbed blocks */
};

/* Finds the hooks of cachemon at level full with these additional options. */
void phase_env_init(struct phase_env *env, const struct bench_options *o, struct worker *worker,
		    const char *const *args);
void phase_env_free(struct phase_env *env);

struct phase_entered {
	struct watcher watcher;
	struct empties empties;
	struct scan own; /* programs of this phase */
};

/* The steps of a phase, for a benchmark that does more than compare. */
void phase_enter(struct phase_env *env, const struct phase *p, struct phase_entered *ret);
void phase_measure(struct phase_env *env, struct phase *p, struct phase_entered *e, int op,
		   int round);
void phase_leave(const struct phase *p, struct phase_entered *e);

void phase_alloc(const struct phase_env *env, struct phase *phases, int nr);
/* o->rounds rounds of all phases, in a varying order; fills their ns. */
void phase_run_all(struct phase_env *env, struct phase *phases, int nr);
void phase_free(struct phase *phases, int nr);

/* a and b are phases. Computes a value for each round; the result has o->rounds values. */
double *phase_ratio(const struct phase_env *env, const struct phase *a, const struct phase *b,
		    int op);
double *phase_added(const struct phase_env *env, const struct phase *a, const struct phase *b,
		    int op);

#endif
