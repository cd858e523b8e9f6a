/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine in a sample: memory, the limit of the job's cgroup, devices. Plain values at the end
 * of the interval. Owns their layout.
 */
#ifndef SAMPLE_MACHINE_H
#define SAMPLE_MACHINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_UNKNOWN (-1) /* unknown to the kernel */

struct sample_memory {
	int64_t free_bytes, available_bytes, file_cached_bytes, dirty_bytes, swap_free_bytes;
};

/* The memory cgroup with the tightest limit on the job, or the job's own if none has a limit. */
struct sample_limit {
	int64_t limit_bytes; /* MACHINE_UNKNOWN: none */
	int64_t usage_bytes, file_bytes;
	int64_t oom_kills; /* events in the job's cgroup and below, at such a limit, since the start
			    */
	char at[PATH_MAX]; /* its directory; "": unknown */
};

struct sample_device {
	uint32_t dev; /* as of struct file_key */
	char name[64];
	int64_t rotational, read_ahead_kb, max_sectors_kb, io_pages;
	/* Since the start of the run, of all processes: ended requests, and the sum of their times.
	 */
	int64_t reads, read_ms;
	bool network;
};

struct sample_machine {
	/* Constant facts. */
	int64_t total_bytes, swap_bytes, mglru, nr_cpus, numa_nodes;
	char thp[16]; /* "": unknown */

	struct sample_memory memory;
	struct sample_limit limit;
	const struct sample_device *devices;
	size_t nr_devices;
};

#endif
