/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the figures of jobs in the text format of Prometheus (version 0.0.4) or in
 * OpenMetrics 1.0. Owns the families, the labels and their escapes. A series is absent if its
 * figure was not measured, no series appears twice, and a counter never falls: a correction
 * downwards waits until the count has passed the value written before. Knows neither files nor
 * HTTP.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/base/optional.h"
#include "cachemon/figures/counts.h"

/* Counts of a job that are not counters of pages. Bytes of the network are by enum net_kind. */
enum metrics_fact {
	METRICS_CPU_NS,
	METRICS_RUNQUEUE_NS,
	METRICS_PRESSURE_CPU_NS,
	METRICS_PRESSURE_MEMORY_NS,
	METRICS_PRESSURE_IO_NS,
	METRICS_RCHAR_BYTES,
	METRICS_WCHAR_BYTES,
	METRICS_SWITCHES_VOLUNTARY,
	METRICS_SWITCHES_FORCED,
	METRICS_SENT_BYTES,
	METRICS_RECEIVED_BYTES = METRICS_SENT_BYTES + NET_NR,
	METRICS_VFS_CALLS = METRICS_RECEIVED_BYTES + NET_NR, /* by enum vfs_call, as the next */
	METRICS_VFS_ERRORS = METRICS_VFS_CALLS + VFS_NR,
	METRICS_VFS_READ_BYTES = METRICS_VFS_ERRORS + VFS_NR,
	METRICS_VFS_WRITTEN_BYTES,
	METRICS_VFS_CREATED,
	METRICS_FACTS
};

/* The counts of one filesystem. Filesystems with the same mount point are added up. */
struct metrics_mount {
	const char *mount;  /* NULL: no visible mount */
	const char *device; /* NULL: none, or unknown */
	struct counts counts;
	struct opt_i64 facts[METRICS_FACTS]; /* those that a filesystem can have */
};

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

/* The values written before of some series. */
struct metrics;

struct metrics_job {
	/* Any bytes. Series have these two, cachemon_job_info also the others. NULL: none. */
	const char *manager, *jobid;
	const char *user, *name, *step, *partition;
	struct metrics *past;
	bool rest; /* not a job, but the sums of others */
	struct counts counts;
	struct opt_i64 running;
	struct opt_i64 processes; /* still running */
	struct opt_i64 limit_bytes, usage_bytes, cache_bytes;
	struct opt_i64 facts[METRICS_FACTS];
	const struct metrics_mount *mounts;
	size_t nr_mounts;
};

struct metrics_probe {
	const char *role;
	bool live;
};

/* A count of events that were lost, by kind. */
struct metrics_loss {
	const char *kind;
	uint64_t count;
};

/* Detail that may be given up to keep a budget. */
struct metrics_detail {
	const char *name;
	bool given_up;
};

struct metrics_node {
	const char *version;
	const struct metrics_probe *probes;
	size_t nr_probes;
	const struct metrics_loss *losses;
	size_t nr_losses;
	struct opt_i64 probe_cpu_ns, collector_cpu_ns, resident_bytes;
	struct opt_i64 nr_watched;
	struct opt_i64 budget_ppm, cost_ppm; /* shares of the jobs' CPU time, in millionths */
	const struct metrics_detail *details;
	size_t nr_details;
	bool no_vfs; /* calls of files are not counted now: their series are absent */
	struct metrics *past;
	const struct metrics_job *jobs;
	size_t nr_jobs;
};

/* By kind; births: those of cgroups are received. Returns how many there are. */
enum { METRICS_LOSSES = 7 };
size_t metrics_losses(const struct loss_counts *lost, bool births,
		      struct metrics_loss ret[METRICS_LOSSES]);

/* The device of all filesystems with this mount point, which may be NULL; NULL: none, or they have
 * several. */
const char *metrics_device(const struct metrics_mount *mounts, size_t nr, const char *mount);

/* NULL: no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/* 0, or -ENOMEM: something is missing in the text. Errors of out are the caller's. */
int metrics_write(const struct metrics_node *node, enum metrics_format format, FILE *out);

#endif
