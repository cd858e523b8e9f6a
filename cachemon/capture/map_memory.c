/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/map_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/capture/map_sizes.h"
#include "cachemon/capture/memory_room.h"
#include "cachemon/plan/memlock.h"
#include "cachemon/base/human.h"
#include "cachemon/access/privileges.h"

enum { MAPS_MAX = MAP_SIZES_MAX, LOOKS = 60 };

/* The variables, the programs as they are loaded and verified one by one, and the process itself.
 */
#define BESIDE_BYTES (UINT64_C(16) << 20)

uint64_t map_memory_bytes(uint64_t ram_bytes, unsigned int nr_cpus, uint64_t block_entries,
			  uint64_t row_entries)
{
	struct map_size maps[MAPS_MAX];
	size_t nr = map_sizes(ram_bytes, (uint64_t)sysconf(_SC_PAGESIZE), nr_cpus, maps, MAPS_MAX);
	uint64_t sum = BESIDE_BYTES;

	for (size_t i = 0; i < nr && i < MAPS_MAX; i++) {
		uint64_t entries = maps[i].entries;

		if (block_entries && !strcmp(maps[i].name, "blocks"))
			entries = block_entries;
		if (row_entries && !strncmp(maps[i].name, "rows_", 5))
			entries = row_entries;
		sum += maps[i].bytes - (maps[i].entries - entries) * maps[i].bytes_each;
	}
	return sum;
}

static int check_memlock(uint64_t bytes, bool for_run, struct errtext *err)
{
	uint64_t limit = memlock_bytes();

	if (limit >= bytes || (for_run && !memlock_raise(bytes, &limit)))
		return 0;
	if (!for_run && privileges_permitted() & PRIVILEGE(CAP_SYS_RESOURCE))
		return 0;
	return errtext_set(err, -EPERM,
			   "the probes take %s of locked memory and the limit is %s: raise it "
			   "(ulimit -l, LimitMEMLOCK=), or give CAP_SYS_RESOURCE, which may",
			   human_bytes(bytes).text, human_bytes(limit).text);
}

/* The maps of a run that has just ended are freed a moment later. */
static void look(const struct mountinfo *mounts, uint64_t bytes, struct memory_room *room)
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
		look(&mounts, bytes, room);
		if (room->bytes < bytes)
			r = errtext_set(err, -ENOMEM,
					"the probes take %s of memory, and of the limit of %s of "
					"the cgroup cachemon runs in (%s) %s are left: raise it, "
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
