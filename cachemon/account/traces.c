/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/traces_impl.h"
#include "cachemon/base/text_builder.h"

#define EVENTS_MAX    4000000	/* about 50 MB in the database */
#define UNWRITTEN_MAX (1 << 20) /* of 64 files at once */
#define HASHES	      4294967296.0

int traces_new(const struct traces_config *config, struct traces **ret)
{
	struct traces *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->config = *config;
	t->config.events_max = config->events_max ?: EVENTS_MAX;
	t->config.unwritten_max = config->unwritten_max ?: UNWRITTEN_MAX;
	t->files = calloc(NR_TRACED, sizeof(struct traced_file *));
	if (!t->files || hash_index_reserve(&t->by_key, NR_TRACED) ||
	    hash_index_reserve(&t->by_number, NR_TRACED)) {
		traces_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

/* Frees the parts that an ended file no longer needs. */
static void forget_actors(struct traced_file *f)
{
	free(f->descriptions);
	free(f->mappings);
	free(f->actors);
	f->descriptions = NULL;
	f->mappings = NULL;
	f->actors = NULL;
	f->nr_descriptions = f->max_descriptions = 0;
	f->nr_mappings = f->max_mappings = 0;
	f->nr_actors = f->max_actors = 0;
}

void traces_free(struct traces *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->files && i < t->nr_files; i++) {
		forget_actors(t->files[i]);
		free(t->files[i]->path);
		free(t->files[i]->data);
		free(t->files[i]);
	}
	free(t->files);
	hash_index_free(&t->by_key);
	hash_index_free(&t->by_number);
	free(t);
}

struct traced_file *traces_find(const struct traces *t, const struct file_key *key)
{
	uint64_t hash = file_key_hash(key);

	for (size_t at = 0, row; hash_index_next(&t->by_key, hash, &at, &row);)
		if (file_key_equal(&t->files[row]->key, key))
			return t->files[row];
	return NULL;
}

static struct traced_file *find_number(const struct traces *t, uint32_t number)
{
	for (size_t at = 0, row; hash_index_next(&t->by_number, number, &at, &row);)
		if (t->files[row]->number == number)
			return t->files[row];
	return NULL;
}

static int add_traced_file(struct traces *t, uint32_t number, const struct file_key *key,
			   struct traced_file **ret)
{
	struct traced_file *f;

	if (t->nr_files == NR_TRACED || traces_find(t, key))
		return -ENOSPC;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->key = *key;
	f->number = number;
	f->live = f->dirty = true;
	f->stands_for = 1;
	f->size_bytes = f->ra_pages = f->io_pages = f->max_order = -1;
	hash_index_put(&t->by_key, file_key_hash(key), t->nr_files);
	hash_index_put(&t->by_number, number, t->nr_files);
	t->files[t->nr_files++] = f;
	*ret = f;
	return 0;
}

static int begin_traced_file(struct traces *t, const struct trace_record *rec)
{
	const struct trace_begin *b = &rec->begin;
	struct traced_file *f;
	int r = add_traced_file(t, rec->number, &b->file, &f);

	if (r)
		return r;
	f->by_hash = true;
	f->hash = b->hash;
	f->stratum = b->stratum < NR_STRATA ? b->stratum : NR_STRATA - 1;
	f->cached_pages = b->cached_pages;
	f->max_order = b->max_order;
	f->size_bytes = (int64_t)rec->size_bytes;
	f->ra_pages = rec->ra_pages;
	f->io_pages = rec->io_pages;
	return 0;
}

int traces_take(struct traces *t, const struct trace_record *rec, size_t size)
{
	struct traced_file *f;

	if (size < sizeof(*rec))
		return -EMSGSIZE;
	if (rec->kind == NOTE_BEGIN)
		return begin_traced_file(t, rec);
	f = find_number(t, rec->number);
	if (!f)
		return -ENOENT;
	if (f->live)
		traced_file_take(t, f, rec);
	return 0;
}

int traces_add_warm(struct traces *t, uint32_t number, const struct file_key *key)
{
	struct traced_file *f;
	int r = add_traced_file(t, number, key, &f);

	if (!r)
		f->warm = true;
	return r;
}

static void name_traced_file(struct traced_file *f, const char *path, const char *fstype)
{
	if (fstype && *fstype && strncmp(f->fstype, fstype, sizeof(f->fstype) - 1) != 0) {
		snprintf(f->fstype, sizeof(f->fstype), "%s", fstype);
		f->dirty = true;
	}
	if (path && text_replace(&f->path, path))
		f->dirty = true;
}

void traces_see_sample(struct traces *t, const struct sample *s)
{
	for (size_t i = 0; i < s->nr_files && t->nr_files; i++) {
		const struct sample_file *from = &s->files[i];
		struct traced_file *f = traces_find(t, &from->key);

		if (f && from->job == JOB_WATCHED)
			name_traced_file(f, from->path, from->fstype);
	}
}

void traces_see_name(struct traces *t, const struct file_key *key, const char *path,
		     const char *fstype)
{
	struct traced_file *f = traces_find(t, key);

	if (f && !f->path)
		name_traced_file(f, path, fstype);
}

/* Below the threshold: it represents others like it. */
static bool is_below(const struct traced_file *f, const uint32_t threshold[NR_STRATA])
{
	return f->by_hash && f->hash < threshold[f->stratum];
}

static unsigned int stratum_of_size(int64_t size_bytes)
{
	unsigned int s = 0;

	while (s < NR_STRATA - 1 && size_bytes >= 16384LL << 3 * s)
		s++;
	return s;
}

/* A threshold at the share p of all hashes keeps the share p of all files, so n files below it
 * represent n / p files. This includes files below it that are traced because they are read much. A
 * file that is no longer below it represents none. */
void traces_see_thresholds(struct traces *t, const uint32_t threshold[NR_STRATA])
{
	uint32_t below[NR_STRATA] = {0}, added[NR_STRATA] = {0};

	for (size_t i = 0; i < t->nr_files; i++) {
		struct traced_file *f = t->files[i];

		if (is_below(f, threshold))
			below[f->stratum]++;
		else if (!f->by_hash)
			added[stratum_of_size(f->size_bytes)]++;
	}
	for (size_t i = 0; i < t->nr_files; i++) {
		struct traced_file *f = t->files[i];
		double each = f->by_hash ? -1 : 1;

		if (is_below(f, threshold)) {
			each = HASHES / ((double)threshold[f->stratum] + 1) -
			       (double)added[f->stratum] / below[f->stratum];
			if (each < 1)
				each = 1;
		}
		f->dirty |= each != f->stands_for;
		f->stands_for = each;
	}
}

void traces_end(struct traced_file *f, const char *reason)
{
	if (!f->live)
		return;
	f->live = false;
	f->broken = reason;
	f->reason = reason;
	f->dirty = true;
	forget_actors(f);
}

size_t traces_nr(const struct traces *t)
{
	return t->nr_files;
}

struct traced_file *traces_at(const struct traces *t, size_t i)
{
	return t->files[i];
}

uint64_t traces_events(const struct traces *t)
{
	return t->events;
}

bool traces_full(const struct traces *t)
{
	return t->events >= t->config.events_max || t->nr_files == NR_TRACED;
}

void traces_row(const struct traced_file *f, struct traced_row *ret)
{
	*ret = (struct traced_row){
		.db_id = f->db_id,
		.key = &f->key,
		.path = f->path,
		.fstype = f->fstype[0] ? f->fstype : NULL,
		.size_bytes = f->size_bytes,
		.ra_pages = f->ra_pages,
		.io_pages = f->io_pages,
		.max_order = f->max_order,
		.stratum = f->by_hash ? (int64_t)f->stratum : -1,
		.stands_for = f->stands_for,
		.state = f->broken ? "broken" : "whole",
		.reason = f->broken ? f->reason : NULL,
		.began = f->warm ? "warm" : "cold",
		.dirty = f->dirty,
		.seq = f->seq,
		.events = f->chunk_events,
		.data = f->data,
		.data_bytes = f->data_bytes,
	};
}

void traces_set_db_id(struct traced_file *f, int64_t id)
{
	f->db_id = id;
	f->fresh = true;
}

void traces_written(struct traces *t)
{
	for (size_t i = 0; i < t->nr_files; i++) {
		struct traced_file *f = t->files[i];

		f->fresh = f->dirty = false;
		if (f->data_bytes) {
			memset(&f->coder, 0, sizeof(f->coder));
			f->seq++;
			f->data_bytes = 0;
			f->chunk_events = 0;
		}
		if (!f->live && f->data) {
			free(f->data);
			f->data = NULL;
			f->data_max = 0;
		}
	}
}

void traces_unwritten(struct traces *t)
{
	for (size_t i = 0; i < t->nr_files; i++) {
		struct traced_file *f = t->files[i];

		if (f->fresh)
			f->db_id = 0;
		f->fresh = false;
	}
}
