/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of a sampler, shared by its files: sampler.c (rows, names, the sample), sampler_facts.c
 * (values since the start of the run: jobs, advice, program runs), sampler_evictions.c (evictors),
 * sampler_processes.c (processes), sampler_slots.c (many jobs).
 * No other file includes this.
 */
#ifndef SAMPLER_IMPL_H
#define SAMPLER_IMPL_H

#include "cachemon/capture/cgroup_names.h"
#include "cachemon/capture/fs_table.h"
#include "cachemon/capture/name_table.h"
#include "cachemon/capture/probe_set_impl.h"
#include "cachemon/base/vec.h"
#include "cachemon/capture/sampler_slots.h"

struct sampler {
	struct probe_set *set;
	struct cachemon_maps_bpf *skel;
	struct ring_buffer *ring;
	struct reference_ring *references; /* NULL: the programs have none */
	struct resolver *resolver;
	struct name_table *names;
	struct fs_table *filesystems;
	struct trace_ring *traces; /* NULL: absent */
	bool names_handed_out;	   /* at the last sample, which has ended */
	struct job_row *job_rows, *job_rows_again;
	struct file_row_key *keys;
	struct file_row *rows;
	uint32_t max_rows, max_blocks;
	uint32_t pages_left; /* evicted pages when room was last made, modulo 2^32 */
	struct sample_file *files;
	size_t nr_files, max_files;
	struct sample_wait *waits;
	size_t nr_waits, max_waits;
	struct sample_advice *advice;
	size_t nr_advice, max_advice;
	struct cgroup_names *cgroups;
	struct sample_eviction *evictions;
	size_t nr_evictions, max_evictions;
	struct sample_adder *adders;
	size_t nr_adders, max_adders;
	struct sample_process *processes;
	size_t nr_processes, max_processes;
	/* Lost here for lack of memory; and the total of all samples so far. */
	uint64_t evictors_full[EVICT_NR], adders_full;
	uint64_t full_reported[EVICT_NR], adders_full_reported;
	struct sample_evictions seen;
	/* By slot. */
	uint32_t nr_slots;
	struct sampler_slot {
		/* ENDS: its job is to end; LAST: it has, and its next sample is the last one;
		 * ENDED: the page state may have entries of it. */
		enum { SLOT_FREE, SLOT_USED, SLOT_ENDS, SLOT_LAST, SLOT_ENDED } state;
		struct sample_job job; /* at the latest read */
		int64_t rest[C_NR];
		int64_t unsettled; /* resident_unused of all samples: the pages of open fate */
	} * slots;
	struct slot_sample *samples; /* of many jobs */
	size_t max_samples;
};

/* Room for elements of a map, and what becomes of those that were read. */
struct sampler_batch {
	void *keys, *values;
	uint32_t size;
	void (*take)(struct sampler *s, const void *keys, const void *values, uint32_t nr);
};
enum { SAMPLER_BATCH = 128 }; /* elements whose keys and values fit on the stack */
/* The map is quiet since the switch, so one step can read and delete everything. After an error,
 * the rest stays in the map until its generation is drained again. */
int sampler_drain(struct sampler *s, int fd, const struct sampler_batch *b);
/* One drain of everything, without the parts of a sample that belong to one job. */
int sampler_collect(struct sampler *s, bool last, struct sample *out);
/* Into slots. */
int sampler_jobs_take(struct sampler *s);
/* Reads the jobs' sleeps again once all rows are drained, so that they add up to the stalls. */
int sampler_sleeps_take(struct sampler *s);
/* Reads evictions and adders of the quiet generation, between the beginning and the end of a
 * sample. */
bool sampler_sees_evictors(const struct sampler *s);
void sampler_evictions_begin(struct sampler *s);
int sampler_evictions_drain(struct sampler *s, uint32_t generation);
void sampler_evictions_end(struct sampler *s, struct sample_evictions *ret);
/* Into processes: drains the quiet generation; then in order, and as many as an interval keeps. */
int sampler_processes_drain(struct sampler *s, uint32_t generation);
void sampler_processes_end(struct sampler *s);
/* The same for some of them; returns how many are kept. */
size_t sampler_processes_order(struct sample_process *p, size_t nr);
/* Into advice. */
void sampler_advice_take(struct sampler *s);

#endif
