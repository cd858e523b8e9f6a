/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel/user contract: every key, value and enum that crosses between the BPF programs and
 * user space. Parses alone after <linux/types.h>-like fixed width types (kernel.bpf.h on the BPF
 * side). Owns layouts only, no behaviour. Enums are append-only: they also name columns on disk.
 */
#ifndef CACHEMON_H
#define CACHEMON_H

#ifndef __bpf__
#include <assert.h>
#include <linux/types.h>
#endif

/* Entries of the maps that have as many on every machine. */
#define NR_ROWS		8192
#define NR_NAMED	8192
#define NR_SEEDS	16384
#define NR_TASKS	8192 /* where the kernel does not keep their state */
#define NR_PARENTS	8192
#define NR_MARKS_LEFT	1024
#define NR_ADVICE	4096
#define NR_LOCKS	4096 /* more than CPUs: each holds one at a time */
#define NAME_RING_BYTES (4 << 20)

/*
 * What is counted for one (job, file) in one interval, in base pages unless the unit is in the
 * name. One place for the whole program: BPF value, sample, SQL column, report field.
 * X(name, group): the group says which probes must be live for the figure to be known
 * (account/counters.c), so that an absent probe becomes NULL and never 0.
 *
 * hits = lookups - misses and prefetched_pages = the sum of the origins are derived, never kept.
 * resident_unused is a gauge kept as a signed sum: +1 when a page is prefetched, -1 when its fate
 * is settled. With it the conservation law can be checked at any moment.
 * window_log2_K counts the windows that added [2^K, 2^(K+1)) pages.
 */
#define CACHEMON_COUNTERS(X)                                                                       \
	X(read_calls, READ)                                                                        \
	X(read_bytes, READ)                                                                        \
	X(lookups, READ)                                                                           \
	X(delayed_hits, DELAY)                                                                     \
	X(misses, WINDOW)                                                                          \
	X(demand_pages, WINDOW)                                                                    \
	X(prefetched_sync, WINDOW)                                                                 \
	X(prefetched_async, WINDOW)                                                                \
	X(prefetched_willneed, WINDOW)                                                             \
	X(prefetched_readahead2, WINDOW)                                                           \
	X(prefetched_mmap_around, WINDOW)                                                          \
	X(used, FATE)                                                                              \
	X(used_late, FATE)                                                                         \
	X(evicted_unused, FATE)                                                                    \
	X(resident_unused, FATE)                                                                   \
	X(untracked, WINDOW)                                                                       \
	X(untracked_map_full, WINDOW)                                                              \
	X(windows_sync, WINDOW)                                                                    \
	X(windows_async, WINDOW)                                                                   \
	X(windows_forced, WINDOW)                                                                  \
	X(window_log2_0, WINDOW)                                                                   \
	X(window_log2_1, WINDOW)                                                                   \
	X(window_log2_2, WINDOW)                                                                   \
	X(window_log2_3, WINDOW)                                                                   \
	X(window_log2_4, WINDOW)                                                                   \
	X(window_log2_5, WINDOW)                                                                   \
	X(window_log2_6, WINDOW)                                                                   \
	X(window_log2_7, WINDOW)                                                                   \
	X(window_log2_8, WINDOW)                                                                   \
	X(window_log2_9, WINDOW)                                                                   \
	X(window_log2_10, WINDOW)                                                                  \
	X(window_log2_11, WINDOW)                                                                  \
	X(window_log2_12, WINDOW)                                                                  \
	X(window_log2_13, WINDOW)                                                                  \
	X(window_log2_14, WINDOW)                                                                  \
	X(window_log2_15, WINDOW)                                                                  \
	X(written_pages, PAGE)                                                                     \
	X(other_added_pages, PAGE)                                                                 \
	X(evicted_reclaim_kswapd, PAGE)                                                            \
	X(evicted_reclaim_direct, PAGE)                                                            \
	X(evicted_reclaim_memcg, PAGE)                                                             \
	X(evicted_dontneed, PAGE)                                                                  \
	X(evicted_drop_caches, PAGE)                                                               \
	X(evicted_truncate, PAGE)                                                                  \
	X(evicted_direct_io, PAGE)                                                                 \
	X(evicted_other, PAGE)                                                                     \
	X(refaults, GHOST)                                                                         \
	X(refault_misses, GHOST)                                                                   \
	X(refault_distance_pages, GHOST)                                                           \
	X(refault_distance_ms, GHOST)                                                              \
	X(faults_major, FAULT)                                                                     \
	X(faults_minor, FAULT)                                                                     \
	X(mapped_pages_upper_bound, MAP)                                                           \
	X(direct_read_calls, DIRECT)                                                               \
	X(direct_read_bytes, DIRECT)                                                               \
	X(stall_ns, STALL)                                                                         \
	X(stalls, STALL)

enum counter {
#define X(name, group) C_##name,
	CACHEMON_COUNTERS(X)
#undef X
		C_NR,
};

/* Why a page left the cache: order of the evicted_* counters above. */
enum evict_cause {
	EVICT_RECLAIM_KSWAPD = 0,
	EVICT_RECLAIM_DIRECT = 1,
	EVICT_RECLAIM_MEMCG = 2,
	EVICT_DONTNEED = 3,
	EVICT_DROP_CACHES = 4,
	EVICT_TRUNCATE = 5,
	EVICT_DIRECT_IO = 6,
	EVICT_OTHER = 7,
	EVICT_NR,
};

/* Job slots. Slot 0 is everybody else on the machine, folded; slot 1 the watched job. */
enum { JOB_OTHERS = 0, JOB_WATCHED = 1, JOB_NR = 2 };

/* A file as the page cache knows it: mapping->host, not the file that was opened (overlayfs). */
struct file_key {
	__u64 ino;
	__u32 dev; /* kernel dev_t: major << 20 | minor */
	__u32 gen;
};

/* Counters of one (job, file) since the last drain. The key with ino, dev, gen all 0 is the rest:
 * what could not get a row of its own, so that job totals stay exact when the map is full. */
struct file_row_key {
	struct file_key file;
	__u32 job;
	__u32 pad;
};

enum {
	ROW_DELETED = 1 << 0, /* no name left in the filesystem when last seen */
	ROW_SIZED = 1 << 1,   /* size_bytes was seen in this interval */
	ROW_NAMED = 1 << 2,   /* looked at by the path that the job used */
};

struct file_row {
	__u64 size_bytes; /* i_size when last seen */
	__u64 size_since; /* monotonic ns when it was first seen to be that; 0: never */
	__u32 flags;
	__u32 touched; /* of a cell: a bit for each 8 counters, not 0 since it was taken */
	__s64 c[C_NR];
};

/* BLOCK_PAGES neighbouring pages of one file, added by one job. */
struct block_key {
	struct file_key file;
	__u64 block; /* (page index / BLOCK_PAGES) << 8 | job */
};

/*
 * State of a page, a bit in each word of the chunk of 64 pages that it is in:
 *   resident            in the cache, added by this job in this run
 *   outstanding         resident, prefetched, its fate not settled. Whoever clears the bit counts.
 *   mark & resident     prefetched and used: a reader that still has to wait turns it to used_late
 *   mark & ~resident    ghost: left the cache, a re-add is a refault
 * stamp_*: the last eviction in this chunk, for refault distances (chunk precision).
 */
struct chunk {
	__u64 resident;
	__u64 outstanding;
	__u64 mark;
	__u32 stamp_pages; /* job's evicted pages, modulo 2^32 */
	__u32 stamp_ms;	   /* monotonic, modulo 2^32 */
};

/* The entry of the page state map: chunks side by side, so that who goes through a file finds the
 * next one in the cache. More of them would cost small files more memory than they save. */
#define BLOCK_CHUNKS 4
#define BLOCK_PAGES  (64 * BLOCK_CHUNKS)
struct block {
	struct chunk chunks[BLOCK_CHUNKS];
	__u32 going; /* BLOCK_* */
	__u32 pad;
};

/*
 * Forgetting: what is deleted is another's memory at once, and a program may hold it. So the sweep
 * marks entries that may go, a grace period passes, and it deletes those that nobody has touched:
 * whoever looked before the mark is done, and whoever looks after it takes the mark away first.
 */
enum { BLOCK_STAYS, BLOCK_MAY_GO, BLOCK_GONE };

/* Kinds and calls of advice. Values are on disk. */
enum advice_kind {
	ADVICE_WILLNEED = 1,
	ADVICE_DONTNEED = 2,
	ADVICE_SEQUENTIAL = 3,
	ADVICE_RANDOM = 4,
	ADVICE_NORMAL = 5,
	ADVICE_NOREUSE = 6,
	ADVICE_READAHEAD = 7,
};
enum advice_call { CALL_FADVISE = 1, CALL_MADVISE = 2, CALL_READAHEAD = 3 };

struct advice_key {
	struct file_key file;
	__u16 job;
	__u8 kind;
	__u8 call;
	__u32 pad;
};

struct advice_row {
	__u64 calls;	   /* level "calls": every call; "effects": calls that moved pages */
	__u64 pages_asked; /* pages the ranges of those calls touch */
	__u64 pages_brought;
	__u64 pages_dropped;
	__u64 begin_bytes; /* lowest offset asked */
	__u64 end_bytes;   /* highest end asked; ~0 = to the end of the file */
};

/* Facts of a whole job since the start of the run. */
struct job_row {
	__u64 cpu_ns;	   /* CPU time of its tasks since they joined */
	__u64 rchar_bytes; /* bytes its tasks read from anything (task->ioac.rchar) */
	__u64 processes;   /* thread groups that belonged to it */
	__s64 alive;	   /* thread groups still alive; a CPU's share may be negative */
};

/* Where a direct read ends, as far as hooks show it: one place for each way to read so. */
enum direct_end {
	DIRECT_DONE, /* of the filesystems' common code; and where it goes on by itself: */
	DIRECT_QUEUED,
	DIRECT_BLOCK,
	DIRECT_NFS,
	DIRECT_FUSE,
};

/* Program runs, for the cost account: one slot a program. */
enum event {
	EV_READ,
	EV_ADD,
	EV_DELETE,
	EV_WINDOW, /* sync, async, order, unbounded */
	EV_FAULT,
	EV_MAP,
	EV_SWITCH,
	EV_FORK_EXIT,
	EV_DIRECT,
	EV_URING,
	EV_ADVICE_CALL, /* every syscall of the machine while it is attached */
	EV_SCOPE,	/* the ends of functions that tell why pages leave */
	EV_NR,
};

/*
 * The state of the task that runs on a CPU, kept in a per-CPU cell so that the per-read hook needs
 * no helper call; the switch hook swaps it with the task's own copy. Kernel pointers are identities
 * here, never followed by user space.
 */
struct task_state {
	/* Others than the task's own CPU change these in the stored copy. */
	__u32 job;
	__u32 counted; /* COUNTED_* of job.bpf.c; the stored copy alone is right */

	/* From here on it is the running task's, and copied as a whole. */
	__u32 flags;	 /* TASK_* of live.bpf.h */
	__u32 read_iter; /* as of struct read_now */

	/* The read call in progress or the last one. */
	__u64 read_inode;
	__u64 read_id;	    /* ioac.syscr: finished read calls of the task */
	__u64 read_begin;   /* first page asked */
	__u64 read_last;    /* last page asked, not cut at EOF */
	__u64 read_next;    /* the next event of this call is at or after it */
	__u64 read_settled; /* fates settled below this page */
	__u64 miss_first;   /* hull of the pages the call missed; first > last: none */
	__u64 miss_last;
	__u64 read_end;	     /* offset a call in parts (sendfile) asks up to; 0: not in parts */
	__u64 read_counted;  /* of a call in parts: lookups counted below this page */
	__u64 read_bytes_to; /* and bytes counted up to this offset */
	__u64 read_ahead;    /* adds in outstanding[] when its pages were last looked at */

	/* By function: what a tracepoint does not tell of the call. */
	__u64 read_iocb; /* of an asynchronous one; 0: it is not */
	__u64 read_at;	 /* offset at its last event */
	__u64 read_upto; /* offset it asks up to */
	__u64 read_wait; /* 1 + page it was last seen to wait for; 0: none */
	struct file_key read_file;

	/* The readahead window being filled. */
	__u64 win_inode;
	__u32 win_kind;
	__u32 win_origin;
	__u64 win_id;
	__u64 win_lo; /* asked for by the call or fault: demand; lo > hi: nothing was */
	__u64 win_hi;
	__u64 win_pages;

	/* The last fault of a file mapping. */
	__u64 fault_inode;
	__u64 fault_id; /* min_flt + maj_flt when it began */
	__u64 fault_maj;
	__u64 fault_index;
	struct file_key fault_file;

	/* Waiting for I/O. */
	__u64 sleep_start_ns;
	__u64 stall_ns; /* slept in the call or fault stall_id, not charged yet */
	__u64 stall_id;
	__u32 stalls;
	__u32 stall_kind;

	/* The last cause found by a costly look, and what it was found for. */
	__u64 cause_id;
	__u32 cause;
	__u32 reclaim; /* inside a reclaim scope: whose */
	__u32 scope;   /* 1 + cause of what is deleted inside a function that does nothing else */
	__u32 pad2;
	__u64 advice_id;

	/* The direct read that has begun; direct_iocb 0: none. */
	__u64 direct_iocb;
	__u64 direct_bytes;  /* asked, cut at EOF */
	__u64 direct_before; /* read by the same call before this began */

	__u64 runtime_ns; /* CPU time and bytes read, as far as they are charged to the job */
	__u64 rchar_bytes;
};

#define NR_URING 4096 /* a power of two, in sets of URING_WAYS: reads in flight that hash alike */

/*
 * Reads submitted to io_uring, by process and last page: they are issued by the submitter, by task
 * work or by a worker, and only their range tells which one an event is about.
 */
struct uring_read {
	__u64 pos, end; /* bytes asked */
	__u64 mapping;	/* 0: not known */
	__u64 tick;	/* when one was last submitted or counted */
	__u32 tgid;
	__u32 state;   /* generation << 16 | submitted, not counted yet; CPUs change it at once */
	__u32 read_on; /* as it was: what an earlier look left over is of no meaning */
	__u32 pad;     /* for order_reads() */
};
#define URING_TAKEN 0xffff /* not a number: somebody fills it */

/* What a CPU has counted for one file in this generation and not added to its row yet. */
struct cell {
	__u64 inode; /* 0: free */
	struct file_key file;
	struct file_row row;
};

/* Cells of a CPU in each generation: files of the job by inode number, and everybody else. */
#define CELLS_FILES 8
enum { CELL_OTHERS = CELLS_FILES, CELLS_NR };

/*
 * Whole reads of the file that the running task of the job reads, in front of its cell: a read of
 * cached pages touches no more memory than it must. One a CPU; those beyond NR_TALLY_CPUS have
 * none, and look at each read.
 */
#define NR_TALLY_CPUS 1024
struct tally {
	__u64 mapping; /* whose reads it takes; 0: the next one is to be looked at */
	__u64 word;    /* where in outstanding[] its file's word is, in bytes */
	__u64 quiet;   /* that word as long as reads may be taken */
	__u64 regs;    /* the task's user registers */
	__u64 whole;   /* pages that the file fills */
	__u64 read_calls;
	__u64 read_bytes;
	__u64 lookups; /* beside one for each call */

	__u64 inode; /* whose these counts are; 0: nobody's */
	struct file_key file;
	__u32 generation; /* TALLY_*: of the rows they belong to */
	__u32 pad;
	__u64 runs; /* of the per-read hook for reads that were flushed, since the start */

	/* By function: the last call that was taken. call_end 0: the task's state has it. */
	__u64 call_id;
	__u64 call_pos;
	__u64 call_end;
};

/* Of a generation that ended it is the sweep's, until that gives it back. */
enum { TALLY_FREE, TALLY_A, TALLY_B };

/* A read call as a function shows it: what it has still to read. */
struct read_now {
	__u64 iocb; /* of an asynchronous one; 0: it is not */
	__u64 pos;
	__u64 end; /* 0: the event does not tell the call's bytes */
	__u32 retry;
	__u32 iter; /* where on the task's stack it says what is left; 0: not known */
};

struct live {
	__u64 task; /* whose state this is */
	__u64 regs; /* its user registers; 0 for a kernel thread */
	__u32 epoch;
	__u32 pad;		   /* for order_reads() and order_writes() */
	struct task_state s;	   /* what each read needs comes first */
	__u64 scratch;		   /* turns a typed pointer into a plain address */
	__u64 runs[JOB_NR][EV_NR]; /* program runs in the tasks of each job, beside tallies */
	struct read_now now;
	__u32 moves; /* shared.moves when it was last refreshed for these */
	__u32 pad2;
};

/*
 * A name record in the ring buffer: the components of a path from the leaf to the root, each
 * NUL-terminated; data_len bytes of them. Incomplete walks keep what was read.
 */
enum {
	NAME_UNLINKED = 1 << 0,	 /* the file has no link left */
	NAME_NO_MOUNT = 1 << 1,	 /* no mount leads there: the path starts at the fs root */
	NAME_TRUNCATED = 1 << 2, /* deeper or longer than the record */
	NAME_BLOCK_DEVICE = 1 << 3,
	NAME_NONE = 1 << 4, /* no dentry at all */
};

#define NAME_DATA_MAX 8192 /* more than any path that a call takes */
struct name_record {
	struct file_key file;
	__u32 tgid;
	__u32 flags;
	__u32 data_len;
	__u32 rdev; /* block devices: the device itself */
	char fstype[16];
	char data[NAME_DATA_MAX];
};

/* Where a file's name was read and what it was, to tell when it is another. The addresses are
 * identities: the dentry still names the file when its inode is the one it was. */
struct name_seen {
	__u64 signature;
	__u64 dentry;
	__u64 mount; /* struct mount; 0: none is known */
	__u64 inode; /* the dentry's; on overlayfs not the file's own */
	__u64 inode_id;
	__u32 tgid;
	__u32 pad;
};

/* A walk from a dentry to the root, and the record it fills. In a map and not on the stack: there
 * the verifier would follow each value of off through the loop. */
struct name_work {
	__u64 dentry;
	__u64 mount;	 /* struct mount; 0: stay inside the filesystem */
	__u64 signature; /* of all that makes the path */
	__u32 off;
	__u32 flags; /* NAME_* */
	__u8 copy;   /* components into the record, not the signature alone */
	__u8 crossed;
	__u8 done;
	struct file_key key; /* what is looked for */
	struct name_seen seen;
	struct name_record rec;
};

/* What sweep_names looks at. */
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
};

/* What was lost, and why. All zero in a good run. */
struct loss_counts {
	__u64 map_full;	   /* times a file found no room for a row, and the rest took its counts */
	__u64 chunk_full;  /* adds to a chunk whose block found no room */
	__u64 ring_drops;  /* name records dropped; the file is named at its next interval */
	__u64 state_drops; /* tasks that got no state: their events are not counted */
	__u64 ghosts_dropped; /* ghost pages forgotten to make room: refaults are a lower bound */
	__u64 advice_full;
};

/*
 * Pages with an unsettled fate, by hash of the inode: the hit path looks up no chunk while the
 * inode's slot has none. Slots are shared by inodes; a collision costs a lookup, never a count. The
 * high half counts the adds, and whatever leaves the cache: who looked at a range already need not
 * look again until it moves, and the file is still the one that it was.
 */
#define NR_OUTSTANDING	16384
#define OUTSTANDING_ADD (1ull << 32)

/* Variables that programs and user space share while it runs. */
struct shared {
	volatile __u32 epoch; /* 0: not started. A change makes each CPU look at its task again */
	volatile __u32 seeds_missed; /* tasks the last seeding found no memory for */
	volatile __u32 seeding;	     /* the job's processes are looked for: parents are noted */
	volatile __u32 sweeping;     /* entries of the page state are being forgotten */
	volatile __u32 calibrating;  /* the job is who was seeded, whatever it will be */
	volatile __u32 read_on;	     /* 0, or how often the per-read hook was attached: it is now */
	volatile __u32 rows_used;    /* rows taken in the active generation */
	volatile __u32 blocks_used;
	volatile __u32 regs_offset; /* of a task's user registers on its stack; 0: not seen yet */
	volatile __u32 direct_ends; /* 1 << enum direct_end: ends that are seen */
	volatile __u32 sweep_arg;   /* of a sweep that is an iterator, and what it returns */
	volatile __u32 moves; /* of tasks between cgroups, where these do not move the epoch */
	__u64 sweep_sum;
	struct loss_counts losses;
	__u32 evicted_pages;   /* the job's, modulo 2^32: the clock of refault distances */
	__u32 truncated_pages; /* those that were not evicted but went with their file's end */

	/* Last: what is near the front is reached by less code. */
	__u64 outstanding[NR_OUTSTANDING];
};

/* What programs are told before they are loaded. */
struct config {
	__u32 page_shift;
	__u32 own_tgid;	     /* cachemon itself is never of the job */
	__u32 job_by_cgroup; /* 0: by fork; 1: cgroup v2; 2: v1 memory */
	__u32 job_cgroup_level;
	__u64 job_cgroup_id;
	__u32 advice_by_calls;	/* advice_call_tp counts the calls */
	__u32 reads_by_call;	/* the per-read hook is a function: see struct read_now */
	__u32 truncation_moves; /* the file's word moves before its size is used: see truncate */
	__u32 preemptible;	/* a task may be switched out inside of a program */
	__u32 nr_cpus;
	__u64 sym_fadvise[2];	  /* address ranges of kernel functions, for the */
	__u64 sym_invalidate2[2]; /* causes only a stack can tell */
	__u64 sym_drop_caches[2];
};

_Static_assert(sizeof(struct file_key) == 16, "file_key");
_Static_assert(sizeof(struct file_row_key) == 24, "file_row_key");
_Static_assert(C_NR <= 8 * 32, "a bit of touched for each 8 counters");
_Static_assert(sizeof(struct block_key) == 24, "block_key");
_Static_assert(sizeof(struct tally) == 128, "tally: found by a shift");
_Static_assert(sizeof(struct block) == 136, "block: 48 + 24 + 136 + 16 bytes an entry");
_Static_assert(sizeof(struct advice_key) == 24, "advice_key");

#endif
