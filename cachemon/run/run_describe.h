/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first rows of a run in the database, written when it begins: the machine, the probes, what
 * they measure and why the rest is unmeasured, and the names of the job. Pure, except for the names
 * of the host and of the user.
 */
#ifndef RUN_DESCRIBE_H
#define RUN_DESCRIBE_H

#include <sys/utsname.h>

#include "cachemon/access/invoker.h"
#include "cachemon/job/selector.h"
#include "cachemon/plan/probe_plan.h"
#include "cachemon/store/store.h"

struct run_facts {
	const struct kernel_caps *caps;
	const struct probe_plan *plan; /* as applied: hooks that failed are marked */
	enum watch_level level;
	bool advice_calls;
	uint64_t started_ns; /* CLOCK_REALTIME */
	uint64_t interval_ns, map_bytes;
	const struct selector *selector;
	const char *job;	   /* name that the user gave it; NULL: the selector's */
	int64_t uid;		   /* of the job; < 0: unknown */
	bool limits_memory;	   /* its cgroup is in the hierarchy that limits memory */
	const char *no_references; /* reason; NULL: they are sampled */
};

/* All that the store_run refers to, apart from the facts. */
struct run_description {
	struct store_run run;
	struct store_identity identity;
	struct store_probe probes[ROLE_NR];
	struct store_unmeasured unmeasured[C_NR + 1];
	char reasons[C_NR][PLAN_REASON_MAX];
	struct utsname host;
	char user[256];
};

/* To be freed with free(), before the facts; NULL: no memory. */
struct run_description *run_describe(const struct run_facts *f);

#endif
