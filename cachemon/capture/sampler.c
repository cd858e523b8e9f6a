/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"
#include "cachemon/capture/name_table.h"
#include "cachemon/plan/fs_cover.h"
#include "cachemon/base/clock.h"

#define BATCH 1024

static int on_name(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;
	const struct name_record *rec = data;
	struct resolved name = {};

	/* Without a valid record or memory, the file stays without a name but still counts. */
	if (!resolver_name(s->resolver, rec, size, &name))
		name_table_put(s->names, &rec->file, name.path, rec->fstype, name.deleted);
	if (size >= offsetof(struct name_record, data))
		fs_table_see(s->filesystems, rec->file.dev, rec);
	return 0;
}

int sampler_new(struct probe_set *set, struct sampler **ret, struct errtext *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	unsigned int cpus = set->nr_cpus;
	int r = -ENOMEM;

	if (!s)
		goto fail;
	s->set = set;
	s->skel = set->skel;
	s->max_rows = bpf_map__max_entries(s->skel->maps.rows_a);
	s->max_blocks = bpf_map__max_entries(s->skel->maps.blocks);
	s->job_rows = calloc(cpus, sizeof(*s->job_rows));
	s->job_rows_again = calloc(cpus, sizeof(*s->job_rows_again));
	s->keys = calloc(BATCH, sizeof(*s->keys));
	s->rows = calloc(BATCH, sizeof(*s->rows));
	s->nr_slots = set->nr_slots;
	s->slots = calloc(s->nr_slots, sizeof(*s->slots));
	if (!s->job_rows || !s->job_rows_again || !s->keys || !s->rows || !s->slots ||
	    name_table_new(&s->names))
		goto fail;
	if (s->nr_slots == JOB_NR)
		s->slots[JOB_WATCHED].state = SLOT_USED;
	r = resolver_new("/proc", "/sys", &s->resolver);
	if (r)
		goto fail;
	r = fs_table_new("/proc", fs_cover_direct(set->plan), &s->filesystems);
	if (r)
		goto fail;
	r = cgroup_names_of_memory("/proc/self/mountinfo", &s->cgroups);
	if (r)
		goto fail;
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.names), on_name, s, NULL);
	if (!s->ring) {
		r = -errno;
		goto fail;
	}
	if (probe_build_references(set->plan->build))
		r = reference_ring_new(set, s->ring, &s->references);
	if (r)
		goto fail;
	*ret = s;
	return 0;
fail:
	sampler_free(s);
	return errtext_set(err, r, "cannot read the probes: %s", strerror(-r));
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	ring_buffer__free(s->ring);
	reference_ring_free(s->references);
	resolver_free(s->resolver);
	name_table_free(s->names);
	trace_ring_free(s->traces);
	fs_table_free(s->filesystems);
	free(s->job_rows);
	free(s->job_rows_again);
	free(s->keys);
	free(s->rows);
	free(s->files);
	free(s->waits);
	free(s->advice);
	cgroup_names_free(s->cgroups);
	free(s->evictions);
	free(s->adders);
	free(s->processes);
	free(s->slots);
	free(s->samples);
	free(s);
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

void sampler_names(struct sampler *s)
{
	if (s->names_handed_out)
		name_table_expire(s->names);
	s->names_handed_out = false;
	ring_buffer__consume(s->ring);
	if (s->references)
		reference_ring_settle(s->references, clock_now_ns());
	if (s->traces)
		trace_ring_tick(s->traces);
}

int sampler_trace(struct sampler *s, struct traces *traces)
{
	int r = trace_ring_new(s->set, traces, s->ring, &s->traces);

	if (!r)
		trace_ring_start(s->traces);
	return r;
}

struct trace_ring *sampler_trace_ring(const struct sampler *s)
{
	return s->traces;
}

struct reference_ring *sampler_reference_ring(const struct sampler *s)
{
	return s->references;
}

void sampler_forget(struct sampler *s)
{
	ring_buffer__consume(s->ring);
	name_table_clear(s->names);
}

void sampler_references(struct sampler *s, bool last, struct sample *out)
{
	int64_t lookups = s->slots[JOB_WATCHED].rest[C_lookups];

	out->references = s->references ? reference_ring_sample(s->references) : NULL;
	if (!out->references)
		return;
	for (size_t i = 0; i < s->nr_files; i++)
		if (s->files[i].job == JOB_WATCHED)
			lookups += s->files[i].c[C_lookups];
	reference_ring_close(s->references, last, out->start_ns, lookups);
}

bool sampler_pressed(const struct sampler *s)
{
	return s->skel->bss->shared.rows_used > s->max_rows / 2 ||
	       s->skel->bss->shared.evictors_used > NR_EVICTORS / 2;
}

int sampler_make_room(struct sampler *s)
{
	uint32_t left = s->skel->bss->shared.evicted_pages + s->skel->bss->shared.truncated_pages;
	int r;

	if (s->skel->bss->shared.blocks_used <= s->max_blocks / 8 * 7 || left == s->pages_left)
		return 0;
	r = probe_set_make_room(s->set);
	if (!r)
		s->pages_left = left;
	return r;
}

static struct sample_file *file_push(struct sampler *s)
{
	if (vec_reserve(s->files, s->max_files, s->nr_files + 1))
		return NULL;
	memset(&s->files[s->nr_files], 0, sizeof(s->files[0]));
	return &s->files[s->nr_files++];
}

static bool is_rest(const struct file_row_key *key)
{
	return !key->file.ino && !key->file.dev && !key->file.gen;
}

static bool all_zero(const struct file_row *row)
{
	for (int i = 0; i < C_NR; i++)
		if (row->c[i])
			return false;
	return true;
}

static const char *name_fstype(const struct name_entry *name)
{
	return *name->fstype ? name->fstype : NULL;
}

/* A row without memory joins the rest, so that totals stay exact. */
static void row_take(struct sampler *s, const struct file_row_key *key, const struct file_row *row)
{
	struct sample_file *f = NULL;
	struct name_entry *name;

	if (key->job >= s->nr_slots || (all_zero(row) && is_rest(key)))
		return;
	if (!is_rest(key))
		f = file_push(s);
	if (!f) {
		for (int i = 0; i < C_NR; i++)
			s->slots[key->job].rest[i] += row->c[i];
		return;
	}
	f->key = key->file;
	f->job = key->job;
	if (key->job != JOB_OTHERS)
		fs_table_see(s->filesystems, key->file.dev, NULL);
	f->size_bytes = row->flags & ROW_SIZED ? row->size_bytes : SAMPLE_SIZE_UNKNOWN;
	f->deleted = row->flags & ROW_DELETED;
	memcpy(f->c, row->c, sizeof(f->c));
	name = name_table_get(s->names, &key->file);
	if (name) {
		f->path = name->path;
		f->fstype = name_fstype(name);
		f->deleted |= name->deleted;
		name->taken = true;
	}
}

int sampler_drain(struct sampler *s, int fd, const struct sampler_batch *b)
{
	uint64_t token;
	bool first = true;
	int r = 0;

	while (!r) {
		uint32_t n = b->size;

		if (bpf_map_lookup_and_delete_batch(fd, first ? NULL : &token, &token, b->keys,
						    b->values, &n, NULL))
			r = -errno;
		if (r && r != -ENOENT)
			return r;
		b->take(s, b->keys, b->values, n);
		first = false;
	}
	return 0;
}

static void rows_take(struct sampler *s, const void *keys, const void *values, uint32_t n)
{
	const struct file_row_key *key = keys;
	const struct file_row *row = values;

	for (uint32_t i = 0; i < n; i++)
		row_take(s, &key[i], &row[i]);
}

static int rows_drain(struct sampler *s, int fd)
{
	const struct sampler_batch b = {s->keys, s->rows, BATCH, rows_take};
	int r = sampler_drain(s, fd, &b), rest = probe_set_rest_rows(s->set, fd);

	return r ? r : rest;
}

/* Without memory for one, the file's waits have no lengths. */
static void waits_take(struct sampler *s, const void *keys, const void *values, uint32_t n)
{
	const struct file_key *key = keys;
	const struct wait_row *row = values;

	for (uint32_t i = 0; i < n; i++)
		if (!vec_reserve(s->waits, s->max_waits, s->nr_waits + 1))
			s->waits[s->nr_waits++] = (struct sample_wait){key[i], row[i]};
}

static int waits_drain(struct sampler *s, int fd)
{
	struct file_key keys[SAMPLER_BATCH];
	struct wait_row rows[SAMPLER_BATCH];
	const struct sampler_batch b = {keys, rows, SAMPLER_BATCH, waits_take};

	return sampler_drain(s, fd, &b);
}

/* Files that were named or renamed, without counts in this sample. */
static void names_take(struct sampler *s)
{
	for (size_t i = 0; i < name_table_nr(s->names); i++) {
		struct name_entry *e = name_table_at(s->names, i);
		struct sample_file *f;

		if (e->taken || !(f = file_push(s)))
			continue;
		f->key = e->key;
		f->job = JOB_WATCHED;
		f->size_bytes = SAMPLE_SIZE_UNKNOWN;
		f->path = e->path;
		f->fstype = name_fstype(e);
		f->deleted = e->deleted;
	}
}

/* The open fates by the counters of all samples; at the end also by the page state. If both are
 * equal, each fate was counted exactly once. */
static int unsettled_take(struct sampler *s, bool last, int64_t *ret_error)
{
	int64_t unsettled = 0;
	uint64_t pages;
	int r;

	for (uint32_t slot = 1; slot < s->nr_slots; slot++)
		s->slots[slot].unsettled += s->slots[slot].rest[C_resident_unused];
	for (size_t i = 0; i < s->nr_files; i++)
		s->slots[s->files[i].job].unsettled += s->files[i].c[C_resident_unused];
	if (!last)
		return 0;
	/* The pages of a job that ends with this sample are still in the page state. */
	for (uint32_t slot = 1; slot < s->nr_slots; slot++)
		if (s->slots[slot].state == SLOT_USED || s->slots[slot].state == SLOT_LAST)
			unsettled += s->slots[slot].unsettled;
	r = probe_set_count_outstanding(s->set, &pages);
	if (!r)
		*ret_error = (int64_t)pages - unsettled;
	return r;
}

/* Reads the counts of the quiet generation. First sends changed names; at the end of the run, the
 * names of all files. Names must be read before the rows, because programs create a row before they
 * send its name. On failure the known names stay, and the error is returned. */
static int generation_drain(struct sampler *s, uint32_t generation, bool last, int *names)
{
	int r = probe_set_sweep_cells(s->set, generation), others, waits;

	if (r)
		return r;
	others = sampler_evictions_drain(s, generation);
	r = sampler_processes_drain(s, generation);
	others = others ? others : r;
	r = probe_set_sweep_names(s->set, generation ? NAMES_OF_ROWS_B : NAMES_OF_ROWS_A);
	if (last && !r)
		r = probe_set_sweep_names(s->set, NAMES_OF_ALL);
	if (r)
		*names = r;
	sampler_names(s);
	r = rows_drain(s, bpf_map__fd(generation ? s->skel->maps.rows_b : s->skel->maps.rows_a));
	waits = waits_drain(
		s, bpf_map__fd(generation ? s->skel->maps.waits_b : s->skel->maps.waits_a));
	r = r ? r : waits;
	return r ? r : others;
}

/* Their tasks are charged; the rest of their counts is in the generation that is drained next. */
static int end_jobs(struct sampler *s)
{
	bool ended = false;
	int r = 0, waited;

	for (uint32_t slot = 1; slot < s->nr_slots; slot++) {
		int e;

		if (s->slots[slot].state != SLOT_ENDS)
			continue;
		e = probe_set_job_end(s->set, slot);
		if (!e)
			s->slots[slot].state = SLOT_LAST;
		ended |= !e;
		r = r ? r : e;
	}
	waited = ended ? probe_set_grace_period(s->set) : 0;
	return r ? r : waited;
}

int sampler_collect(struct sampler *s, bool last, struct sample *out)
{
	uint32_t generation;
	uint64_t missed;
	int r, other, jobs, sleeps, ended, names = 0;

	memset(out, 0, sizeof(*out));
	for (uint32_t slot = 0; slot < s->nr_slots; slot++)
		memset(s->slots[slot].rest, 0, sizeof(s->slots[slot].rest));
	s->nr_files = 0;
	s->nr_processes = 0;
	s->nr_waits = 0;
	sampler_evictions_begin(s);
	/* Done last, so that the generation's lookups match the bytes read so far. After
	 * detaching, still-running tasks can no longer be charged. */
	jobs = sampler_jobs_take(s);
	ended = end_jobs(s);
	out->end_ns = clock_now_ns();
	if (last)
		probe_set_detach(s->set);
	r = probe_set_flip(s->set, &generation);
	if (!r)
		r = generation_drain(s, generation, last, &names);
	/* Detaching lost which generation was active, so both are drained. */
	if (last && !r)
		r = probe_set_flip(s->set, &generation);
	if (last && !r)
		r = generation_drain(s, generation, last, &names);
	other = unsettled_take(s, last, &out->unsettled_error_pages);
	r = r ? r : other;
	sleeps = sampler_sleeps_take(s);
	r = r ? r : sleeps;
	sampler_advice_take(s);
	r = r ? r : jobs;
	r = r ? r : ended;
	r = r ? r : names;
	s->names_handed_out = true;
	resolver_refresh(s->resolver);
	out->filesystems = fs_table_describe(s->filesystems, &out->nr_filesystems);
	out->waits = s->waits;
	out->nr_waits = s->nr_waits;
	out->advice = s->advice;
	out->nr_advice = s->nr_advice;
	if (sampler_sees_evictors(s)) {
		sampler_evictions_end(s, &s->seen);
		out->evictions = &s->seen;
	}
	out->losses = s->skel->bss->shared.losses;
	out->recursion_misses = probe_set_recursion_misses(s->set, &missed) ? -1 : (int64_t)missed;
	return r;
}

int sampler_take(struct sampler *s, bool last, struct sample *out, struct errtext *err)
{
	int r = sampler_collect(s, last, out);

	names_take(s);
	out->files = s->files;
	out->nr_files = s->nr_files;
	for (uint32_t slot = 0; slot < JOB_NR; slot++) {
		memcpy(out->rest[slot], s->slots[slot].rest, sizeof(out->rest[slot]));
		out->jobs[slot] = s->slots[slot].job;
	}
	sampler_processes_end(s);
	out->processes = s->processes;
	out->nr_processes = s->nr_processes;
	return r ? errtext_set(err, r, "cannot read the probes: %s", strerror(-r)) : 0;
}
