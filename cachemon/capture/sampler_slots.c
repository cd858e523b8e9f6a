/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/sampler_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/capture/sampler_impl.h"

static uint32_t free_slot(const struct sampler *s)
{
	uint32_t slot = 1;

	while (slot < s->nr_slots && s->slots[slot].state != SLOT_FREE)
		slot++;
	return slot;
}

bool sampler_slots_free(const struct sampler *s)
{
	return free_slot(s) < s->nr_slots;
}

static int take_slot(struct sampler *s, const struct cgroup_ref *cgroups, size_t nr,
		     uint32_t *ret_slot, struct errtext *err)
{
	uint32_t slot = free_slot(s);
	int r;

	if (slot == s->nr_slots)
		return errtext_set(err, -ENOSPC, "%u jobs are watched already: no more at once",
				   slot - 1);
	*ret_slot = slot;
	r = probe_set_job_begin(s->set, slot, cgroups, nr, err);
	/* After a failure the next drain may have counts of it, but no sample does. */
	s->slots[slot] = (struct sampler_slot){.state = r ? SLOT_ENDED : SLOT_USED};
	return r;
}

static int fail_slot(struct sampler *s, uint32_t slot, int r)
{
	if (!r)
		return 0;
	probe_set_job_end(s->set, slot);
	s->slots[slot].state = SLOT_ENDED;
	return r;
}

int sampler_slots_begin(struct sampler *s, const struct cgroup_ref *cgroups, size_t nr,
			bool populated, uint32_t *ret_slot, struct errtext *err)
{
	int r = take_slot(s, cgroups, nr, ret_slot, err);

	if (r || !populated)
		return r;
	return fail_slot(s, *ret_slot, probe_set_seed(s->set, NULL, 0, err));
}

int sampler_slots_begin_tree(struct sampler *s, pid_t tgid, bool of_root, uint32_t *ret_slot,
			     struct errtext *err)
{
	int r = take_slot(s, NULL, 0, ret_slot, err);

	if (r)
		return r;
	return fail_slot(s, *ret_slot, probe_set_job_tree(s->set, *ret_slot, tgid, of_root, err));
}

int sampler_slots_join(struct sampler *s, uint32_t slot, const struct cgroup_ref *cgroups,
		       size_t nr, bool populated, struct errtext *err)
{
	int r = 0;

	if (s->slots[slot].state == SLOT_USED)
		r = probe_set_job_join(s->set, slot, cgroups, nr, err);
	if (!r && populated)
		r = probe_set_seed(s->set, NULL, 0, err);
	return r;
}

void sampler_slots_end(struct sampler *s, uint32_t slot)
{
	s->slots[slot].state = SLOT_ENDS;
}

static int file_by_job(const void *a, const void *b)
{
	const struct sample_file *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

static int advice_by_job(const void *a, const void *b)
{
	const struct sample_advice *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

static int process_by_job(const void *a, const void *b)
{
	const struct sample_process *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

/* Adds the counts of every slot and its files. */
static void sum_all(const struct sampler *s, int64_t sum[C_NR])
{
	memset(sum, 0, C_NR * sizeof(*sum));
	for (uint32_t slot = 0; slot < s->nr_slots; slot++)
		for (int c = 0; c < C_NR; c++)
			sum[c] += s->slots[slot].rest[c];
	for (size_t i = 0; i < s->nr_files; i++)
		for (int c = 0; c < C_NR; c++)
			sum[c] += s->files[i].c[c];
}

/* Where the parts of the next slot begin in the sorted arrays. */
struct parts {
	size_t file, advice, process;
	int64_t all[C_NR];
};

static void skip_before(const struct sampler *s, uint32_t slot, struct parts *at)
{
	while (at->file < s->nr_files && s->files[at->file].job < slot)
		at->file++;
	while (at->advice < s->nr_advice && s->advice[at->advice].job < slot)
		at->advice++;
	while (at->process < s->nr_processes && s->processes[at->process].job < slot)
		at->process++;
}

/* The arrays are sorted by slot, and their parts of this one begin at *at. */
static void slot_take(struct sampler *s, uint32_t slot, struct parts *at, struct sample *out)
{
	int64_t *others = out->rest[JOB_OTHERS];

	out->files = s->files + at->file;
	out->advice = s->advice + at->advice;
	out->processes = s->processes + at->process;
	out->nr_files = out->nr_advice = out->nr_processes = 0;
	memcpy(out->rest[JOB_WATCHED], s->slots[slot].rest, sizeof(out->rest[JOB_WATCHED]));
	for (int c = 0; c < C_NR; c++)
		others[c] = at->all[c] - s->slots[slot].rest[c];
	for (; at->file < s->nr_files && s->files[at->file].job == slot; at->file++) {
		struct sample_file *f = &s->files[at->file];

		for (int c = 0; c < C_NR; c++)
			others[c] -= f->c[c];
		f->job = JOB_WATCHED;
		out->nr_files++;
	}
	for (; at->advice < s->nr_advice && s->advice[at->advice].job == slot; at->advice++) {
		s->advice[at->advice].job = JOB_WATCHED;
		out->nr_advice++;
	}
	for (; at->process < s->nr_processes && s->processes[at->process].job == slot;
	     at->process++)
		out->nr_processes++;
	out->nr_processes = sampler_processes_order(s->processes + at->process - out->nr_processes,
						    out->nr_processes);
	out->jobs[JOB_WATCHED] = s->slots[slot].job;
}

static void free_ended(struct sampler *s)
{
	for (uint32_t slot = 1; slot < s->nr_slots; slot++)
		if (s->slots[slot].state == SLOT_ENDED)
			s->slots[slot].state = SLOT_FREE;
}

int sampler_slots_take(struct sampler *s, bool last, const struct slot_sample **ret, size_t *ret_nr,
		       struct errtext *err)
{
	struct sample all;
	struct parts at = {};
	bool ended = false;
	size_t nr = 0;
	int r = sampler_collect(s, last, &all), swept;

	qsort(s->files, s->nr_files, sizeof(*s->files), file_by_job);
	qsort(s->advice, s->nr_advice, sizeof(*s->advice), advice_by_job);
	qsort(s->processes, s->nr_processes, sizeof(*s->processes), process_by_job);
	sum_all(s, at.all);
	all.evictions = NULL;
	for (uint32_t slot = 1; slot < s->nr_slots; slot++) {
		struct slot_sample *to;

		if (s->slots[slot].state == SLOT_FREE || s->slots[slot].state == SLOT_ENDED)
			continue;
		if (vec_reserve(s->samples, s->max_samples, nr + 1)) {
			r = r ? r : -ENOMEM;
			break;
		}
		to = &s->samples[nr++];
		*to = (struct slot_sample){slot, s->slots[slot].state == SLOT_LAST, all};
		skip_before(s, slot, &at);
		slot_take(s, slot, &at, &to->sample);
		if (!to->last)
			continue;
		s->slots[slot].state = SLOT_ENDED;
	}
	for (uint32_t slot = 1; slot < s->nr_slots; slot++)
		ended |= s->slots[slot].state == SLOT_ENDED;
	swept = ended ? probe_set_sweep_ended(s->set) : 0;
	if (!swept)
		free_ended(s);
	r = r ? r : swept;
	*ret = s->samples;
	*ret_nr = nr;
	return r ? errtext_set(err, r, "cannot read the probes: %s", strerror(-r)) : 0;
}
