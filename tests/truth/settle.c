// SPDX-License-Identifier: BSD-2-Clause
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "op.h"

/* A request is out of the plug and of the scheduler's hands within this many idle looks. */
#define IDLE_LOOKS 20

struct counts {
	unsigned long long done, sectors, in_flight;
};

/* Asked for thousands of times, so the file is kept open. */
static struct counts device_counts(dev_t dev)
{
	static _Thread_local dev_t of;
	static _Thread_local int fd = -1;
	struct counts c;
	char text[512];
	ssize_t n;

	if (fd < 0 || of != dev) {
		snprintf(text, sizeof(text), "/sys/dev/block/%u:%u/stat", major(dev), minor(dev));
		if (fd >= 0)
			close(fd);
		fd = open(text, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			err(1, "%s", text);
		of = dev;
	}
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		err(1, "a disk's stat file");
	text[n] = '\0';
	/* reads completed, merged, sectors, ms, writes (4 fields), then in flight */
	if (sscanf(text, "%llu %*u %llu %*u %*u %*u %*u %*u %llu", &c.done, &c.sectors,
		   &c.in_flight) != 3)
		errx(1, "not a disk's stat file: %s", text);
	return c;
}

uint64_t settle_sectors(dev_t dev)
{
	return device_counts(dev).sectors;
}

void settle_device(dev_t dev)
{
	uint64_t before = 0;

	for (int idle = 0; idle < IDLE_LOOKS;) {
		struct counts c = device_counts(dev);

		idle = c.in_flight || c.done != before ? 0 : idle + 1;
		before = c.done;
		sched_yield();
	}
}

uint64_t settle_asked(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[128];
	uint64_t bytes;

	if (!f)
		op_lacking("/proc/self/io", errno);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "read_bytes: %" SCNu64, &bytes) != 1)
			continue;
		fclose(f);
		return bytes;
	}
	errx(1, "/proc/self/io: no read_bytes");
}

void settle_reads(dev_t dev, uint64_t sectors, uint64_t bytes)
{
	while ((settle_sectors(dev) - sectors) * 512 < settle_asked() - bytes)
		sched_yield();
	settle_device(dev);
}
