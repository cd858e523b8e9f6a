/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between programs and user space: constants set before loading, variables during the run,
 * and arguments of programs that user space runs. Owns layouts only.
 */
#ifndef CACHEMON_SHARED_H
#define CACHEMON_SHARED_H

#include "bpf/live.h"

/* The number of pages with an open fate, by hash of the inode: while it is 0, the hit path looks up
 * no chunk. Inodes share slots; a collision costs a lookup, never a wrong count. The high half
 * counts adds and evictions: until it changes, a checked range need not be checked again, and the
 * file is still the same. */
#define NR_OUTSTANDING	16384
#define OUTSTANDING_ADD (1ull << 32)

/* The number of files that the job uses, by hash of the inode number. */
#define NR_USED_FILES 65536

/* The number of the job's tasks by hash of the task: if it is 0, no event has shown the task to be
 * in the job. A collision only costs a longer path. */
#define NR_MEMBERS 16384

/* The sample of references; bpf/references.h. The running CPU's tally has its own copy of the
 * bound, which may be older. */
struct reference_state {
	__u64 bound;   /* hashes up to it are in the sample; 0: none is */
	__u64 looked;  /* pages whose `looked` bit was set */
	__u64 dropped; /* references that did not fit: the sample is broken */
	__u32 came;    /* references not yet subtracted, at the long-run rate per second */
	__u32 pages;   /* entries in the map of pages; user space subtracts those that it deletes */
};

/* A pid namespace: its depth, and its identity. Level 0 is the kernel's own numbering. */
struct pid_view {
	__u64 ns;
	__u32 level;
	__u32 pad;
};

/* A slot of many jobs: its job's id, 0: none; and that job's evictions, modulo 2^32. */
struct job_slot {
	volatile __u32 job;
	__u32 evicted_pages;
	__u32 of_root; /* a process of its tree that gains privileges stays in it */
	__u32 pad;
};

/* Variables that programs and user space share while it runs. */
struct shared {
	volatile __u32 epoch; /* 0: not started. A change makes each CPU check its task again */
	volatile __u32 seeds_missed; /* tasks without memory at the last seeding */
	volatile __u32 seeds_found;  /* tasks that the last seeding added to the job */
	volatile __u32 listing;	     /* the iterator only records in parents which processes belong
				      * to the job */
	volatile __u32 seeding;	     /* the job's processes are being found: parents are recorded */
	volatile __u32 sweeping;     /* entries of the page state are being deleted */
	volatile __u32 calibrating;  /* only the seeds are the job for now, whatever its kind */
	volatile __u32 read_on;	     /* 0, or how often the per-read hook was switched on, while it
				      * counts */
	volatile __u32 rings_unseen; /* the job waited for a ring while the hook was off */
	volatile __u32 rows_used;    /* rows in use in the active generation */
	volatile __u32 blocks_used;
	volatile __u32 regs_offset; /* offset of a task's user registers on its stack; 0: unknown */
	volatile __u32 direct_ends; /* 1 << enum direct_end: visible ends */
	volatile __u32 sweep_arg;   /* argument and result of a sweep that is an iterator */
	volatile __u32 moves; /* moves of tasks between cgroups, if these do not change the epoch */
	__u32 own_tgid; /* kernel's pid: cachemon itself never belongs to the job. 0: unknown */
	__u32 proc_levels_up;	  /* levels from cachemon's pid namespace up to that of its /proc */
	struct pid_view own_pids; /* namespace of the ids in seeds and parents */
	struct pid_view proc_pids; /* namespace of the ids in names */
	__u64 sweep_sum;
	struct loss_counts losses;
	struct reference_state references;
	__u32 evicted_pages;	      /* evictions of the job's pages, modulo 2^32: the clock of
				       * refault distances */
	__u32 truncated_pages;	      /* removed with the end of their file, not evicted */
	volatile __u32 evictors_used; /* entries in use in the active generation */
	volatile __u32
		evictors_shed; /* evictors are not recorded: all pages count in evictors_full */
	__u32 pad;
	__u64 evictors_full[EVICT_NR]; /* pages whose evictor got no entry */
	__u64 adders_full;	       /* pages of others whose adder got no entry */

	/* Fields near the front take less code to reach. */
	__u64 outstanding[NR_OUTSTANDING];
	__u8 used_files[NR_USED_FILES];
	struct trace_shared tracing;

	/* Many jobs at once. */
	volatile __u32 job_table; /* never 0; a change makes the job of each task unknown */
	volatile __u32 slots_end; /* after the highest slot in use */
	__u32 trees_begun;	  /* by tasks that the seed iterator found */
	__u32 trees_taken;	  /* such tasks that another job has */
	struct job_slot slots[NR_SLOTS];
};

/* A task's cgroup and those above it are searched for its job: this many. */
#define JOB_LEVELS 16

/* Functions that end a bio, for tasks that wait for one and for direct reads of block devices:
 * their addresses; 0: not needed. */
enum { BIO_END_WAIT, BIO_END_DEVICE, BIO_END_DEVICE_ASYNC, BIO_END_NR };

/* How a task is known to be the job's: by fork, or by its cgroup in a hierarchy: v2, or that of a
 * v1 controller. */
enum {
	JOB_BY_FORK,
	JOB_BY_V2,
	JOB_BY_MEMORY,
	JOB_BY_FREEZER,
	JOB_BY_CPUSET,
	JOB_BY_CPUACCT,
	JOB_BY_PIDS,
};

/* Constants set before the programs are loaded. */
struct config {
	__u32 page_shift;
	__u32 job_by_cgroup;   /* JOB_BY_* */
	__u32 job_hierarchies; /* many jobs: 1 << JOB_BY_* of their cgroups; 0: one job */
	__u32 job_cgroup_level;
	__u64 job_cgroup_id;
	__u32 advice_by_calls;	/* advice_call_tp counts the calls */
	__u32 reads_by_call;	/* the per-read hook is a function: see struct read_now */
	__u32 truncation_moves; /* the file's word changes before its size is used: see truncate */
	__u32 preemptible;	/* the kernel may switch tasks inside a program */
	__u32 nr_cpus;
	__u64 sym_fadvise[2];	  /* address ranges of kernel functions, for */
	__u64 sym_invalidate2[2]; /* causes that only a stack shows */
	__u64 sym_drop_caches[2];
	__u64 sym_fallocate[2];
	__u64 sym_unmap[2]; /* folio_unmap_invalidate(), since 6.14; 0: none */
	__u64 bio_ends[BIO_END_NR];
};

/* While the job's processes are being found: the process ids of a process's parent, and of its
 * oldest known ancestor, whose fork was not seen (the process itself, if it was recorded as a
 * parent). */
struct seed_note {
	__u32 parent;
	__u32 line;
};

/* The range of sweep_names. */
enum { NAMES_OF_ROWS_A, NAMES_OF_ROWS_B, NAMES_OF_ALL };
struct sweep_names_args {
	__u32 which;
};

/* Marks entries that may be dropped, or drops those that are still marked. */
struct sweep_ghosts_args {
	__u32 drop;
};

struct sweep_cells_args {
	__u32 nr_cpus;
	__u32 generation;
};

/* CPU time and reads of running tasks since they were last charged: sweep_charges. */
struct sweep_charges_args {
	__u32 nr_cpus;
	__u32 slot; /* many jobs: of this one */
	__u64 cpu_ns;
	__u64 rchar_bytes;
	__u64 syscr_calls;
	struct activity activity;
};

#endif
