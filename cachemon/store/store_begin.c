/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/store/store_impl.h"

/* A random one (version 4), so that runs of many machines can be merged. */
static int make_uuid(char uuid[37])
{
	unsigned char r[16];

	if (getentropy(r, sizeof(r)))
		return -errno;
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	for (int i = 0, n = 0; i < 16; i++)
		n += snprintf(uuid + n, 37 - (size_t)n,
			      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", r[i]);
	return 0;
}

static void write_run(struct store *st, const struct store_run *run, const char *uuid)
{
	struct binder b = bind_first(st, S_RUN_INSERT);
	struct writer w;

	writer_self(&w);
	bind_text(&b, uuid);
	bind_text(&b, run->cachemon);
	bind_text(&b, run->host);
	bind_text(&b, run->kernel);
	bind_text(&b, run->arch);
	bind_int(&b, (int64_t)run->started_ns);
	bind_text(&b, w.boot);
	bind_int(&b, w.pidns);
	bind_int(&b, w.pid);
	bind_int(&b, w.start_ticks);
	bind_text(&b, run->level);
	bind_text(&b, run->advice_mode);
	bind_int(&b, (int64_t)run->interval_ns);
	bind_int(&b, (int64_t)run->page_size_bytes);
	bind_int(&b, (int64_t)run->memory_bytes);
	bind_int(&b, (int64_t)run->map_bytes);
	bind_text(&b, run->user);
	if (bind_run(&b))
		st->run_id = sqlite3_last_insert_rowid(st->file->db);
}

/* Also records the reason for missing references, if known. */
static void write_job(struct store *st, const struct store_run *run, int slot)
{
	static const struct store_identity unknown = {.uid = -1};
	const struct store_identity *i = run->jobs[slot].identity ?: &unknown;
	const char *references_absent = run->references_absent[slot];
	struct binder b = bind_first(st, S_JOB_INSERT);

	bind_int(&b, st->run_id);
	bind_int(&b, slot);
	bind_text(&b, st->job_names[slot]);
	bind_text(&b, st->job_selectors[slot]);
	bind_text(&b, i->kind);
	bind_text(&b, i->external_id);
	bind_count(&b, i->uid);
	bind_text(&b, i->step);
	bind_text(&b, i->job_name);
	bind_text(&b, i->partition);
	bind_run(&b);
	st->job_ids[slot] = sqlite3_last_insert_rowid(st->file->db);
	if (!references_absent)
		return;
	b = bind_first(st, S_REFERENCE_ABSENT);
	bind_int(&b, st->job_ids[slot]);
	bind_text(&b, references_absent);
	bind_run(&b);
}

static void write_probe(struct store *st, const struct store_probe *probe)
{
	struct binder b = bind_first(st, S_PROBE);

	bind_int(&b, st->run_id);
	bind_text(&b, probe->role);
	bind_text(&b, probe->hook);
	bind_text(&b, probe->state);
	bind_text(&b, probe->reason);
	bind_run(&b);
}

static void write_cgroup(struct store *st, const char *path)
{
	struct binder b = bind_first(st, S_JOB_CGROUP);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_bytes(&b, path);
	bind_run(&b);
}

void run_write_unmeasured(struct store *st, const struct store_unmeasured *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct binder b = bind_first(st, S_UNMEASURED);

		bind_int(&b, st->run_id);
		bind_text(&b, list[i].name);
		bind_text(&b, list[i].reason);
		bind_run(&b);
	}
}

static int take_names(struct store *st, const struct store_run *run)
{
	for (int slot = 0; slot < JOB_NR; slot++) {
		free(st->job_names[slot]);
		free(st->job_selectors[slot]);
		st->job_names[slot] = strdup(run->jobs[slot].name);
		st->job_selectors[slot] = strdup(run->jobs[slot].selector);
		if (!st->job_names[slot] || !st->job_selectors[slot])
			return SQLITE_NOMEM;
	}
	return SQLITE_OK;
}

static int begin_run(struct store *st, const struct store_run *run, struct errtext *err)
{
	char uuid[37];

	store_start(st);
	if (st->rc == SQLITE_OK)
		st->rc = take_names(st, run);
	if (st->rc == SQLITE_OK)
		st->rc = statements_prepare(st->file);
	if (st->rc == SQLITE_OK && make_uuid(uuid))
		st->rc = SQLITE_IOERR;
	if (st->rc == SQLITE_OK) {
		write_run(st, run, uuid);
		for (int slot = 0; slot < JOB_NR; slot++)
			write_job(st, run, slot);
		for (size_t i = 0; i < run->nr_probes; i++)
			write_probe(st, &run->probes[i]);
		run_write_unmeasured(st, run->unmeasured, run->nr_unmeasured);
		if (run->memory_cgroup)
			write_cgroup(st, run->memory_cgroup);
	}
	return store_finish(st, "begin a run in", NULL, err);
}

static void settle_begin(struct store *st, bool written)
{
	if (!written)
		st->run_id = 0;
}

int store_begin(struct store *st, const struct store_run *run, struct errtext *err)
{
	struct store_file *f = st->file;
	int ret;

	st->is_auto = !strcmp(run->level, "auto");
	st->full_ns = rollup_full_ns(&f->limits, run->interval_ns);
	st->measured = run->measured;
	ret = store_enter(f, err);
	if (!ret) {
		ret = begin_run(st, run, err);
		store_leave(f);
	}
	sqlite3_busy_timeout(f->db, (int)f->limits.busy_ms); /* from now on intervals wait */
	return store_settle(st, ret, settle_begin);
}
