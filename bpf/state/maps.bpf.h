/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every map and every variable shared with user space, declared once. capture/map_memory.c sizes
 * the page state by the machine's memory.
 */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include "bpf/kernel/reach.bpf.h"
#include "bpf/births.h"
#include "bpf/names.h"
#include "bpf/references.h"
#include "bpf/shared.h"
#include "bpf/kernel/arch.bpf.h"

/* The state of the running task, one cell per CPU: a lookup that the JIT inlines. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct live);
} lives SEC(".maps");

/* The state of a task that is not running. Created at fork or at its first event, never in the
 * scheduler; freed with the task. */
struct {
	TASK_MAP;
	__type(value, struct task_state);
} tasks SEC(".maps");

/* Two generations of rows, a for even epochs and b for odd ones: user space increments the
 * epoch, waits for a grace period and then drains the other one, so that no increment is lost
 * between a read and a delete. An event reads its epoch once, so all of its counts are in one
 * generation. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_ROWS);
	__type(key, struct file_row_key);
	__type(value, struct file_row);
} rows_a SEC(".maps"), rows_b SEC(".maps");

/* In front of the rows, one per file and CPU: plain additions instead of a lookup and atomic
 * ones. Each generation has its own, so that they are emptied while no program writes them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * CELLS_NR);
	__type(key, __u32);
	__type(value, struct cell);
} cells SEC(".maps");

/* Page state. Preallocated and never an LRU: a full map refuses entries, and the refusals are
 * counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct block_key);
	__type(value, struct block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_ADVICE);
	__type(key, struct advice_key);
	__type(value, struct advice_row);
} advice SEC(".maps");

/* Tasks that evicted pages of the job, in generations like rows; the values are pages. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_EVICTORS);
	__type(key, struct evictor_key);
	__type(value, __u64);
} evictors_a SEC(".maps"), evictors_b SEC(".maps");

/* Each CPU's last note, in front of these maps; one per generation. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct evictor_run);
} evictor_runs SEC(".maps");

/* Which other processes added pages: few, so both generations share one map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_ADDERS);
	__type(key, struct adder_key);
	__type(value, __u64);
} adders SEC(".maps");

/* Processes of the job that waited or read, in generations like rows. A process without room has no
 * entry: its time is the difference between the job's time and the sum of the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_PROCESSES);
	__type(key, __u32);
	__type(value, struct process_row);
} processes_a SEC(".maps"), processes_b SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, JOB_NR);
	__type(key, __u32);
	__type(value, struct job_row);
} jobs SEC(".maps");

/* Cgroups of many jobs, whose ids are the values. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_JOB_CGROUPS);
	__type(key, struct job_cgroup);
	__type(value, __u32);
} job_cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BIRTH_RING_BYTES);
} births SEC(".maps");

/* Lengths of the job's sleeps by file, in generations like rows. A file without room has no entry
 * here; user space notices that by its number of sleeps. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_WAITS);
	__type(key, struct file_key);
	__type(value, struct wait_row);
} waits_a SEC(".maps"), waits_b SEC(".maps");

/* Names that were sent already. It is a cache, so an LRU may drop a name, which is then sent
 * again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NR_NAMED);
	__type(key, struct file_key);
	__type(value, struct name_seen);
} named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, NAME_RING_BYTES);
} names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, REFERENCE_RING_BYTES);
} references SEC(".maps");

/* Sampled pages, by hash, so that only their evictions are sent. User space deletes those above
 * the bound. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_REFERENCE_PAGES);
	__type(key, __u64);
	__type(value, __u32);
} reference_pages SEC(".maps");

/* [0] for events, [1] for the sweep, which an event may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct name_work);
} name_scratch SEC(".maps");

/* Working memory that does not fit on the stack, or, in the basic build, that its verifiers must
 * not track: they do not track map memory. */
enum { WORK_SETTLE, WORK_PAGE, WORK_BLOCK, WORK_STACK, WORK_NR };
struct work {
	__u64 words[24];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WORK_NR);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

/* Held locks, in a build without the kernel's: see locks.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_LOCKS);
	__type(key, __u64);
	__type(value, __u32);
} locks SEC(".maps");

#define URING_WAYS 8 /* with more of them, the event alone gives the range */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_URING);
	__type(key, __u32);
	__type(value, struct uring_read);
} uring_reads SEC(".maps");

/* Files that are or were traced, and their events. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_TRACED);
	__type(key, struct file_key);
	__type(value, struct traced);
} traced SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TRACE_RING_BYTES);
} traces SEC(".maps");

/* Processes that the seed iterator adds to the job. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_SEEDS);
	__type(key, __u32);
	__type(value, __u32);
} seeds SEC(".maps");

/* Each process that was forked by a parent not yet added, or that ended, by process id. /proc
 * shows neither. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_PARENTS);
	__type(key, __u32);
	__type(value, struct seed_note);
} parents SEC(".maps");

/* The marks of processes (COUNTED_* of processes.bpf.h) whose first thread has ended, by process
 * id. After an exec another thread becomes the first one, and the marks were in the old one's
 * state. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_MARKS_LEFT);
	__type(key, __u32);
	__type(value, __u32);
} marks_left SEC(".maps");

/* Written by user space and all programs: the same in each build, in this order. */
struct shared shared;
struct tally tallies[NR_TALLY_CPUS];
__u32 members[NR_MEMBERS]; /* tasks of the job, by hash of their address */

/* Set before loading; in a section of its own, so that other constants may exist. */
const volatile struct config config SEC(".rodata.config");

/* A constant if the architecture has only one value, because a read shifts by it several times. */
#ifdef ARCH_PAGE_SHIFT
#define page_shift ARCH_PAGE_SHIFT
#else
#define page_shift config.page_shift
#endif

static const struct task_state zero_state;

static __always_inline void *work_of(__u32 which)
{
	return bpf_map_lookup_elem(&works, &which);
}

static __always_inline __u32 outstanding_slot(__u64 ino)
{
	return (ino ^ ino >> 14) & (NR_OUTSTANDING - 1);
}

static __always_inline __u8 *used_files_slot(__u64 ino)
{
	return &shared.used_files[(ino ^ ino >> 16) & (NR_USED_FILES - 1)];
}

static __always_inline int popcount64(__u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (x * 0x0101010101010101ull) >> 56;
}

/* The position of its highest bit, most at most: no branch, each of which verifiers follow. */
static __always_inline __u32 log2_at_most(__u64 n, __u32 most)
{
	for (int by = 1; by < 64; by *= 2)
		n |= n >> by;
	return popcount64((n & ((2ull << most) - 1)) | 1) - 1;
}

/* How many of this range are submitted and not counted yet. */
static __always_inline __u32 uring_waiting(__u32 state)
{
	return state & URING_TAKEN;
}

static __always_inline struct uring_read *uring_read_of(__u32 tgid, __u64 last, __u32 way)
{
	__u64 hash = (last ^ (__u64)tgid << 32) * 0x9e3779b97f4a7c15ull;
	__u32 slot = (hash >> 40 & (NR_URING - 1) & ~(URING_WAYS - 1)) + way;

	return bpf_map_lookup_elem(&uring_reads, &slot);
}

/* way: 1 + the number of the way; 0: returns NULL. The function that finds the way is verified
 * separately, so it returns a number. */
static __always_inline struct uring_read *uring_way(__u32 tgid, __u64 last, __u32 way)
{
	return way ? uring_read_of(tgid, last, (way - 1) & (URING_WAYS - 1)) : NULL;
}

#endif
