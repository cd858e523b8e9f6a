/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between programs and user space: constants set before loading, variables during the
 * run, and arguments of programs that user space runs. Owns layouts only.
 */
#ifndef CACHEMON_SHARED_H
#define CACHEMON_SHARED_H

#include "bpf/live.h"

/*
 * Pages with an unsettled fate, by hash of the inode: the hit path looks up no chunk while the
 * inode's slot has none. Slots are shared by inodes; a collision costs a lookup, never a count. The
 * high half counts the adds, and whatever leaves the cache: who looked at a range already need not
 * look again until it moves, and the file is still the one that it was.
 */
#define NR_OUTSTANDING	16384
#define OUTSTANDING_ADD (1ull << 32)

/* Files that the job uses, by hash of the inode number; 0: none of them. */
#define NR_USED_FILES 65536

/* How many tasks of the job hash alike: a task whose slot has none is of no job, as far as any
 * event has shown. More than there are cost a longer way. */
#define NR_MEMBERS 16384

/* The sample of references; bpf/references.h. The running CPU's tally has its own copy of the
 * bound, which may be older. */
struct reference_state {
	__u64 bound;   /* hashes up to it are in the sample; 0: none is */
	__u64 looked;  /* pages whose bit of that name was set */
	__u64 dropped; /* references that found no room: the sample is broken */
	__u32 came;    /* and not yet taken off, as many a second as may come in the long run */
	__u32 pages;   /* in the map of pages; user space takes out what it deletes */
};

/* A pid namespace: how deep it is, and which. At level 0 it is the kernel's own numbering. */
struct pid_view {
	__u64 ns;
	__u32 level;
	__u32 pad;
};

/* Variables that programs and user space share while it runs. */
struct shared {
	volatile __u32 epoch; /* 0: not started. A change makes each CPU look at its task again */
	volatile __u32 seeds_missed; /* tasks the last seeding found no memory for */
	volatile __u32 seeds_found;  /* tasks it took into the job */
	volatile __u32 listing;	     /* the iterator only notes in parents who is in the job */
	volatile __u32 seeding;	     /* the job's processes are looked for: parents are noted */
	volatile __u32 sweeping;     /* entries of the page state are being forgotten */
	volatile __u32 calibrating;  /* the job is who was seeded, whatever it will be */
	volatile __u32 read_on;	     /* 0, or how often the per-read hook was attached: it is now */
	volatile __u32 rings_unseen; /* the job waited for a ring while it was not */
	volatile __u32 rows_used;    /* rows taken in the active generation */
	volatile __u32 blocks_used;
	volatile __u32 regs_offset; /* of a task's user registers on its stack; 0: not seen yet */
	volatile __u32 direct_ends; /* 1 << enum direct_end: ends that are seen */
	volatile __u32 sweep_arg;   /* of a sweep that is an iterator, and what it returns */
	volatile __u32 moves; /* of tasks between cgroups, where these do not move the epoch */
	__u32 own_tgid;	      /* by the kernel: cachemon itself is never of the job. 0: unknown */
	__u32 proc_levels_up; /* from cachemon's pid namespace to that of its /proc */
	struct pid_view own_pids;  /* of seeds and parents */
	struct pid_view proc_pids; /* of names */
	__u64 sweep_sum;
	struct loss_counts losses;
	struct reference_state references;
	__u32 evicted_pages;	      /* the job's, modulo 2^32: the clock of refault distances */
	__u32 truncated_pages;	      /* those not evicted, whose file ended */
	volatile __u32 evictors_used; /* entries taken in the active generation */
	volatile __u32 evictors_shed; /* nobody is noted: all are as those that found no entry */
	__u32 pad;
	__u64 evictors_full[EVICT_NR]; /* pages whose evictor found no entry */
	__u64 adders_full;	       /* pages of others whose adder found none */

	/* Fields near the front take less code to reach. */
	__u64 outstanding[NR_OUTSTANDING];
	__u8 used_files[NR_USED_FILES];
	struct trace_shared tracing;
};

/* Functions that end a bio: of whoever waits for one, and of direct reads of block devices. Where
 * they are; 0: nothing looks for them. */
enum { BIO_END_WAIT, BIO_END_DEVICE, BIO_END_DEVICE_ASYNC, BIO_END_NR };

/* Constants set before the programs are loaded. */
struct config {
	__u32 page_shift;
	__u32 job_by_cgroup; /* 0: by fork; 1: cgroup v2; 2: v1 memory */
	__u32 job_cgroup_level;
	__u64 job_cgroup_id;
	__u32 advice_by_calls;	/* advice_call_tp counts the calls */
	__u32 reads_by_call;	/* the per-read hook is a function: see struct read_now */
	__u32 truncation_moves; /* the file's word moves before its size is used: see truncate */
	__u32 preemptible;	/* a task may be switched out inside of a program */
	__u32 nr_cpus;
	__u64 sym_fadvise[2];	  /* address ranges of kernel functions, for the */
	__u64 sym_invalidate2[2]; /* causes that only a stack shows */
	__u64 sym_drop_caches[2];
	__u64 sym_fallocate[2];
	__u64 sym_unmap[2]; /* folio_unmap_invalidate(), since 6.14; 0: none */
	__u64 bio_ends[BIO_END_NR];
};

/* While the job's processes are looked for: whose child a process is, and the first of its line,
 * which nobody was seen to fork: itself, where it was noted as somebody's parent. Process ids. */
struct seed_note {
	__u32 parent;
	__u32 line;
};

/* The range of sweep_names. */
enum { NAMES_OF_ROWS_A, NAMES_OF_ROWS_B, NAMES_OF_ALL };
struct sweep_names_args {
	__u32 which;
};

/* Marks what may be forgotten, or drops what is marked still. */
struct sweep_ghosts_args {
	__u32 drop;
};

struct sweep_cells_args {
	__u32 nr_cpus;
	__u32 generation;
};

/* What running tasks of the job used and read since they were last charged: sweep_charges. */
struct sweep_charges_args {
	__u32 nr_cpus;
	__u32 pad;
	__u64 cpu_ns;
	__u64 rchar_bytes;
	__u64 syscr_calls;
};

#endif
