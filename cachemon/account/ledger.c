/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/ledger_impl.h"

/*
 * The most that it can take; it grows with what the job uses.
 * 8192 files + 1/4 slack x 1.3 KiB = 13 MiB; 4096 directories x 1.3 KiB = 5.2 MiB; the set of
 * files seen 20 MiB; names at most 3 x 4 MiB; advice 4096 x 0.2 KiB = 0.8 MiB;
 * interference 4096 x 0.1 KiB = 0.4 MiB; indexes 0.5 MiB; filesystems 0.1 MiB: 53 MiB. A name is
 * some 100 bytes, so a million files take 29 MiB.
 */
struct ledger_limits ledger_limits_default(void)
{
	return (struct ledger_limits){
		.files = 8192,
		.directories = 4096,
		.path_bytes = 4 << 20,
		.distinct = 1500000,
		.advice = 4096,
		.interference = 4096,
		.filesystems = 128,
		.active = 256,
		.active_directories = 64,
	};
}

int ledger_new(const struct ledger_limits *limits, struct ledger **ret_ledger)
{
	struct ledger *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	if (!l)
		return -ENOMEM;
	l->limits = limits ? *limits : ledger_limits_default();
	l->seen = fileset_new(l->limits.distinct);
	if (!l->seen)
		goto out;
	err = directories_init(l);
	if (!err)
		err = files_init(l);
	if (!err)
		err = advice_init(l);
	if (!err)
		err = interference_init(l);
	if (!err)
		err = filesystems_init(l);
out:
	if (err) {
		ledger_free(l);
		return err;
	}
	*ret_ledger = l;
	return 0;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nr_directories; i++) {
		free(l->directories[i]->path);
		free(l->directories[i]);
	}
	for (size_t i = 0; i < l->nr_files; i++) {
		free(l->files[i]->path);
		free(l->files[i]);
	}
	for (size_t i = 0; i < l->nr_advice; i++) {
		free(l->advice[i]->path);
		free(l->advice[i]);
	}
	filesystems_free(l);
	interference_free(l);
	free(l->directories);
	free(l->active_directories);
	free(l->files);
	free(l->advice);
	free(l->active);
	free(l->dead);
	hash_index_free(&l->directory_index);
	hash_index_free(&l->file_index);
	hash_index_free(&l->advice_index);
	fileset_free(l->seen);
	free(l);
}

static void apply_rest(struct ledger *l, unsigned int slot, const struct sample *s)
{
	static const int64_t none[C_NR];
	const int64_t *rest = s->rest[slot];

	if (!memcmp(rest, none, sizeof(none)))
		return;
	counters_add(&l->jobs[slot].total, rest);
	counters_add(&l->jobs[slot].last, rest);
	directory_add(l, l->nameless[slot], rest);
	if (slot != JOB_OTHERS)
		filesystem_rest(l, rest);
}

static void apply_facts(struct ledger_job *j, const struct sample_job *facts)
{
	/* These are absolute values; a decrease adds nothing. */
	j->last_cpu_ns = facts->cpu_ns > j->facts.cpu_ns ? facts->cpu_ns - j->facts.cpu_ns : 0;
	j->last_rchar_bytes = facts->rchar_bytes > j->facts.rchar_bytes
				      ? facts->rchar_bytes - j->facts.rchar_bytes
				      : 0;
	j->facts = *facts;
}

void ledger_apply(struct ledger *l, const struct sample *s)
{
	l->seq++;
	for (unsigned int slot = 0; slot < JOB_NR; slot++) {
		memset(&l->jobs[slot].last, 0, sizeof(l->jobs[slot].last));
		apply_rest(l, slot, s);
		apply_facts(&l->jobs[slot], &s->jobs[slot]);
	}
	/* Advice first, because the names of its files come with the files of the sample. */
	for (size_t i = 0; i < s->nr_advice; i++)
		advice_apply(l, &s->advice[i]);
	for (size_t i = 0; i < s->nr_files; i++) {
		struct ledger_job *j = &l->jobs[s->files[i].job];

		counters_add(&j->total, s->files[i].c);
		counters_add(&j->last, s->files[i].c);
		files_apply(l, &s->files[i]);
		advice_name(l, &s->files[i]);
	}
	for (size_t i = 0; i < s->nr_waits; i++)
		files_wait(l, &s->waits[i]);
	/* Files first, so that their directories are known. */
	if (s->evictions && l->limits.interference)
		interference_apply(l, s);
	filesystems_describe(l, s->filesystems, s->nr_filesystems);
	files_finish(l);
	directories_finish(l);
	/* Checks the law twice: by the counters, and at the end against the page state. */
	l->law_error += (uint64_t)llabs(counters_law_error(&l->jobs[JOB_WATCHED].last)) +
			(uint64_t)llabs(s->unsettled_error_pages);
}

const struct ledger_job *ledger_job(const struct ledger *l, unsigned int slot)
{
	return &l->jobs[slot];
}

uint64_t ledger_law_error(const struct ledger *l)
{
	return l->law_error;
}

uint64_t ledger_advice_lost(const struct ledger *l)
{
	return l->advice_lost;
}

size_t ledger_nr_directories(const struct ledger *l)
{
	return l->nr_directories;
}

struct ledger_directory *ledger_directory(const struct ledger *l, size_t i)
{
	return l->directories[i];
}

size_t ledger_nr_files(const struct ledger *l)
{
	return l->nr_files;
}

struct ledger_file *ledger_file(const struct ledger *l, size_t i)
{
	return l->files[i];
}

size_t ledger_nr_filesystems(const struct ledger *l)
{
	return l->nr_filesystems;
}

struct ledger_filesystem *ledger_filesystem(const struct ledger *l, size_t i)
{
	return &l->filesystems[i];
}

size_t ledger_nr_interference(const struct ledger *l)
{
	return l->nr_interference;
}

struct ledger_interference *ledger_interference(const struct ledger *l, size_t i)
{
	return &l->interference[i];
}

size_t ledger_nr_advice(const struct ledger *l)
{
	return l->nr_advice;
}

struct ledger_advice *ledger_advice(const struct ledger *l, size_t i)
{
	return l->advice[i];
}

size_t ledger_nr_active(const struct ledger *l)
{
	return l->nr_active;
}

void ledger_keep_active(struct ledger *l, size_t most)
{
	if (l->nr_active > most)
		l->nr_active = most;
}

const struct ledger_file *ledger_active(const struct ledger *l, size_t i)
{
	return l->active[i];
}

size_t ledger_nr_active_directories(const struct ledger *l)
{
	return l->nr_active_directories;
}

const struct ledger_directory *ledger_active_directory(const struct ledger *l, size_t i)
{
	return l->active_directories[i];
}

const int64_t *ledger_dead(const struct ledger *l, size_t *ret_nr)
{
	*ret_nr = l->nr_dead;
	return l->dead;
}

static void mark_written(struct ledger_mark *m)
{
	m->fresh = false;
	m->dirty = m->dirty && !m->written;
	m->written = false;
}

static void mark_unwritten(struct ledger_mark *m)
{
	if (m->fresh)
		m->db_id = 0;
	m->fresh = false;
	m->written = false;
}

static void mark_rewrite(struct ledger_mark *m)
{
	if (m->db_id)
		m->dirty = true;
}

static void each_mark(struct ledger *l, void (*visit)(struct ledger_mark *m))
{
	for (size_t i = 0; i < l->nr_directories; i++)
		visit(&l->directories[i]->mark);
	for (size_t i = 0; i < l->nr_files; i++)
		visit(&l->files[i]->mark);
	for (size_t i = 0; i < l->nr_advice; i++)
		visit(&l->advice[i]->mark);
	for (size_t i = 0; i < l->nr_interference; i++)
		visit(&l->interference[i].mark);
	for (size_t i = 0; i < l->nr_filesystems; i++)
		visit(&l->filesystems[i].mark);
}

void ledger_written(struct ledger *l)
{
	each_mark(l, mark_written);
	for (size_t i = 0; i < l->nr_files; i++)
		l->files[i]->slept = l->files[i]->slept && l->files[i]->mark.dirty;
	l->nr_dead = 0;
}

void ledger_unwritten(struct ledger *l)
{
	each_mark(l, mark_unwritten);
}

void ledger_rewrite(struct ledger *l)
{
	each_mark(l, mark_rewrite);
}
