/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One interval as the collector passes it to the store: plain values without kernel or SQLite
 * types. Owns the layout of a sample. All counters are deltas of the interval. The store borrows a
 * sample for the duration of the call.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/figures/counters.h"
#include "cachemon/account/passes.h"
#include "cachemon/account/reference_sample.h"
#include "cachemon/account/sample_machine.h"
#include "cachemon/account/slices.h"

#define SAMPLE_SIZE_UNKNOWN UINT64_MAX

/* A file active in this interval. path NULL: no name (yet). Bytes are as in the kernel. */
struct sample_file {
	struct file_key key;
	uint32_t job;	  /* JOB_* slot */
	const char *path; /* NUL-terminated raw bytes, absolute */
	bool deleted;
	const char *fstype;  /* NULL: unknown */
	uint64_t size_bytes; /* SAMPLE_SIZE_UNKNOWN: not seen in this interval */
	int64_t c[C_NR];
};

/* A filesystem with files of the run, as far as known now. */
struct sample_filesystem {
	uint32_t dev;
	const char *type;   /* NULL: unknown */
	const char *mount;  /* NULL: no visible mount */
	const char *device; /* the block device, as the mount has it; NULL: none, or unknown */
	const char *cover, *why;
};

/* Absolute values since the start of the run, replaced at every interval. */
struct sample_advice {
	struct file_key file;
	uint32_t job;
	uint8_t kind; /* enum advice_kind */
	uint8_t call; /* enum advice_call */
	struct advice_row row;
};

/* Evictors of the interval, and whose pages they evicted. */
struct sample_eviction {
	struct evictor_key key;
	uint64_t pages;
	const char *cgroup; /* path of another cgroup in the hierarchy that limits memory; NULL:
			     * unknown */
};

/* Processes outside the job that added pages to the cache. */
struct sample_adder {
	struct adder_key key;
	uint64_t pages;
	const char *cgroup; /* as above */
};

struct sample_evictions {
	const struct sample_eviction *evicted;
	size_t nr_evicted;
	const struct sample_adder *adders;
	size_t nr_adders;
	/* Counts that did not fit: pages of the job by cause, and pages that others added. */
	uint64_t full[EVICT_NR];
	uint64_t adders_full;
};

/* A process of the job that waited or read in the interval. */
struct sample_process {
	uint32_t job; /* JOB_* slot */
	uint32_t pid;
	struct process_row row;
};

/* Absolute values since the start of the run. */
struct sample_job {
	uint64_t cpu_ns;
	uint64_t rchar_bytes;
	uint64_t syscr_calls;
	uint64_t processes;
	uint64_t alive; /* still running: at the end, those that outlive the command */
	uint64_t sleeps[WAIT_BUCKETS]; /* that stalls counts, by their length */
	struct activity activity;      /* many jobs; with one job, 0 */
	struct net_row net[NET_NR];
	struct vfs_row vfs;
	struct vfs_device vfs_of[VFS_DEVICES];
};

/* Sleeps of the watched job's tasks for a file in the interval. */
struct sample_wait {
	struct file_key file;
	struct wait_row row;
};

/* The cost of a run, in parts that add up to the total. */
enum cost_part {
	COST_READS,
	COST_PAGES,
	COST_WINDOWS,
	COST_FAULTS,
	COST_SWITCHES,
	COST_OTHER,
	COST_PARTS
};

/* Absolute values since the start of the run: overhead. < 0: unknown. */
struct sample_cost {
	int64_t cpu_ns;		  /* probes and collector */
	int64_t probe_cpu_ns;	  /* number of events x calibrated ns */
	int64_t collector_cpu_ns; /* < 0: unknown */
	double probe_ns_per_lookup;
	double share_of_job_cpu; /* probes in the job's tasks */
	double advice_calls_ns;	 /* cost of seeing every advice call; unknown while that is off */
	double budget;		 /* budget: share of the job's CPU time; < 0: unlimited */
	double share;		 /* probes in the job's tasks and the collector / its CPU time */
	int64_t part_ns[COST_PARTS]; /* probes in the job's tasks */
};

/* Detail that was dropped to reduce the cost. */
struct sample_shed {
	const char *detail, *reason;
	uint64_t from_ns, to_ns; /* since the start of the run; to_ns 0: still dropped */
};

/* A moment that the job marked, at the end of an interval. */
enum { MARK_TEXT_MAX = 256 };
struct sample_mark {
	size_t number;		    /* in order, from 1 */
	uint64_t at_ns, read_on_ns; /* since the start of the run */
	uint64_t since_ns;	    /* CLOCK_MONOTONIC: it was not written before this */
	uint64_t late_ns;	    /* it was written at most this long before at_ns */
	bool waits;		    /* the writer said that it waits for the sample */
	size_t len;
	char text[MARK_TEXT_MAX]; /* any bytes */
	struct counters total;	  /* of the watched job until then */
	uint64_t cpu_ns;
};

struct sample {
	uint64_t start_ns; /* since the start of the run, CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t end_ns;     /* CLOCK_MONOTONIC: later events count in the next interval */
	uint64_t read_on_ns; /* part of the interval with the per-read hook on */
	const struct sample_file *files;
	size_t nr_files;
	/* Counts of files without a row (map full), per job slot: part of the job's totals. */
	int64_t rest[JOB_NR][C_NR];
	const struct sample_wait *waits;
	size_t nr_waits;
	const struct sample_advice *advice;
	size_t nr_advice;
	const struct sample_filesystem *filesystems; /* all filesystems seen so far */
	size_t nr_filesystems;
	const struct sample_evictions *evictions; /* NULL: not seen */
	const struct sample_machine *machine;	  /* NULL: not measured */
	const struct sample_process *processes; /* that waited longest, then read most, in order */
	size_t nr_processes;
	struct sample_job jobs[JOB_NR];
	/* For the watched job since the start of the run; NULL: not recorded. The store notes
	 * what it has written of it. */
	struct reference_sample *references;
	struct sample_cost cost;
	const struct sample_shed *shed; /* all marks so far */
	size_t nr_shed;
	const struct sample_mark *marks; /* not written yet by any call of the store */
	size_t nr_marks;
	uint64_t marks_dropped;	     /* so far */
	struct passes passes;	     /* of the watched job's files in the interval */
	const struct slices *slices; /* of the watched job; NULL: the per-read hook was always on */
	bool no_file_rows;	     /* of this interval: files only have their sums */
	bool file_sums_wait; /* with no_file_rows: keep it for a later interval, or the end */
	struct loss_counts losses;
	int64_t recursion_misses; /* as reported by capture/probe_set; -1: unknown */
	/* In the last sample: the pages with an open fate in the page state, minus those in the
	 * counters; of all jobs together. */
	int64_t unsettled_error_pages;
};

/* The filesystem with this device number; NULL: it was not seen. */
static inline const struct sample_filesystem *sample_filesystem_of(const struct sample *s,
								   uint32_t dev)
{
	for (size_t i = 0; i < s->nr_filesystems; i++)
		if (s->filesystems[i].dev == dev)
			return &s->filesystems[i];
	return NULL;
}

#endif
