/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Phases that take turns: nothing attached, empty programs, a cachemon watch. Owns entering and
 * leaving them and the rule which blocks count: none begins while another tracer is there, and one
 * in which another appeared is measured again.
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
	double *ns[PHASE_OPS];	 /* a value a round: CPU time of one operation */
	double *wall[PHASE_OPS]; /* the same, time on the clock */
};

struct phase_env {
	const struct bench_options *o;
	struct worker *worker;
	pid_t watched;	   /* the worker, unless the bench says otherwise */
	struct scan hooks; /* whose hooks the empty programs take */
	int nr_ops;
	long ops[PHASE_OPS]; /* operations a block */
	bool mean;	     /* of the blocks, not their lower quartile: cost comes and goes */
	char db[256];
	unsigned int discarded; /* blocks that were disturbed */
};

/* Learns the hooks of cachemon at level full with these further options. */
void phase_env_init(struct phase_env *env, const struct bench_options *o, struct worker *worker,
		    const char *const *args);
void phase_env_free(struct phase_env *env);

struct phase_entered {
	struct watcher watcher;
	struct empties empties;
	struct scan own; /* programs of this phase */
};

/* The steps of a phase, for a bench that does more than compare. */
void phase_enter(struct phase_env *env, const struct phase *p, struct phase_entered *ret);
void phase_measure(struct phase_env *env, struct phase *p, struct phase_entered *e, int op,
		   int round);
void phase_leave(const struct phase *p, struct phase_entered *e);

void phase_alloc(const struct phase_env *env, struct phase *phases, int nr);
/* o->rounds rounds of all phases, in an order that changes; fills their ns. */
void phase_run_all(struct phase_env *env, struct phase *phases, int nr);
void phase_free(struct phase *phases, int nr);

/* a and b: phases. what[i] of a round, from its values; the result has o->rounds values. */
double *phase_ratio(const struct phase_env *env, const struct phase *a, const struct phase *b,
		    int op);
double *phase_added(const struct phase_env *env, const struct phase *a, const struct phase *b,
		    int op);

#endif
