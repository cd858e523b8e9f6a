// SPDX-License-Identifier: BSD-2-Clause
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "oracle.h"

/* A request is out of the plug and of the scheduler's hands within this many idle looks. */
#define IDLE_LOOKS 20

static uint64_t reads_in_flight(const char *path, uint64_t *ret_done)
{
	unsigned long long done, inflight;
	FILE *f = fopen(path, "re");

	/* reads completed, merged, sectors, ms, writes (4 fields), then in flight */
	if (!f)
		err(1, "%s", path);
	if (fscanf(f, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &done, &inflight) != 2)
		errx(1, "%s: not a disk's stat file", path);
	fclose(f);
	*ret_done = done;
	return inflight;
}

uint64_t settle_sectors(dev_t dev)
{
	unsigned long long sectors;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(dev), minor(dev));
	f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	if (fscanf(f, "%*u %*u %llu", &sectors) != 1)
		errx(1, "%s: not a disk's stat file", path);
	fclose(f);
	return sectors;
}

void settle_device(dev_t dev)
{
	char path[64];
	uint64_t done, before = 0;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(dev), minor(dev));
	for (int idle = 0; idle < IDLE_LOOKS; before = done) {
		if (reads_in_flight(path, &done) || done != before)
			idle = 0;
		else
			idle++;
		sched_yield();
	}
}
