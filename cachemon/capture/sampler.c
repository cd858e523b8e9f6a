/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon.skel.h"
#include "capture/name_table.h"

#define BATCH 1024

struct sampler {
	struct probe_set *set;
	struct cachemon_bpf *skel;
	struct ring_buffer *ring;
	struct resolver *resolver;
	struct name_table *names;
	bool names_handed_out; /* with the last sample, which is over now */
	struct live *lives;    /* one a CPU */
	struct job_row *job_rows;
	struct file_row_key *keys;
	struct file_row *rows;
	uint32_t max_rows, max_chunks;
	struct sample_file *files;
	size_t nr_files, max_files;
	struct sample_advice *advice;
	size_t nr_advice, max_advice;
	int64_t rest[JOB_NR][C_NR];
};

static int on_name(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;
	const struct name_record *rec = data;
	struct resolved name = {};

	/* Without a valid record or memory the file stays unnamed; it is counted all the same. */
	if (!resolver_name(s->resolver, rec, size, &name))
		name_table_put(s->names, &rec->file, name.path, rec->fstype, name.deleted);
	return 0;
}

int sampler_new(struct probe_set *set, struct sampler **ret, struct errtext *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	unsigned int cpus = probe_set_cpus(set);
	int r = -ENOMEM;

	if (!s)
		goto fail;
	s->set = set;
	s->skel = probe_set_skeleton(set);
	s->max_rows = bpf_map__max_entries(s->skel->maps.rows_a);
	s->max_chunks = bpf_map__max_entries(s->skel->maps.chunks);
	s->lives = calloc(cpus, sizeof(*s->lives));
	s->job_rows = calloc(cpus, sizeof(*s->job_rows));
	s->keys = calloc(BATCH, sizeof(*s->keys));
	s->rows = calloc(BATCH, sizeof(*s->rows));
	if (!s->lives || !s->job_rows || !s->keys || !s->rows || name_table_new(&s->names))
		goto fail;
	r = resolver_new("/proc", "/sys", &s->resolver);
	if (r)
		goto fail;
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.names), on_name, s, NULL);
	if (!s->ring) {
		r = -errno;
		goto fail;
	}
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
	resolver_free(s->resolver);
	name_table_free(s->names);
	free(s->lives);
	free(s->job_rows);
	free(s->keys);
	free(s->rows);
	free(s->files);
	free(s->advice);
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
}

bool sampler_pressed(const struct sampler *s)
{
	return s->skel->bss->rows_used > s->max_rows / 2;
}

bool sampler_wants_room(const struct sampler *s)
{
	return s->skel->bss->chunks_used > s->max_chunks / 8 * 7;
}

static struct sample_file *file_push(struct sampler *s)
{
	if (s->nr_files == s->max_files) {
		size_t max = s->max_files ? s->max_files * 2 : 1024;
		struct sample_file *files = realloc(s->files, max * sizeof(*files));

		if (!files)
			return NULL;
		s->files = files;
		s->max_files = max;
	}
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

/* A row without memory for it joins the rest: totals stay exact. */
static void row_take(struct sampler *s, const struct file_row_key *key, const struct file_row *row)
{
	struct sample_file *f = NULL;
	struct name_entry *name;

	if (key->job >= JOB_NR || (all_zero(row) && is_rest(key)))
		return;
	if (!is_rest(key))
		f = file_push(s);
	if (!f) {
		for (int i = 0; i < C_NR; i++)
			s->rest[key->job][i] += row->c[i];
		return;
	}
	f->key = key->file;
	f->job = key->job;
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

static int drain(struct sampler *s, int fd, bool remove)
{
	uint64_t token;
	bool first = true;
	int r = 0;

	while (!r) {
		uint32_t n = BATCH;

		if (bpf_map_lookup_batch(fd, first ? NULL : &token, &token, s->keys, s->rows, &n,
					 NULL))
			r = -errno;
		if (r && r != -ENOENT)
			return r;
		for (uint32_t i = 0; i < n; i++)
			row_take(s, &s->keys[i], &s->rows[i]);
		first = false;
	}
	if (!remove)
		return 0;
	/* Quiet since the flip: what was read is all there was. */
	for (size_t i = 0; i < s->nr_files; i++) {
		struct file_row_key key = {.file = s->files[i].key, .job = s->files[i].job};

		bpf_map_delete_elem(fd, &key);
	}
	for (uint32_t job = 0; job < JOB_NR; job++) {
		static const struct file_row zero;
		struct file_row_key key = {.job = job};

		if (bpf_map_update_elem(fd, &key, &zero, BPF_ANY))
			return -errno;
	}
	return 0;
}

static void cell_take(struct sampler *s, const struct cell *cell, uint32_t job)
{
	struct file_row_key key = {.file = cell->file, .job = job};
	struct file_row row = {};

	if (!cell->read_calls && !cell->lookups && !cell->read_bytes)
		return;
	row.c[C_read_calls] = cell->read_calls;
	row.c[C_read_bytes] = cell->read_bytes;
	row.c[C_lookups] = cell->lookups;
	row_take(s, &key, &row);
}

static int lives_read(struct sampler *s)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.lives), &zero, s->lives))
		return -errno;
	return 0;
}

/* After the last event: what CPUs counted and had no occasion to flush. */
static int cells_take(struct sampler *s)
{
	int r = lives_read(s);

	for (unsigned int cpu = 0; !r && cpu < probe_set_cpus(s->set); cpu++) {
		for (int i = 0; i < NR_CELLS; i++)
			cell_take(s, &s->lives[cpu].cells[i], JOB_WATCHED);
		cell_take(s, &s->lives[cpu].others, JOB_OTHERS);
	}
	return r;
}

/* Files that were named or renamed but counted nothing in this sample. */
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

static int advice_take(struct sampler *s)
{
	int fd = bpf_map__fd(s->skel->maps.advice);
	struct advice_key key, *prev = NULL, last;

	s->nr_advice = 0;
	while (!bpf_map_get_next_key(fd, prev, &key)) {
		struct sample_advice *a;

		last = key;
		prev = &last;
		if (s->nr_advice == s->max_advice) {
			size_t max = s->max_advice ? s->max_advice * 2 : 64;

			a = realloc(s->advice, max * sizeof(*a));
			if (!a)
				return -ENOMEM;
			s->advice = a;
			s->max_advice = max;
		}
		a = &s->advice[s->nr_advice];
		*a = (struct sample_advice){
			.file = key.file, .job = key.job, .kind = key.kind, .call = key.call};
		if (!bpf_map_lookup_elem(fd, &key, &a->row))
			s->nr_advice++;
	}
	return 0;
}

static int jobs_take(struct sampler *s, struct sample *out)
{
	for (uint32_t job = 0; job < JOB_NR; job++) {
		int64_t alive = 0;

		if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.jobs), &job, s->job_rows))
			return -errno;
		for (unsigned int cpu = 0; cpu < probe_set_cpus(s->set); cpu++) {
			out->jobs[job].cpu_ns += s->job_rows[cpu].cpu_ns;
			out->jobs[job].rchar_bytes += s->job_rows[cpu].rchar_bytes;
			out->jobs[job].processes += s->job_rows[cpu].processes;
			alive += s->job_rows[cpu].alive;
		}
		out->jobs[job].alive = alive > 0 ? alive : 0;
	}
	return 0;
}

/* Names of files of the generation that ended, at the end of the run of all: what was renamed since
 * they were looked at is sent. A failure leaves the names that are known. */
static void names_check(struct sampler *s, int fd, bool last)
{
	struct sweep_names_args args = {.which = NAMES_OF_ALL};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));

	if (!last)
		args.which =
			fd == bpf_map__fd(s->skel->maps.rows_a) ? NAMES_OF_ROWS_A : NAMES_OF_ROWS_B;
	bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.sweep_names), &opts);
}

int sampler_take(struct sampler *s, bool last, struct sample *out, struct errtext *err)
{
	int fd, r;

	memset(out, 0, sizeof(*out));
	memset(s->rest, 0, sizeof(s->rest));
	s->nr_files = 0;
	r = probe_set_flip(s->set, &fd);
	if (!r)
		names_check(s, fd, last);
	/* Names come before the rows they belong to: a row is made, then its name is sent. */
	sampler_names(s);
	if (!r)
		r = drain(s, fd, !last);
	if (!r && last) {
		r = probe_set_flip(s->set, &fd);
		if (!r)
			r = drain(s, fd, false);
		if (!r)
			r = cells_take(s);
	}
	if (!r)
		r = advice_take(s);
	if (!r)
		r = jobs_take(s, out);
	if (r)
		return errtext_set(err, r, "cannot read the probes: %s", strerror(-r));
	names_take(s);
	s->names_handed_out = true;
	resolver_refresh(s->resolver);
	out->files = s->files;
	out->nr_files = s->nr_files;
	memcpy(out->rest, s->rest, sizeof(out->rest));
	out->advice = s->advice;
	out->nr_advice = s->nr_advice;
	out->losses = s->skel->bss->losses;
	return 0;
}

int sampler_events(struct sampler *s, uint64_t ret_runs[JOB_NR][EV_NR])
{
	int r = lives_read(s);

	if (r)
		return r;
	memset(ret_runs, 0, JOB_NR * sizeof(*ret_runs));
	for (unsigned int cpu = 0; cpu < probe_set_cpus(s->set); cpu++)
		for (int i = 0; i < JOB_NR * EV_NR; i++)
			ret_runs[i / EV_NR][i % EV_NR] += s->lives[cpu].runs[i / EV_NR][i % EV_NR];
	return 0;
}
