/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of a probe set, shared by the files that make it up: probe_set.c (loading and attaching),
 * probe_set_run.c (what is done to it while it counts), probe_set_seed.c (who is taken in),
 * probe_set_info.c (what the kernel says of it, and what it left out).
 * Nobody else includes this.
 */
#ifndef PROBE_SET_IMPL_H
#define PROBE_SET_IMPL_H

/* The skeleton holds types of it. */
#include "bpf/shared.h"

#include "cachemon.skel.h"
#include "cachemon/capture/grace.h"
#include "cachemon/capture/probe_set.h"

struct probe_set {
	struct cachemon_bpf *skel;
	struct bpf_link *links[ROLE_NR];
	const struct probe_plan *plan;
	struct grace grace;
	unsigned int nr_cpus;
	bool kprobe_misses;	  /* hits that kprobes missed are known */
	uint64_t links_missed;	  /* by links that are closed */
	uint64_t missed_before;	  /* the start */
	unsigned int reads_on_nr; /* how often the per-read hook was switched on */
	bool reads_on;
	bool started;
};

/* The choice of the plan for a role, NULL: nothing to load or attach. */
const struct probe_choice *probe_set_choice(const struct probe_set *set, enum probe_role role);
/* -errno; 0 also when there is nothing to attach, or when it is. */
int probe_set_attach_role(struct probe_set *set, enum probe_role role);
/* Detaches it; what it missed is kept. */
void probe_set_close_link(struct probe_set *set, enum probe_role role);
/* Earlier misses do not count. */
void probe_set_misses_begin(struct probe_set *set);
/* Reads an iterator to its end; what it writes is of no use. */
int probe_set_iterate(const struct bpf_link *link);
/* Adds to the epoch, and returns what it was: each CPU looks at its task again before it counts
 * another read. */
uint32_t probe_set_move_epoch(struct probe_set *set, uint32_t by);
/* Waits until every program that runs now has ended: they run with preemption or RCU held. */
int probe_set_grace_period(const struct probe_set *set);

#endif
