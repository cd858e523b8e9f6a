/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/store/store_impl.h"

static const char insert_run[] =
	"INSERT INTO run (uuid, cachemon, host, kernel, arch, started_ns, writer_boot, "
	"writer_pidns, "
	"writer_pid, writer_start_ticks, level, advice_mode, interval_ns, page_size_bytes, "
	"memory_bytes, map_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char insert_job[] =
	"INSERT INTO job (run_id, slot, name, selector) VALUES (?, ?, ?, ?)";
static const char insert_probe[] =
	"INSERT INTO probe (run_id, role, hook, state, reason) VALUES (?, ?, ?, ?, ?)";
static const char insert_unmeasured[] =
	"INSERT OR REPLACE INTO unmeasured (run_id, counter, reason) VALUES (?, ?, ?)";

static const char insert_cgroup[] = "INSERT INTO job_cgroup (job_id, path) VALUES (?, ?)";
static const char insert_absent[] = "INSERT INTO reference_absent (job_id, reason) VALUES (?, ?)";

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

static int write_run(struct store *st, const struct store_run *run, const char *uuid)
{
	struct binder b = {.column = 1};
	struct writer w;
	int rc = sqlite3_prepare_v2(st->db, insert_run, -1, &b.stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
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
	rc = bind_run(&b);
	sqlite3_finalize(b.stmt);
	if (rc == SQLITE_OK)
		st->run_id = sqlite3_last_insert_rowid(st->db);
	return rc;
}

static int write_jobs(struct store *st)
{
	struct binder b = {.column = 1};
	int rc = sqlite3_prepare_v2(st->db, insert_job, -1, &b.stmt, NULL);

	for (int slot = 0; slot < JOB_NR && rc == SQLITE_OK; slot++) {
		b.column = 1;
		bind_int(&b, st->run_id);
		bind_int(&b, slot);
		bind_text(&b, st->job_names[slot]);
		bind_text(&b, st->job_selectors[slot]);
		rc = bind_run(&b);
		st->job_ids[slot] = sqlite3_last_insert_rowid(st->db);
	}
	sqlite3_finalize(b.stmt);
	return rc;
}

static int write_probes(struct store *st, const struct store_run *run)
{
	struct binder b = {.column = 1};
	int rc = sqlite3_prepare_v2(st->db, insert_probe, -1, &b.stmt, NULL);

	for (size_t i = 0; i < run->nr_probes && rc == SQLITE_OK; i++) {
		b.column = 1;
		bind_int(&b, st->run_id);
		bind_text(&b, run->probes[i].role);
		bind_text(&b, run->probes[i].hook);
		bind_text(&b, run->probes[i].state);
		bind_text(&b, run->probes[i].reason);
		rc = bind_run(&b);
	}
	sqlite3_finalize(b.stmt);
	return rc;
}

static int write_references_absent(struct store *st, const struct store_run *run)
{
	struct binder b = {.column = 1};
	int rc = sqlite3_prepare_v2(st->db, insert_absent, -1, &b.stmt, NULL);

	for (int slot = 0; slot < JOB_NR && rc == SQLITE_OK; slot++) {
		if (!run->references_absent[slot])
			continue;
		b.column = 1;
		bind_int(&b, st->job_ids[slot]);
		bind_text(&b, run->references_absent[slot]);
		rc = bind_run(&b);
	}
	sqlite3_finalize(b.stmt);
	return rc;
}

static int write_cgroup(struct store *st, const char *path)
{
	struct binder b = {.column = 1};
	int rc = sqlite3_prepare_v2(st->db, insert_cgroup, -1, &b.stmt, NULL);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_bytes(&b, path);
	if (rc == SQLITE_OK)
		rc = bind_run(&b);
	sqlite3_finalize(b.stmt);
	return rc;
}

int run_write_unmeasured(struct store *st, const struct store_unmeasured *list, size_t nr)
{
	struct binder b = {.column = 1};
	int rc = sqlite3_prepare_v2(st->db, insert_unmeasured, -1, &b.stmt, NULL);

	for (size_t i = 0; i < nr && rc == SQLITE_OK; i++) {
		b.column = 1;
		bind_int(&b, st->run_id);
		bind_text(&b, list[i].name);
		bind_text(&b, list[i].reason);
		rc = bind_run(&b);
	}
	sqlite3_finalize(b.stmt);
	return rc;
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

/* So that a timeline of short intervals is bounded too: by its rows, not by its time. */
static uint64_t full_resolution(const struct store_limits *limits, uint64_t interval_ns)
{
	if (interval_ns < limits->full_ns / limits->full_rows)
		return limits->full_rows * interval_ns;
	return limits->full_ns;
}

static int begin(struct store *st, const struct store_run *run, struct errtext *err)
{
	static const char doing[] = "begin a run in";
	char uuid[37];
	int rc = take_names(st, run);

	if (rc == SQLITE_OK)
		rc = statements_prepare(st);
	if (rc == SQLITE_OK && make_uuid(uuid))
		rc = SQLITE_IOERR;
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(st->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = write_run(st, run, uuid);
	if (rc == SQLITE_OK)
		rc = write_jobs(st);
	if (rc == SQLITE_OK)
		rc = write_probes(st, run);
	if (rc == SQLITE_OK)
		rc = run_write_unmeasured(st, run->unmeasured, run->nr_unmeasured);
	if (rc == SQLITE_OK)
		rc = write_references_absent(st, run);
	if (rc == SQLITE_OK && run->memory_cgroup)
		rc = write_cgroup(st, run->memory_cgroup);
	return store_finish(st, rc, doing, NULL, err);
}

int store_begin(struct store *st, const struct store_run *run, struct errtext *err)
{
	int ret;

	st->is_auto = !strcmp(run->level, "auto");
	st->full_ns = full_resolution(&st->limits, run->interval_ns);
	st->measured = run->measured;
	ret = store_enter(st, err);
	if (!ret) {
		ret = begin(st, run, err);
		store_leave(st);
	}
	sqlite3_busy_timeout(st->db, (int)st->limits.busy_ms); /* from now on intervals wait */
	if (ret)
		st->run_id = 0;
	return ret;
}
