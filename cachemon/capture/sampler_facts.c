/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"
#include "cachemon/capture/sampler_impl.h"

enum { LOOKS_MAX = 8, ADVICE_BATCH = 64 };

static int job_rows_read(struct sampler *s, uint32_t slot, struct job_row *rows)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.jobs), &slot, rows) ? -errno : 0;
}

/* Both consist of 64-bit counts. */
static void counts_add(void *sum, const void *counts, size_t bytes)
{
	uint64_t *to = sum;
	const uint64_t *from = counts;

	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] += from[i];
}

#define COUNTS_ADD(sum, counts) counts_add(&(sum), &(counts), sizeof(sum))

static void vfs_device_add(struct vfs_device sum[VFS_DEVICES], const struct vfs_device *w)
{
	struct vfs_device *to = sum;

	while (to < sum + VFS_DEVICES && to->dev && to->dev != w->dev)
		to++;
	if (!w->dev || to == sum + VFS_DEVICES)
		return;
	to->dev = w->dev;
	COUNTS_ADD(to->calls, w->calls);
	COUNTS_ADD(to->did, w->did);
}

static void job_sum(const struct sampler *s, struct sample_job *job)
{
	int64_t alive = 0;

	*job = (struct sample_job){};
	for (unsigned int cpu = 0; cpu < s->set->nr_cpus; cpu++) {
		const struct job_row *row = &s->job_rows[cpu];

		job->cpu_ns += row->cpu_ns;
		job->rchar_bytes += row->rchar_bytes;
		job->syscr_calls += row->syscr_calls;
		job->processes += row->processes;
		alive += row->alive;
		COUNTS_ADD(job->sleeps, row->sleeps);
		COUNTS_ADD(job->activity, row->activity);
		COUNTS_ADD(job->net, row->net);
		COUNTS_ADD(job->vfs, row->vfs);
		for (int i = 0; i < VFS_DEVICES; i++)
			vfs_device_add(job->vfs_of, &row->vfs_of[i]);
	}
	job->alive = alive > 0 ? alive : 0;
}

/* Charges of tasks, and amounts not yet charged to running tasks. Both are from one moment if no
 * task was charged between two reads. At the end of the run, the reading is used that may miss
 * charges in between but counts nothing twice. */
static int job_take(struct sampler *s, uint32_t slot)
{
	size_t size = s->set->nr_cpus * sizeof(*s->job_rows);
	struct sweep_charges_args running = {0};
	struct sample_job *job = &s->slots[slot].job;
	int r = 0;

	for (int look = 0; look < LOOKS_MAX; look++) {
		r = job_rows_read(s, slot, s->job_rows);
		if (r)
			return r;
		r = probe_set_uncharged(s->set, slot, &running);
		if (r || job_rows_read(s, slot, s->job_rows_again) ||
		    !memcmp(s->job_rows, s->job_rows_again, size))
			break;
	}
	job_sum(s, job);
	job->cpu_ns += running.cpu_ns;
	job->rchar_bytes += running.rchar_bytes;
	job->syscr_calls += running.syscr_calls;
	COUNTS_ADD(job->activity, running.activity);
	for (int i = 0; i < VFS_DEVICES && job->vfs_of[i].dev; i++)
		fs_table_see(s->filesystems, job->vfs_of[i].dev, NULL);
	return r;
}

int sampler_jobs_take(struct sampler *s)
{
	int r = job_rows_read(s, JOB_OTHERS, s->job_rows);

	if (r)
		return r;
	job_sum(s, &s->slots[JOB_OTHERS].job);
	for (uint32_t slot = 1; slot < s->nr_slots && !r; slot++)
		if (s->slots[slot].state != SLOT_FREE)
			r = job_take(s, slot);
	return r;
}

int sampler_sleeps_take(struct sampler *s)
{
	struct sample_job now;

	for (uint32_t slot = 0; slot < s->nr_slots; slot++) {
		int r = 0;

		if (slot && s->slots[slot].state == SLOT_FREE)
			continue;
		r = job_rows_read(s, slot, s->job_rows);
		if (r)
			return r;
		job_sum(s, &now);
		memcpy(s->slots[slot].job.sleeps, now.sleeps, sizeof(now.sleeps));
	}
	return 0;
}

/*
 * A process may be forked on a CPU that was already read and end on one that was not: then its end
 * counts but its beginning does not. Two equal reads had no change in between, so they are
 * consistent.
 */
bool sampler_job_ended(struct sampler *s)
{
	int64_t alive = 0;

	if (job_rows_read(s, JOB_WATCHED, s->job_rows))
		return false;
	for (unsigned int cpu = 0; cpu < s->set->nr_cpus; cpu++)
		alive += s->job_rows[cpu].alive;
	if (alive > 0 || job_rows_read(s, JOB_WATCHED, s->job_rows_again))
		return false;
	for (unsigned int cpu = 0; cpu < s->set->nr_cpus; cpu++)
		if (s->job_rows[cpu].alive != s->job_rows_again[cpu].alive ||
		    s->job_rows[cpu].processes != s->job_rows_again[cpu].processes)
			return false;
	return true;
}

/* Absolute values: a row without memory keeps the previous sample's values. */
void sampler_advice_take(struct sampler *s)
{
	int fd = bpf_map__fd(s->skel->maps.advice), r = 0;
	struct advice_key keys[ADVICE_BATCH];
	struct advice_row rows[ADVICE_BATCH];
	uint64_t token;
	bool first = true;

	s->nr_advice = 0;
	while (!r) {
		uint32_t nr = ADVICE_BATCH;

		r = bpf_map_lookup_batch(fd, first ? NULL : &token, &token, keys, rows, &nr, NULL)
			    ? -errno
			    : 0;
		first = false;
		if ((r && r != -ENOENT) || vec_reserve(s->advice, s->max_advice, s->nr_advice + nr))
			return;
		for (uint32_t i = 0; i < nr; i++)
			s->advice[s->nr_advice++] = (struct sample_advice){.file = keys[i].file,
									   .job = keys[i].job,
									   .kind = keys[i].kind,
									   .call = keys[i].call,
									   .row = rows[i]};
	}
}

int sampler_progress(struct sampler *s, struct sample_job *ret)
{
	int r = sampler_jobs_take(s);

	*ret = s->slots[JOB_WATCHED].job;
	return r;
}
