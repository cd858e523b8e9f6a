/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loaded probes: applies a probe plan through libbpf. Owns the skeleton and every link. Records
 * the kernel's rejections in the plan. The process's exit closes everything: nothing is pinned, so
 * nothing outlives a kill.
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

struct cachemon_maps_bpf;
struct probe_set;

/* The embedded ELF file of a build, and the one that has only its maps and variables. All builds
 * have the same programs, maps and variables. */
const void *probe_set_object(enum probe_build build, size_t *ret_size);
const void *probe_set_maps(enum probe_build build, size_t *ret_size);

struct probe_set_config {
	const struct kernel_caps *caps; /* inputs of the plan */
	uint64_t ram_bytes;
	unsigned int nr_cpus;
	const struct cgroup_ref *cgroup; /* NULL: the job is a tree of processes */
	/* Many jobs at once: how many, and 1 << enum cgroup_kind of their cgroups; 0: one job. */
	unsigned int jobs, job_hierarchies;
	bool advice_calls;
	uint64_t block_entries; /* 0: by memory; tests take tiny ones */
	uint64_t row_entries;
};

/* Opens, sizes, loads and attaches what the plan chose; not started. */
int probe_set_new(const struct probe_set_config *config, struct probe_plan *plan,
		  struct probe_set **ret, struct errtext *err);
/* Detaches everything; NULL is fine. The maps stay readable after probe_set_detach(). */
void probe_set_detach(struct probe_set *set);
void probe_set_free(struct probe_set *set);

/* Counting begins. */
void probe_set_start(struct probe_set *set);
/* Nothing is counted after it returns. */
void probe_set_stop(struct probe_set *set);

/* Switches the per-read hook on or off, for slices. Off gives up the fates of outstanding pages. */
int probe_set_reads(struct probe_set *set, bool on);
bool probe_set_reads_on(const struct probe_set *set);
/* Whether the job waited for a ring of io_uring, perhaps for a read, while the hook was off. */
bool probe_set_rings_unseen(const struct probe_set *set);
/* Switches the hook of an occasional role on or off: of reads, as above; of all advice calls,
 * for calibration; of the addresses of all faults of the machine, while files are traced.
 * -ENOTSUP: not in the plan. */
int probe_set_hook(struct probe_set *set, enum probe_role role, bool on);
/* Whether programs record evictors; on at first. While off, evicted pages have no evictor, as if
 * there were no room to record one. */
void probe_set_evictors(struct probe_set *set, bool on);

/* Adds running processes (and later children) to the job; ids are those of cachemon's own pid
 * namespace. With a cgroup tgids may be NULL. -ESRCH: the kernel shows none of them. */
int probe_set_seed(struct probe_set *set, const pid_t *tgids, size_t nr, struct errtext *err);

/* For a running process tree. While on, children of named seeds are named too; for any other
 * process that is forked or ends, its parent is recorded. */
int probe_set_note_parents(struct probe_set *set, bool on);
/* The records so far; the caller frees the array. */
int probe_set_parents(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr);
/* Names processes; probe_set_seed() adds them to the job. Afterwards the parents of all
 * processes that they had forked are recorded. *ret_new: how many were not named before. -E2BIG:
 * too many. */
int probe_set_name_seeds(struct probe_set *set, const pid_t *tgids, size_t nr, size_t *ret_new);

/* Processes of the job that are alive, for a tree that was found without records of parents; the
 * caller frees the array. */
int probe_set_members(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr);

/* Tasks that got no state since the last seeding began, because memory was short. */
unsigned int probe_set_seeds_missed(struct probe_set *set);

/* Many jobs: tasks in these cgroups and below them belong to the job in that free slot from their
 * next event on. probe_set_seed() adds the processes that are there already. */
int probe_set_job_begin(struct probe_set *set, uint32_t slot, const struct cgroup_ref *cgroups,
			size_t nr, struct errtext *err);
/* The same for further cgroups of the job in that slot. */
int probe_set_job_join(struct probe_set *set, uint32_t slot, const struct cgroup_ref *cgroups,
		       size_t nr, struct errtext *err);
/* The same for a running process and its later descendants, unless a cgroup of another job has
 * them. of_root: otherwise a process that gains privileges by its program leaves the job. -EBUSY:
 * another job has it; -ESRCH: the kernel does not show it, or it has ended. */
int probe_set_job_tree(struct probe_set *set, uint32_t slot, pid_t tgid, bool of_root,
		       struct errtext *err);
/* No task belongs to the job afterwards, and nothing is counted for it after a grace period. After
 * a failure it can be tried again. */
int probe_set_job_end(struct probe_set *set, uint32_t slot);
/* Forgets the pages of jobs that have ended. Their slots may be used again, once they are drained.
 */
int probe_set_sweep_ended(struct probe_set *set);

/* Creates the rest row of each job in a map of rows; call it before its generation is written. */
int probe_set_rest_rows(struct probe_set *set, int fd);
/* CPU time and reads of running tasks of the job in a slot that are not charged yet. */
int probe_set_uncharged(struct probe_set *set, uint32_t slot, struct sweep_charges_args *ret);
/* Switches to the other generation of rows; *ret_generation: the quiet one to drain, 0 is a. */
int probe_set_flip(struct probe_set *set, uint32_t *ret_generation);
/* Moves that generation's counts from the CPUs to its rows. */
int probe_set_sweep_cells(struct probe_set *set, uint32_t generation);
/* Sends changed names; which: NAMES_OF_* of bpf/shared.h. */
int probe_set_sweep_names(struct probe_set *set, uint32_t which);

/* Pages of open fate, counted from the page state itself by a walk over the map. */
int probe_set_count_outstanding(struct probe_set *set, uint64_t *ret_pages);
/* Drops ghosts of evicted pages when the page state is nearly full. */
int probe_set_make_room(struct probe_set *set);

struct cachemon_maps_bpf *probe_set_skeleton(struct probe_set *set);
unsigned int probe_set_cpus(const struct probe_set *set);
/* Memory of all maps; 0: unknown. */
uint64_t probe_set_map_bytes(const struct probe_set *set);

/* Runs of the programs so far, in the tasks of each job. */
int probe_set_events(struct probe_set *set, uint64_t ret_runs[JOB_NR][EV_NR]);

/* Program runs that the kernel skipped since the start, on the whole machine: a CPU does not run
 * a program that it is already running. -ENOTSUP: this kernel does not count them. */
int probe_set_recursion_misses(const struct probe_set *set, uint64_t *ret_runs);

/* Average run time of a role's program while stats are on; see collector/calibrate. < 0:
 * unknown. */
int probe_set_run_stats(struct probe_set *set, enum probe_role role, uint64_t *ret_ns,
			uint64_t *ret_runs);

#endif
