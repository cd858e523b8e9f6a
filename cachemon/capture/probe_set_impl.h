/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of a probe set, shared by its files: probe_set.c (opening and attaching),
 * probe_set_load.c (loading),
 * probe_set_run.c (operations while it counts), probe_set_seed.c (adding processes),
 * probe_set_info.c (information from the kernel, and skipped runs). No other file includes this.
 */
#ifndef PROBE_SET_IMPL_H
#define PROBE_SET_IMPL_H

/* The skeleton holds types of it. */
#include "bpf/shared.h"

#include "cachemon_maps.skel.h"
#include "cachemon/capture/grace.h"
#include "cachemon/capture/probe_set.h"

enum { PARTS_MAX = 4 };

/* Programs that one thread loads. */
struct probe_part {
	struct bpf_object *obj;
	int err; /* of loading it */
};

struct probe_set {
	struct cachemon_maps_bpf *skel;
	struct probe_part parts[PARTS_MAX];
	size_t nr_parts;
	struct bpf_link *links[ROLE_NR];
	const struct probe_plan *plan;
	struct grace grace;
	unsigned int nr_cpus;
	bool kprobe_misses;	  /* the kernel counts hits that kprobes missed */
	uint64_t links_missed;	  /* from links that are closed */
	uint64_t missed_before;	  /* the start */
	unsigned int reads_on_nr; /* how often the per-read hook was switched on */
	bool reads_on;
	bool started;
	uint32_t nr_slots;	   /* of jobs and others */
	uint16_t job_nr[NR_SLOTS]; /* how many jobs have had the slot */
};

/* The plan's choice for a role; NULL: nothing to load or attach. */
const struct probe_choice *probe_set_choice(const struct probe_set *set, enum probe_role role);
/* Loads the maps, then the programs of the plan and those of every run. If the kernel refuses a
 * program, its role gets the next candidate, and -EAGAIN asks for another try with a new object. */
int probe_set_load(struct probe_set *set, const struct kernel_caps *caps, struct probe_plan *plan,
		   struct errtext *err);
void probe_set_unload(struct probe_set *set);
/* A program that is loaded, or NULL. */
struct bpf_program *probe_set_program(struct probe_set *set, const char *name);
/* 0 or -errno; 0 too if there is nothing to attach, or it is attached already. */
int probe_set_attach_role(struct probe_set *set, enum probe_role role);
/* Detaches it, and keeps the number of its missed runs. */
void probe_set_close_link(struct probe_set *set, enum probe_role role);
/* Earlier misses do not count. */
void probe_set_misses_begin(struct probe_set *set);
/* Reads an iterator to its end and ignores its output. */
int probe_set_iterate(const struct bpf_link *link);
/* Increments the epoch and returns the old value: each CPU then checks its task before it counts
 * another read. */
uint32_t probe_set_move_epoch(struct probe_set *set, uint32_t by);
/* As probe_set_seed(), for what the seeds have of one process. */
int probe_set_seed_process(struct probe_set *set, pid_t tgid);
/* The rest row of one job. */
int probe_set_rest_row(int fd, uint32_t slot);
/* Waits until every program that runs now has ended; programs run with preemption or RCU held. */
int probe_set_grace_period(const struct probe_set *set);

#endif
