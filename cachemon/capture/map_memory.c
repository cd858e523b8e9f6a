/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/map_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/births.h"
#include "bpf/names.h"
#include "bpf/references.h"
#include "bpf/shared.h"
#include "bpf/trace.h"
#include "cachemon/access/privileges.h"
#include "cachemon/base/human.h"
#include "cachemon/job/memory_cgroup.h"
#include "cachemon/plan/memlock.h"

#define BLOCKS_MIN  16384
#define BLOCK_BYTES (256 << 10) /* bytes of machine memory per block */

/* struct htab_elem, and struct bucket: a power of two of buckets (kernel/bpf/hashtab.c). */
#define HASH_EXTRA (48 + 16)

static uint64_t round_up_pow2(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* The memory of a ring buffer besides its data: pages for its positions, and an address of each
 * page. The data pages are mapped twice, so that a record may cross the end (kernel/bpf/ringbuf.c).
 */
static uint64_t ring_extra(uint64_t ring_bytes, uint64_t page_size)
{
	const uint64_t positions = 3;

	return positions * page_size + (positions + 2 * ring_bytes / page_size) * sizeof(void *);
}

/* Assumes that all memory is page cache of 256 KiB files: each file has one block, a quarter
 * full with pages of 4 KiB. Larger pages do not make larger files, so the rule is by bytes. */
size_t map_sizes(uint64_t ram_bytes, uint64_t page_size, unsigned int nr_cpus, struct map_size *out,
		 size_t max)
{
	uint64_t blocks = round_up_pow2(ram_bytes / BLOCK_BYTES);
	struct map_size maps[] = {
		{"blocks", blocks < BLOCKS_MIN ? BLOCKS_MIN : blocks,
		 HASH_EXTRA + sizeof(struct block_key) + sizeof(struct block), 0},
		/* Two maps: one is drained while the other fills. */
		{"rows_a", NR_ROWS,
		 HASH_EXTRA + sizeof(struct file_row_key) + sizeof(struct file_row), 0},
		{"rows_b", NR_ROWS,
		 HASH_EXTRA + sizeof(struct file_row_key) + sizeof(struct file_row), 0},
		{"names", NAME_RING_BYTES, 1, ring_extra(NAME_RING_BYTES, page_size)},
		{"references", REFERENCE_RING_BYTES, 1,
		 ring_extra(REFERENCE_RING_BYTES, page_size)},
		{"reference_pages", NR_REFERENCE_PAGES, HASH_EXTRA + 8 + 8, 0},
		{"traces", TRACE_RING_BYTES, 1, ring_extra(TRACE_RING_BYTES, page_size)},
		{"traced", NR_TRACED, HASH_EXTRA + sizeof(struct file_key) + sizeof(struct traced),
		 0},
		{"named", NR_NAMED, HASH_EXTRA + sizeof(struct file_key) + sizeof(struct name_seen),
		 0},
		{"seeds", NR_SEEDS, HASH_EXTRA + 8 + 8, 0},
		{"parents", NR_PARENTS, HASH_EXTRA + 8 + 8, 0},
		{"marks_left", NR_MARKS_LEFT, HASH_EXTRA + 8 + 8, 0},
		{"advice", NR_ADVICE,
		 HASH_EXTRA + sizeof(struct advice_key) + sizeof(struct advice_row), 0},
		{"evictors_a", NR_EVICTORS, HASH_EXTRA + sizeof(struct evictor_key) + 8, 0},
		{"evictors_b", NR_EVICTORS, HASH_EXTRA + sizeof(struct evictor_key) + 8, 0},
		{"waits_a", NR_WAITS,
		 HASH_EXTRA + sizeof(struct file_key) + sizeof(struct wait_row), 0},
		{"waits_b", NR_WAITS,
		 HASH_EXTRA + sizeof(struct file_key) + sizeof(struct wait_row), 0},
		{"adders", NR_ADDERS, HASH_EXTRA + sizeof(struct adder_key) + 8, 0},
		{"processes_a", NR_PROCESSES, HASH_EXTRA + 8 + sizeof(struct process_row), 0},
		{"processes_b", NR_PROCESSES, HASH_EXTRA + 8 + sizeof(struct process_row), 0},
		{"lives", 1, sizeof(struct live) * nr_cpus, 0},
		{"cells", (uint64_t)2 * CELLS_NR, sizeof(struct cell) * nr_cpus, 0},
		{"uring_reads", NR_URING, sizeof(struct uring_read), 0},
		{"name_scratch", 2, sizeof(struct name_work) * nr_cpus, 0},
		{"jobs", JOB_NR, sizeof(struct job_row) * nr_cpus, 0},
	};
	size_t nr = sizeof(maps) / sizeof(maps[0]);

	for (size_t i = 0; i < nr && i < max; i++) {
		maps[i].bytes += maps[i].entries * maps[i].bytes_each;
		out[i] = maps[i];
	}
	return nr;
}

enum { LOOKS = 60 };

/* The variables, the programs as they are loaded and verified one by one, and the process
 * itself. */
#define BESIDE_BYTES (UINT64_C(16) << 20)

uint64_t map_memory_bytes(uint64_t ram_bytes, unsigned int nr_cpus, uint64_t block_entries,
			  uint64_t row_entries)
{
	struct map_size maps[MAP_SIZES_MAX];
	size_t nr =
		map_sizes(ram_bytes, (uint64_t)sysconf(_SC_PAGESIZE), nr_cpus, maps, MAP_SIZES_MAX);
	uint64_t sum = BESIDE_BYTES;

	for (size_t i = 0; i < nr && i < MAP_SIZES_MAX; i++) {
		uint64_t entries = maps[i].entries;

		if (block_entries && !strcmp(maps[i].name, "blocks"))
			entries = block_entries;
		if (row_entries && !strncmp(maps[i].name, "rows_", 5))
			entries = row_entries;
		sum += maps[i].bytes - (maps[i].entries - entries) * maps[i].bytes_each;
	}
	return sum;
}

uint64_t map_memory_slots(unsigned int slots, unsigned int nr_cpus)
{
	const uint64_t cgroup_bytes = HASH_EXTRA + sizeof(struct job_cgroup) + 8;

	return NR_JOB_CGROUPS * cgroup_bytes + BIRTH_RING_BYTES +
	       ring_extra(BIRTH_RING_BYTES, (uint64_t)sysconf(_SC_PAGESIZE)) +
	       (uint64_t)(slots - JOB_NR) * sizeof(struct job_row) * nr_cpus;
}

static int check_memlock(uint64_t bytes, bool for_run, struct errtext *err)
{
	uint64_t limit = memlock_bytes();

	if (limit >= bytes || (for_run && !memlock_raise(bytes, &limit)))
		return 0;
	if (!for_run && privileges_permitted() & PRIVILEGE(CAP_SYS_RESOURCE))
		return 0;
	return errtext_set(err, -EPERM,
			   "the probes need %s of locked memory, but the limit is %s: raise it "
			   "(ulimit -l, LimitMEMLOCK=), or grant CAP_SYS_RESOURCE",
			   human_bytes(bytes).text, human_bytes(limit).text);
}

/* Walks up from a cgroup to the mounted one: each may have a limit. */
static void look_upwards(struct memory_cgroup *c, struct memory_room *room)
{
	do {
		int64_t limit = memory_cgroup_read(c->kind, c->dir, MEMORY_LIMIT);
		int64_t used, cached;
		uint64_t left;

		if (limit < 0)
			continue;
		used = memory_cgroup_read(c->kind, c->dir, MEMORY_USAGE);
		cached = memory_cgroup_read(c->kind, c->dir, MEMORY_CACHED);
		/* Only page cache counts as reclaimable. */
		used = used > 0 ? used : 0;
		used -= cached > 0 ? (cached < used ? cached : used) : 0;
		left = used < limit ? (uint64_t)(limit - used) : 0;
		if (left >= room->bytes)
			continue;
		room->bytes = left;
		room->limit_bytes = (uint64_t)limit;
		snprintf(room->cgroup, sizeof(room->cgroup), "%s", c->dir);
	} while (memory_cgroup_up(c));
}

void memory_room_read(const char *proc_root, const struct mountinfo *mounts,
		      struct memory_room *ret)
{
	struct memory_cgroup own;

	*ret = (struct memory_room){.limit_bytes = UINT64_MAX, .bytes = UINT64_MAX};
	for (int kind = CGROUP_V2; kind <= CGROUP_V1_MEMORY; kind++)
		if (!memory_cgroup_of(proc_root, "self", mounts, (enum cgroup_kind)kind, &own))
			look_upwards(&own, ret);
}

/* The maps of a run that just ended are freed a moment later. */
static void wait_for_room(const struct mountinfo *mounts, uint64_t bytes, struct memory_room *room)
{
	const struct timespec pause = {.tv_nsec = 50000000};

	for (int i = 0; i < LOOKS; i++) {
		memory_room_read("/proc", mounts, room);
		if (room->bytes >= bytes || room->limit_bytes < bytes)
			return;
		nanosleep(&pause, NULL);
	}
}

static int check_cgroup(uint64_t bytes, struct errtext *err)
{
	struct memory_room *room = malloc(sizeof(*room));
	struct mountinfo mounts;
	int r = 0;

	if (!room)
		return errtext_set(err, -ENOMEM, "out of memory");
	if (!mountinfo_read("/proc/self/mountinfo", &mounts)) {
		wait_for_room(&mounts, bytes, room);
		if (room->bytes < bytes)
			r = errtext_set(err, -ENOMEM,
					"the probes need %s of memory, but the limit of %s of "
					"cachemon's cgroup (%s) leaves only %s: raise the limit, "
					"or run cachemon in another cgroup",
					human_bytes(bytes).text,
					human_bytes(room->limit_bytes).text, room->cgroup,
					human_bytes(room->bytes).text);
		mountinfo_free(&mounts);
	}
	free(room);
	return r;
}

int map_memory_check(uint64_t bytes, bool memlock_binds, bool for_run, struct errtext *err)
{
	return memlock_binds ? check_memlock(bytes, for_run, err) : check_cgroup(bytes, err);
}
