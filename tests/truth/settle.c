// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether everything that this process requested from a device has arrived. A disk's count of
 * requests in flight does not prove it: it lacks requests that wait in a throttle, and those whose
 * data has arrived but whose completion still waits for its softirq; the pages of both are not up
 * to date. So the sectors that arrived are compared with those requested. They are counted right
 * before the pages become up to date, so a grace period waits for the softirq that counted them.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "op.h"

/* Requests of other processes may move pages of the file too: they leave the scheduler within this
 * many checks that find the device idle. */
#define IDLE_LOOKS 20
/* The missing data does not arrive any more: it was requested from another device. */
#define STUCK_NS 20000000000ULL

struct counts {
	unsigned long long done, sectors, in_flight;
	bool served; /* a server in between, which reads from the disk on a miss */
};

/* The end of the last wait. */
static _Thread_local struct {
	dev_t dev;
	uint64_t sectors, asked;
} since;

/* Requests sent to servers and not yet answered. */
static unsigned long long asked_of_servers(void)
{
	FILE *f = fopen("/proc/self/mountstats", "re");
	unsigned long long sent, answered, asked = 0;
	char line[512];

	if (!f)
		err(1, "/proc/self/mountstats");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " xprt: tcp %*u %*u %*u %*u %*u %llu %llu", &sent, &answered) == 2)
			asked += sent - answered;
	fclose(f);
	return asked;
}

/* The disk of a filesystem whose files have another device number, as set by its creator:
 * "MAJ:MIN", followed by " served" if a server is in between. */
static dev_t disk_below(dev_t dev, bool *ret_served)
{
	unsigned int maj = major(dev), min = minor(dev);
	const char *told;
	char name[48];

	snprintf(name, sizeof(name), "WL_DISK_%u_%u", maj, min);
	told = getenv(name);
	*ret_served = told && strstr(told, " served");
	if (told && sscanf(told, "%u:%u", &maj, &min) != 2)
		errx(1, "%s: %s", name, told);
	return makedev(maj, min);
}

/* Read thousands of times, so the file stays open. */
static struct counts device_counts(dev_t dev)
{
	static _Thread_local dev_t of;
	static _Thread_local int fd = -1;
	static _Thread_local bool served;
	struct counts c = {};
	char text[512];
	ssize_t n;

	if (fd < 0 || of != dev) {
		dev_t disk = disk_below(dev, &served);

		snprintf(text, sizeof(text), "/sys/dev/block/%u:%u/stat", major(disk), minor(disk));
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
	c.served = served;
	if (served)
		c.in_flight += asked_of_servers();
	return c;
}

/* Sectors that this process requested from any device, with its threads and ended children. */
static uint64_t asked(void)
{
	struct rusage self, children;

	if (getrusage(RUSAGE_SELF, &self) || getrusage(RUSAGE_CHILDREN, &children))
		err(1, "getrusage");
	return (uint64_t)self.ru_inblock + (uint64_t)children.ru_inblock;
}

static void mark(dev_t dev)
{
	since.dev = dev;
	since.sectors = device_counts(dev).sectors;
	since.asked = asked();
}

/* Nothing was requested since the last wait, by anybody: true for most calls, and looks are
 * frequent. */
static bool nothing_new(dev_t dev)
{
	struct counts c = device_counts(dev);

	return !c.in_flight && c.sectors == since.sectors && asked() == since.asked;
}

/* False: the data does not arrive. A forked process begins with less than its parent requested. */
static bool wait_for_sectors(dev_t dev)
{
	uint64_t last = since.sectors, moved = now_ns();
	int64_t lacking;

	while (lacking = (int64_t)(asked() - since.asked), lacking > 0) {
		uint64_t sectors = device_counts(dev).sectors;

		if ((uint64_t)lacking <= sectors - since.sectors)
			return true;
		if (sectors != last)
			moved = now_ns();
		else if (now_ns() - moved > STUCK_NS)
			return false;
		last = sectors;
		sched_yield();
	}
	return true;
}

bool settle_device(dev_t dev)
{
	uint64_t before = 0;
	bool came;

	if (since.dev != dev)
		mark(dev);
	else if (nothing_new(dev))
		return true;
	came = device_counts(dev).served || wait_for_sectors(dev);
	for (int idle = 0; idle < IDLE_LOOKS;) {
		struct counts c = device_counts(dev);

		idle = c.in_flight || c.done != before ? 0 : idle + 1;
		before = c.done;
		sched_yield();
	}
	if (device_counts(dev).sectors != since.sectors &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		err(1, "membarrier");
	mark(dev);
	return came;
}
