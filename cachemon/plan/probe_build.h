/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The builds of the probes (bpf/kernel/build.bpf.h), from one source for kernels of different
 * abilities, and which of them a kernel can run. Also what is recorded besides counters, or why it
 * is not. Owns the needs of each build, and the needs of each record.
 */
#ifndef PROBE_BUILD_H
#define PROBE_BUILD_H

#include <stdbool.h>

struct btf;
struct probe_plan;

enum probe_build {
	BUILD_DIRECT, /* loads from any kernel address */
	BUILD_PROBE,  /* reads with a helper */
	BUILD_BASIC,  /* the same, without features after Linux 5.10 */
	BUILD_NR,
};

/* Its programs record references of sampled pages (CACHEMON_REFERENCES); traces of files too
 * (CACHEMON_TRACES). */
bool probe_build_references(enum probe_build build);
bool probe_build_traces(enum probe_build build);
/* Its programs can count many jobs at once. */
bool probe_build_jobs(enum probe_build build);
/* Its programs record evictors. */
bool probe_build_evictors(enum probe_build build);

/* The first build that this kernel can run, by its BTF. CACHEMON_PROBES=NAME in the environment
 * selects a later one, to separate a bug of a build from one of the kernel. */
enum probe_build probe_build_choose(const struct btf *btf);

/* Records in addition to counters. */
enum probe_record {
	RECORD_REFERENCES, /* lookups of sampled pages: for the miss-ratio curve */
	RECORD_TRACES,	   /* accesses to a few files: for replays of readahead */
	RECORD_EVICTORS,   /* the evictors of the job's pages */
	RECORD_NR,
};

/* "references", "traces", "evictors". */
const char *probe_record_name(enum probe_record record);
/* Its purpose, in a few words. */
const char *probe_record_use(enum probe_record record);
/* A pure function of the plan. NULL: it is recorded. May point into the plan. */
const char *probe_record_absent(const struct probe_plan *plan, enum probe_record record);

#endif
