/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the figures of jobs in the text format of Prometheus (version 0.0.4). Owns the families,
 * the labels and their escapes. A series is absent if its figure was not measured, no series
 * appears twice, and a counter never falls: a correction downwards waits until the count has passed
 * the value written before. Knows neither files nor HTTP.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/base/optional.h"
#include "cachemon/figures/counts.h"

/* The counts of one filesystem. Filesystems with the same mount point are added up. */
struct metrics_mount {
	const char *mount; /* NULL: no visible mount */
	struct counts counts;
};

struct metrics_job {
	/* Any bytes. Series have these two, cachemon_job_info also the others. NULL: none. */
	const char *manager, *jobid;
	const char *user, *name, *step, *partition;
	bool running;
	struct counts counts;
	struct opt_i64 cpu_ns;
	struct opt_i64 processes; /* still running */
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

struct metrics_node {
	const char *version;
	const struct metrics_probe *probes;
	size_t nr_probes;
	const struct metrics_loss *losses;
	size_t nr_losses;
	struct opt_i64 probe_cpu_ns, collector_cpu_ns;
	const struct metrics_job *jobs;
	size_t nr_jobs;
};

/* The values written before. */
struct metrics;

/* NULL: no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/* 0, or -ENOMEM: something is missing in the text. Errors of out are the caller's. */
int metrics_write(struct metrics *m, const struct metrics_node *node, FILE *out);

#endif
