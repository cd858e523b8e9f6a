/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loaded probes: applies a probe plan through libbpf. Owns the skeleton and every link.
 * Refusals of the kernel are recorded in the plan. Everything is closed with the process: no pin,
 * so nothing outlives a kill.
 */
#ifndef PROBE_SET_H
#define PROBE_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared.h"
#include "cachemon/job/cgroup.h"
#include "cachemon/job/proctree.h"
#include "cachemon/plan/probe_plan.h"
#include "cachemon/base/errtext.h"

struct cachemon_bpf;
struct probe_set;

/* The ELF file of a build, embedded in the program. All have the maps, programs and variables of
 * the skeleton. */
const void *probe_set_object(enum probe_build build, size_t *ret_size);

struct probe_set_config {
	const struct kernel_caps *caps; /* what the plan was made of */
	uint64_t ram_bytes;
	unsigned int nr_cpus;
	const struct cgroup_ref *cgroup; /* NULL: the job is a tree of processes */
	bool advice_calls;
	uint64_t block_entries; /* 0: by memory; tests take tiny ones */
	uint64_t row_entries;
};

/* Opens, sizes, loads and attaches what the plan chose; not started. */
int probe_set_new(const struct probe_set_config *config, struct probe_plan *plan,
		  struct probe_set **ret, struct errtext *err);
/* Detaches all; NULL is fine. After probe_set_detach() the maps can still be read. */
void probe_set_detach(struct probe_set *set);
void probe_set_free(struct probe_set *set);

/* Counting begins. */
void probe_set_start(struct probe_set *set);
/* Nothing is counted after it returns. */
void probe_set_stop(struct probe_set *set);

/* The per-read hook on or off, for slices. Off gives up the fates of outstanding pages. */
int probe_set_reads(struct probe_set *set, bool on);
bool probe_set_reads_on(const struct probe_set *set);
/* The job has waited for a ring of io_uring while it was off: for a read, or for something else. */
bool probe_set_rings_unseen(const struct probe_set *set);
/* The hook of a role that is not on all the time, on or off: of reads, as above; of all advice
 * calls, for calibration; of the addresses of all faults of the machine, while files are traced.
 * -ENOTSUP: not in the plan. */
int probe_set_hook(struct probe_set *set, enum probe_role role, bool on);
/* Whether programs note who makes pages leave; it is on at first. While it is off these pages have
 * no evictor, as when there is no room to note one. */
void probe_set_evictors(struct probe_set *set, bool on);

/* Takes running processes (and later children) into the job; ids are those of cachemon's own pid
 * namespace. With a cgroup tgids may be NULL. -ESRCH: the kernel shows none of them. */
int probe_set_seed(struct probe_set *set, const pid_t *tgids, size_t nr, struct errtext *err);

/* For a tree of processes that runs: while on, children of named seeds are named too, and of any
 * other process that is forked or ends the parent is noted. */
int probe_set_note_parents(struct probe_set *set, bool on);
/* The notes so far; the array is the caller's. */
int probe_set_parents(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr);
/* Names processes; probe_set_seed() takes them in. After it the parents of all that they had forked
 * before are noted. *ret_new: how many were not named before. -E2BIG: too many. */
int probe_set_name_seeds(struct probe_set *set, const pid_t *tgids, size_t nr, size_t *ret_new);

/* Processes of the job that live, of a tree that was not looked for with notes of parents; the
 * array is the caller's. */
int probe_set_members(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr);

/* Tasks that found no memory since the last seeding began. */
unsigned int probe_set_seeds_missed(struct probe_set *set);

/* Makes the rest row of each job in a map of rows: it must be there before its generation is
 * written. */
int probe_set_rest_rows(int fd);
/* What running tasks of the job used and read and are not yet charged with. */
int probe_set_uncharged(struct probe_set *set, struct sweep_charges_args *ret);
/* Moves on to the other generation of rows; *ret_generation: the one to drain, 0 is a, quiet from
 * now on. */
int probe_set_flip(struct probe_set *set, uint32_t *ret_generation);
/* Moves what CPUs hold of that generation to its rows. */
int probe_set_sweep_cells(struct probe_set *set, uint32_t generation);
/* Sends the names that changed; which: NAMES_OF_* of bpf/shared.h. */
int probe_set_sweep_names(struct probe_set *set, uint32_t which);

/* Pages whose fate is open, counted from the page state itself; the whole map is walked. */
int probe_set_count_outstanding(struct probe_set *set, uint64_t *ret_pages);
/* Forgets ghosts of pages that left when the page state is nearly full. */
int probe_set_make_room(struct probe_set *set);

struct cachemon_bpf *probe_set_skeleton(struct probe_set *set);
unsigned int probe_set_cpus(const struct probe_set *set);
/* Memory of all maps; 0: not known. */
uint64_t probe_set_map_bytes(const struct probe_set *set);

/* Runs of the programs so far, in the tasks of each job. */
int probe_set_events(struct probe_set *set, uint64_t ret_runs[JOB_NR][EV_NR]);

/* Runs of the programs that the kernel left out since the start, on the whole machine: a program on
 * a CPU that the kernel holds to be inside of it already does not run. -ENOTSUP: this kernel does
 * not count them. */
int probe_set_recursion_misses(const struct probe_set *set, uint64_t *ret_runs);

/* Average run time of the program of a role over what happens while stats are on; see
 * collector/calibrate. < 0: unknown. */
int probe_set_run_stats(struct probe_set *set, enum probe_role role, uint64_t *ret_ns,
			uint64_t *ret_runs);

#endif
