/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many jobs at once: which job has which slot, and a sample of each from one drain. For a sampler
 * of a set with many jobs. A slot is free again after the last sample of its job.
 */
#ifndef SAMPLER_SLOTS_H
#define SAMPLER_SLOTS_H

#include "cachemon/capture/sampler.h"

/* In the sample the job is the watched one, and the others are everything else. */
struct slot_sample {
	uint32_t slot;
	bool last; /* the job has ended */
	struct sample sample;
};

/* Tasks in these cgroups and below them belong to a new job; populated: some are there already.
 * Only the kind and id of a cgroup count. -ENOSPC: there are as many jobs as the set can have. */
int sampler_slots_begin(struct sampler *s, const struct cgroup_ref *cgroups, size_t nr,
			bool populated, uint32_t *ret_slot, struct errtext *err);
/* A process and its later descendants; of_root and errors as probe_set_job_tree(). */
int sampler_slots_begin_tree(struct sampler *s, pid_t tgid, bool of_root, uint32_t *ret_slot,
			     struct errtext *err);
/* So do tasks in these, of which the job may have some already; nothing happens if it ends. */
int sampler_slots_join(struct sampler *s, uint32_t slot, const struct cgroup_ref *cgroups,
		       size_t nr, bool populated, struct errtext *err);
/* Whether another job can begin. */
bool sampler_slots_free(const struct sampler *s);
/* The next sample is the job's last one. */
void sampler_slots_end(struct sampler *s, uint32_t slot);

/* As sampler_take(), a sample for each job in *ret, borrowed until the next call. They have no
 * names of files without counts, no evictors, references or lengths of waits. */
int sampler_slots_take(struct sampler *s, bool last, const struct slot_sample **ret, size_t *ret_nr,
		       struct errtext *err);

#endif
