/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel/user contract: every key, value and enum that crosses between the BPF programs and
 * user space; live.h, names.h and shared.h have the rest. Needs only fixed width types as of
 * <linux/types.h> (kernel.bpf.h on the BPF side). Owns layouts only, no behaviour. Enums are
 * append-only: they also name columns on disk.
 */
#ifndef CACHEMON_H
#define CACHEMON_H

#ifndef __bpf__
#include <assert.h>
#include <linux/types.h>
#endif

/* Sizes of the maps that are the same on every machine. */
#define NR_ROWS		8192
#define NR_NAMED	8192
#define NR_SEEDS	16384
#define NR_TASKS	8192 /* for kernels without task storage */
#define NR_PARENTS	8192
#define NR_MARKS_LEFT	1024
#define NR_ADVICE	4096
#define NR_EVICTORS	4096
#define NR_WAITS	2048 /* files that the job waited for in an interval */
#define NR_ADDERS	1024
#define NR_PROCESSES	4096 /* processes that waited or read in one interval */
#define NR_JOB_CGROUPS	4096
#define NR_LOCKS	4096 /* more than CPUs: each CPU holds one at a time */
#define NAME_RING_BYTES (4 << 20)

/*
 * The counters of one (job, file) in one interval, in base pages unless the name has a unit. The
 * only list in the program: BPF value, sample, SQL column, report field. X(name, group): the group
 * says which probes must be live for the figure to be known (cachemon/figures/counters.h), so that
 * an absent probe gives NULL and never 0. hits = lookups - misses and prefetched_pages = the sum of
 * the origins are derived, never stored. resident_unused is a gauge stored as a signed sum: +1 when
 * a page is prefetched, -1 when its fate is settled. So the conservation law can be checked at any
 * moment. window_log2_K counts the windows that added [2^K, 2^(K+1)) pages.
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
	X(evicted_invalidate, PAGE)                                                                \
	X(evicted_dontcache, PAGE)                                                                 \
	X(evicted_not_added, PAGE)                                                                 \
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
	C_evicted_first = C_evicted_reclaim_kswapd,
	C_evicted_last = C_evicted_dontcache,
};

/* Why a page was evicted, in the order of the evicted_* counters above. Values are on disk. */
enum evict_cause {
	EVICT_RECLAIM_KSWAPD = 0,
	EVICT_RECLAIM_DIRECT = 1,
	EVICT_RECLAIM_MEMCG = 2,
	EVICT_DONTNEED = 3,
	EVICT_DROP_CACHES = 4,
	EVICT_TRUNCATE = 5,
	EVICT_DIRECT_IO = 6,
	EVICT_OTHER = 7,
	EVICT_INVALIDATE = 8, /* the filesystem considered it stale */
	EVICT_DONTCACHE = 9,  /* read or written with RWF_DONTCACHE */
	EVICT_NR,
};

/*
 * Bucket b of a wait histogram counts the sleeps of at least 2^(b + WAIT_SHIFT) ns and less than
 * twice that. The first bucket also counts shorter sleeps, the last one longer sleeps. These values
 * are on disk: counter_wait_ns().
 */
enum { WAIT_SHIFT = 10, WAIT_BUCKETS = 24 };

/* Sleeps of the job's tasks for a file since the last drain, by length. */
struct wait_row {
	__u32 sleeps[WAIT_BUCKETS];
};

/*
 * Job slots. Slot 0 is all processes outside jobs, together. A run of one job has it in slot 1.
 * With many jobs at once, a slot is used again after its job has ended, so a job's id is more than
 * its slot: the upper half differs each time. With one job the id is the slot.
 */
enum { JOB_OTHERS = 0, JOB_WATCHED = 1, JOB_NR = 2, NR_SLOTS = 256 };
#define JOB_SLOT 0xffu /* a mask of a job's id, whose second byte is 0 */

/* Many jobs at once: a cgroup whose tasks belong to a job. The value is the job's id. */
struct job_cgroup {
	__u64 id;	 /* kernfs id, unique in its hierarchy */
	__u32 hierarchy; /* JOB_BY_* */
	__u32 pad;
};

/* A file as the page cache identifies it: mapping->host, not the opened file (overlayfs). */
struct file_key {
	__u64 ino;
	__u32 dev; /* kernel dev_t: major << 20 | minor; on btrfs that of the subvolume */
	__u32 gen;
};

/* Counters of one (job, file) since the last drain. The key with ino, dev and gen all 0 is the
 * rest: files that got no row, so that job totals stay exact when the map is full. */
struct file_row_key {
	struct file_key file;
	__u32 job;
	__u32 pad;
};

enum {
	ROW_DELETED = 1 << 0, /* the file had no name left when last seen */
	ROW_SIZED = 1 << 1,   /* size_bytes was seen in this interval */
	ROW_NAMED = 1 << 2,   /* named by the path that the job used */
};

struct file_row {
	__u64 size_bytes; /* i_size when last seen */
	__u64 size_since; /* monotonic ns when i_size was first seen with this value; 0: never */
	__u32 flags;
	__u32 touched; /* in a cell: a bit for each 8 counters that changed in it */
	__s64 c[C_NR];
};

/* BLOCK_PAGES neighbouring pages of one file, added by one job. */
struct block_key {
	struct file_key file;
	/* (page index / BLOCK_PAGES) << 8 | slot. With many jobs at once, slot 0 is the block's
	 * first entry, whose owner the entry names; each further owner has an entry of its slot. */
	__u64 block;
};

/*
 * State of a page, a bit in each word of the chunk of 64 pages that it is in:
 *   resident            in the cache, added by this job in this run
 *   outstanding         resident, prefetched, its fate not settled. The one that clears it counts.
 *   mark & resident     prefetched and used: a reader that still has to wait turns it to used_late
 *   mark & ~resident    ghost: left the cache, a re-add is a refault
 *   advised & resident  prefetched by advice, by the kinds of call in advisers
 *   advised & ~resident ghost: dropped by the job's own advice
 *   looked              a read call of the job requested it, and its add or its first use was seen;
 *                       kept when it leaves; only while references are sampled
 * stamp_*: the last eviction in this chunk, for refault distances (chunk precision).
 */
struct chunk {
	__u64 resident;
	__u64 outstanding;
	__u64 mark;
	__u64 advised;
	__u64 looked;
	__u32 stamp_pages; /* job's evicted pages, modulo 2^32 */
	__u32 stamp_ms;	   /* monotonic, modulo 2^32 */
};

/* The entry of the page state map. Its chunks are adjacent, so that a program that walks a file
 * finds the next one in the CPU's cache. More chunks per entry would waste memory on small
 * files. */
#define BLOCK_CHUNKS 4
#define BLOCK_PAGES  (64 * BLOCK_CHUNKS)
struct block {
	struct chunk chunks[BLOCK_CHUNKS];
	__u32 going; /* BLOCK_* */
	union {
		__u32 advisers; /* ADVISER_*, 8 bits per chunk: the kinds of advice that ever
				   prefetched a page of it */
		__u32 owner;	/* many jobs: the owner's id, 0: none; and OWNER_MORE for each
				   further entry of the block */
	};
};

/* In the second byte of a first entry's owner. */
#define OWNER_MORE  0x100u
#define OWNER_MORES 0xff00u

/* Advice that brings in pages. If two kinds brought in pages of a chunk, their fates there cannot
 * be separated. */
enum { ADVISER_FADVISE = 1, ADVISER_MADVISE = 2, ADVISER_READAHEAD = 4, ADVISER_BITS = 3 };

/* Deleting entries: the memory of a deleted element is reused at once, while a program may still
 * use it. So the sweep marks the entries to delete, waits for a grace period, and deletes those
 * that are still marked. A program that found an entry before the mark has ended by then; one that
 * finds it later clears the mark first. */
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
	__u64 pages_asked; /* pages in the ranges of those calls */
	__u64 pages_brought;
	__u64 pages_dropped;
	__u64 begin_bytes; /* lowest requested offset */
	__u64 end_bytes;   /* highest requested end; ~0 = to the end of the file */

	/* Fates of the pages it brought in; with the unknown ones they add up to pages_brought. */
	__u64 used, used_late, evicted_unused, untracked;
	__s64 resident_unused;
	__u64 mixed; /* pages whose fate is unknown, or another kind's */

	__u64 looked;	    /* calls whose range was checked when they began: level "calls" */
	__u64 pages_cached; /* requested pages that were cached when they began */

	__u64 dropped_own; /* dropped pages that the job had added */
	__u64 dropped_refaults;
	__u64 dropped_refaults_others; /* dropped pages that others brought back */
};

#define COMM_BYTES 16

/* The task that made the kernel evict pages. Values are on disk. */
enum evictor_kind { EVICTOR_UNKNOWN = 0, EVICTOR_OWN = 1, EVICTOR_OTHERS = 2, EVICTOR_KERNEL = 3 };
enum evictor_does { DOES_READ = 0, DOES_WRITE = 1, DOES_NEITHER = 2 };

/* Pages of the job that were evicted in one interval: the owner, the cause, and the running
 * task. */
struct evictor_key {
	struct file_key owner;
	struct file_key reached; /* file that a task of the job was reading or writing; 0: none */
	__u64 cgroup;		 /* of other processes: id of the memory cgroup */
	char comm[COMM_BYTES];
	__u8 cause; /* enum evict_cause */
	__u8 kind;  /* enum evictor_kind */
	__u8 does;  /* enum evictor_does */
	__u8 pad[5];
};

/* A CPU's last note: most pages arrive in sequence, for one file and one cause. */
struct evictor_run {
	struct evictor_key key;
	__u64 pages;
};

/* Pages that other processes added to the cache in one interval: they filled the memory that kswapd
 * had to free. */
struct adder_key {
	__u64 cgroup;
	char comm[COMM_BYTES];
	__u32 generation; /* generation of the rows: 0 or 1 */
	__u32 does;	  /* enum evictor_does */
};

/* With many jobs, the slot is in the upper bits of a process's key: ids have 22 bits. */
#define PROCESS_SLOT_SHIFT 24
#define PROCESS_PID	   0xffffffu

/* A process of the job in one interval, by its process id as cachemon sees it. The sums over all
 * processes are the job's stall_ns and stalls. */
struct process_row {
	__u64 stall_ns;
	__u64 stalls;
	__u64 rchar_bytes; /* as in struct job_row; up to a task's last switch */
	__u64 syscr_calls;
	char comm[COMM_BYTES]; /* name of its first thread */
};

/* The kernel's own counts of a task; for a job, those of its tasks since they joined it. */
struct activity {
	__u64 wchar_bytes;	  /* written to anything (task->ioac.wchar) */
	__u64 runqueue_ns;	  /* runnable, but waiting for a CPU; 0 without CONFIG_SCHED_INFO */
	__u64 switches_voluntary; /* to sleep */
	__u64 switches_forced;	  /* by the scheduler */
};

/* Bytes of messages over the internet protocols, as the calls returned them. */
enum net_kind { NET_TCP4, NET_TCP6, NET_UDP4, NET_UDP6, NET_NR };
struct net_row {
	__u64 sent_bytes;
	__u64 received_bytes;
};

/* Calls of files and directories, as they returned to their callers. */
enum vfs_call { VFS_READ, VFS_WRITE, VFS_OPEN, VFS_MKDIR, VFS_RMDIR, VFS_UNLINK, VFS_NR };
struct vfs_row {
	__u64 calls[VFS_NR];
	__u64 errors[VFS_NR];	 /* of these calls */
	__u64 did[VFS_OPEN + 1]; /* bytes read, bytes written, and files made by an open */
};

/* Those of them that reached a regular file on a disk or a server: by its device. The rest of the
 * job's filesystems has no entry. */
#define VFS_DEVICES 8
struct vfs_device {
	__u32 dev; /* as in struct file_key; 0: none */
	__u32 pad;
	__u64 calls[VFS_OPEN + 1];
	__u64 did[VFS_OPEN + 1];
};

/* Facts of a whole job since the start of the run. */
struct job_row {
	__u64 cpu_ns;	   /* CPU time of its tasks since they joined the job */
	__u64 rchar_bytes; /* bytes its tasks read from anything (task->ioac.rchar) */
	__u64 syscr_calls; /* calls that read, with any result (task->ioac.syscr) */
	__u64 processes;   /* thread groups that belonged to it */
	__s64 alive;	   /* thread groups still alive; a CPU's share may be negative */
	/* The stalls, counted by length. */
	__u64 sleeps[WAIT_BUCKETS];
	/* Many jobs; with one job, 0. */
	struct activity activity;
	struct net_row net[NET_NR];
	struct vfs_row vfs;
	struct vfs_device vfs_of[VFS_DEVICES];
};

/* The places where hooks show the end of a direct read, one per kind of direct read. */
enum direct_end {
	DIRECT_DONE, /* in the filesystems' common code; or where it completes asynchronously: */
	DIRECT_QUEUED,
	DIRECT_BLOCK,
	DIRECT_NFS,
	DIRECT_FUSE,
};

/* Runs of each program, for the cost account. */
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
	EV_ADVICE_CALL, /* every system call of the machine while attached */
	EV_SCOPE,	/* the ends of functions that show eviction causes */
	EV_SOCKET,	/* every message of the machine while attached */
	EV_VFS,		/* calls of files and directories */
	EV_NR,
};

/* Losses by reason. All zero in a good run. */
struct loss_counts {
	__u64 map_full;	      /* times a file got no row, so that the rest took its counts */
	__u64 chunk_full;     /* adds to a chunk whose block did not fit */
	__u64 ring_drops;     /* name records dropped; the file is named at its next interval */
	__u64 state_drops;    /* tasks without a state: their events are not counted */
	__u64 ghosts_dropped; /* ghost pages dropped to make room: refaults are a lower bound */
	__u64 advice_full;
	__u64 births_dropped; /* records of cgroups (births.h): they must be searched for */
};

_Static_assert(sizeof(struct file_key) == 16, "file_key");
_Static_assert(sizeof(struct file_row_key) == 24, "file_row_key");
_Static_assert(C_evicted_last - C_evicted_first + 1 == EVICT_NR, "a counter for each cause");
_Static_assert(C_NR <= 8 * 32, "a bit of touched for each 8 counters");
_Static_assert(sizeof(struct block_key) == 24, "block_key");
_Static_assert(sizeof(struct block) == 200, "block: 48 + 24 + 200 + 16 bytes an entry");
_Static_assert(sizeof(struct advice_key) == 24, "advice_key");
_Static_assert(sizeof(struct evictor_key) == 64, "evictor_key");
_Static_assert(sizeof(struct adder_key) == 32, "adder_key");

#endif
