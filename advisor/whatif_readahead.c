/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/whatif_readahead.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_KB = 4, PAGE_BYTES = 4096, FIRST_KB = 32, RANDOM_AT = 11, SEQUENTIAL_AT = 12 };

/* ra_kb 0, 32, 64 ... 8192 from 1 on. */
static uint32_t pages_of(size_t candidate)
{
	return candidate == 1 ? 0 : (uint32_t)(FIRST_KB / PAGE_KB) << (candidate - 2);
}

static struct ra_setting setting_of(size_t candidate)
{
	struct ra_setting s = {.kind = RA_SETTING_ACTUAL};

	if (candidate == RANDOM_AT) {
		s.kind = RA_SETTING_RANDOM;
	} else if (candidate == SEQUENTIAL_AT) {
		s.kind = RA_SETTING_SEQUENTIAL;
	} else if (candidate != WHATIF_ACTUAL) {
		s.kind = RA_SETTING_PAGES;
		s.pages = pages_of(candidate);
	}
	return s;
}

void whatif_setting_name(size_t i, uint32_t device_pages, char *text, size_t size)
{
	if (i == RANDOM_AT || i == SEQUENTIAL_AT)
		snprintf(text, size, "%s", i == RANDOM_AT ? "random" : "sequential");
	else
		snprintf(text, size, "ra_kb=%u",
			 PAGE_KB * (i == WHATIF_ACTUAL ? device_pages : pages_of(i)));
}

static struct whatif_result result_of(const struct ra_replay_result *r)
{
	struct whatif_result w = {.known = true, .windows = r->totals.windows};

	w.figure[WHATIF_MISSES] = r->totals.misses;
	w.figure[WHATIF_PREFETCHED] = r->totals.added_pages - r->totals.demand_pages;
	w.figure[WHATIF_WASTED] = r->wasted_pages;
	w.figure[WHATIF_REQUESTS] = r->totals.requests;
	w.figure[WHATIF_STALLS] = r->totals.stalls;
	return w;
}

/* Faults that smaller windows would have brought about left no trace, and advice is of reads. */
static bool answers(const struct whatif_file *f, size_t candidate)
{
	if (!f->mapped)
		return true;
	return candidate < RANDOM_AT && pages_of(candidate) >= f->device_pages;
}

/* Whether the model may speak of the file, by how it agrees with what happened. */
static bool judge(struct whatif_file *f, const struct ra_replay_result *actual)
{
	f->mapped = actual->mapped > 0;
	f->evicted = actual->evicted > 0;
	if (actual->windows)
		f->fidelity = (double)actual->exact_windows / (double)actual->windows;
	if (actual->windows < WHATIF_LEAST_WINDOWS)
		snprintf(f->note, sizeof(f->note),
			 "%llu accesses brought pages, too few to hold the model against",
			 (unsigned long long)actual->windows);
	else if (f->fidelity < WHATIF_LEAST_FIDELITY)
		snprintf(f->note, sizeof(f->note),
			 "the model has %llu of the %llu windows exactly, and it takes 95 %%",
			 (unsigned long long)actual->exact_windows,
			 (unsigned long long)actual->windows);
	else
		snprintf(f->note, sizeof(f->note), "%s%s",
			 f->evicted ? "with the evictions that happened"
				    : "without memory pressure",
			 f->mapped ? "; mapped: smaller windows cannot be told" : "");
	return actual->windows >= WHATIF_LEAST_WINDOWS && f->fidelity >= WHATIF_LEAST_FIDELITY;
}

static int answer(struct whatif_file *f, const struct ra_replay_input *in)
{
	struct ra_replay_result r = {0};
	int error = ra_replay(in, setting_of(WHATIF_ACTUAL), &r);

	if (error)
		return error;
	f->judged = judge(f, &r);
	f->results[WHATIF_ACTUAL] = result_of(&r);
	if (!f->judged)
		return 0;
	for (size_t i = 1; i < WHATIF_CANDIDATES; i++) {
		if (!answers(f, i))
			continue;
		if (setting_of(i).kind == RA_SETTING_PAGES && pages_of(i) == f->device_pages) {
			f->results[i] = f->results[WHATIF_ACTUAL];
			continue;
		}
		error = ra_replay(in, setting_of(i), &r);
		if (error)
			return error;
		f->results[i] = result_of(&r);
	}
	return 0;
}

static int sql_error(sqlite3 *db, struct errtext *err)
{
	return errtext_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? -ENOMEM : -EIO,
			   "cannot read the traces: %s", sqlite3_errmsg(db));
}

static int load_chunks(sqlite3 *db, int64_t file, struct ra_trace_chunk **ret, size_t *ret_nr,
		       struct errtext *err)
{
	sqlite3_stmt *q;
	int r = 0, rc;

	if (sqlite3_prepare_v2(
		    db, "SELECT data FROM trace_chunk WHERE traced_file_id = ?1 ORDER BY seq", -1,
		    &q, NULL))
		return sql_error(db, err);
	sqlite3_bind_int64(q, 1, file);
	while (!r && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		size_t size = (size_t)sqlite3_column_bytes(q, 0);
		struct ra_trace_chunk *more = realloc(*ret, (*ret_nr + 1) * sizeof(*more));
		uint8_t *data = malloc(size + 1);

		if (more)
			*ret = more;
		if (!more || !data) {
			free(data);
			r = errtext_set(err, -ENOMEM, "out of memory");
			break;
		}
		if (size)
			memcpy(data, sqlite3_column_blob(q, 0), size);
		(*ret)[(*ret_nr)++] = (struct ra_trace_chunk){data, size};
	}
	if (!r && rc != SQLITE_DONE)
		r = sql_error(db, err);
	sqlite3_finalize(q);
	return r;
}

static int answer_from(sqlite3 *db, struct whatif_file *f, struct ra_replay_input *in,
		       struct errtext *err)
{
	struct ra_trace_chunk *chunks = NULL;
	struct ra_trace trace = {0};
	int r = load_chunks(db, f->id, &chunks, &trace.nr_chunks, err);

	trace.chunks = chunks;
	in->trace = &trace;
	if (!r) {
		r = answer(f, in);
		if (r == -EBADMSG || r == -E2BIG) {
			snprintf(f->note, sizeof(f->note), "what the database holds is no trace");
			r = 0;
		} else if (r) {
			errtext_set(err, r, "out of memory");
		}
	}
	for (size_t i = 0; i < trace.nr_chunks; i++)
		free((void *)chunks[i].data);
	free(chunks);
	return r;
}

enum column {
	COLUMN_ID,
	COLUMN_PATH,
	COLUMN_FSTYPE,
	COLUMN_RA_PAGES,
	COLUMN_IO_PAGES,
	COLUMN_MAX_ORDER,
	COLUMN_STRATUM,
	COLUMN_STANDS_FOR,
	COLUMN_STATE,
	COLUMN_REASON,
	COLUMN_KERNEL,
	COLUMN_PAGE_SIZE,
};

#define FILES                                                                                      \
	"SELECT t.id, t.path, t.fstype, t.ra_pages, t.io_pages, t.max_order, t.stratum, "          \
	"t.stands_for, t.state, t.reason, r.kernel, r.page_size_bytes FROM traced_file t "         \
	"JOIN job j ON j.id = t.job_id JOIN run r ON r.id = j.run_id WHERE t.job_id = ?1 "         \
	"ORDER BY t.id"

/* What the replay needs of the file. False: something is not known, and the note says what. */
static bool prepare(sqlite3_stmt *q, struct whatif_file *f, struct ra_replay_input *in)
{
	const char *kernel = (const char *)sqlite3_column_text(q, COLUMN_KERNEL);
	const char *fstype = (const char *)sqlite3_column_text(q, COLUMN_FSTYPE);
	const char *why = NULL;
	int order = -1;

	in->kernel = ra_kernel_of(kernel ? kernel : "", &why);
	if (sqlite3_column_int64(q, COLUMN_PAGE_SIZE) != PAGE_BYTES)
		why = "the model knows pages of 4 KiB alone";
	else if (sqlite3_column_type(q, COLUMN_RA_PAGES) == SQLITE_NULL)
		why = "the setting in force is not known";
	else if (sqlite3_column_type(q, COLUMN_MAX_ORDER) != SQLITE_NULL)
		order = sqlite3_column_int(q, COLUMN_MAX_ORDER);
	else if (in->kernel && fstype)
		order = ra_kernel_max_order(in->kernel, fstype);
	if (!why && order < 0)
		why = "how large folios are on its filesystem is not known";
	f->device_pages = (uint32_t)sqlite3_column_int64(q, COLUMN_RA_PAGES);
	in->device_pages = f->device_pages;
	in->io_pages = (uint32_t)sqlite3_column_int64(q, COLUMN_IO_PAGES);
	in->max_order = order < 0 ? 0 : (unsigned int)order;
	if (why)
		snprintf(f->note, sizeof(f->note), "%s", why);
	return !why;
}

static int load_file(sqlite3 *db, sqlite3_stmt *q, struct whatif_file *f, struct errtext *err)
{
	const char *state = (const char *)sqlite3_column_text(q, COLUMN_STATE);
	const char *reason = (const char *)sqlite3_column_text(q, COLUMN_REASON);
	const void *path = sqlite3_column_blob(q, COLUMN_PATH);
	struct ra_replay_input in = {0};
	bool whole = state && strcmp(state, "whole") == 0;
	int r = 0;

	memset(f, 0, sizeof(*f));
	f->id = sqlite3_column_int64(q, COLUMN_ID);
	f->fidelity = -1;
	f->stratum = sqlite3_column_type(q, COLUMN_STRATUM) == SQLITE_NULL
			     ? -1
			     : sqlite3_column_int64(q, COLUMN_STRATUM);
	f->stands_for = sqlite3_column_double(q, COLUMN_STANDS_FOR);
	if (path) {
		f->path_len = (size_t)sqlite3_column_bytes(q, COLUMN_PATH);
		f->path = calloc(1, f->path_len + 1);
		if (!f->path)
			return errtext_set(err, -ENOMEM, "out of memory");
		memcpy(f->path, path, f->path_len);
	}
	if (prepare(q, f, &in))
		r = answer_from(db, f, &in, err);
	if (!r && f->judged && !whole) {
		/* What it says of the part there is holds, but not for the file. */
		f->judged = false;
		snprintf(f->note, sizeof(f->note), "its trace is broken: %s",
			 reason ? reason : "no reason is given");
	}
	return r;
}

static bool has_traces(sqlite3 *db)
{
	return sqlite3_table_column_metadata(db, NULL, "traced_file", "id", NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

static void load_absent(sqlite3 *db, int64_t job_id, struct whatif_readahead *w)
{
	const char *none = "no file of the job was traced";
	sqlite3_stmt *q = NULL;

	snprintf(w->absent, sizeof(w->absent), "%s", none);
	if (sqlite3_prepare_v2(db, "SELECT reason FROM trace_absent WHERE job_id = ?1", -1, &q,
			       NULL) == SQLITE_OK) {
		sqlite3_bind_int64(q, 1, job_id);
		if (sqlite3_step(q) == SQLITE_ROW)
			snprintf(w->absent, sizeof(w->absent), "%s", sqlite3_column_text(q, 0));
	}
	sqlite3_finalize(q);
}

int whatif_readahead_load(sqlite3 *db, int64_t job_id, struct whatif_readahead *ret,
			  struct errtext *err)
{
	struct whatif_readahead w = {0};
	sqlite3_stmt *q;
	int r = 0, rc = SQLITE_DONE;

	if (!has_traces(db)) {
		snprintf(w.absent, sizeof(w.absent),
			 "the run was recorded by a version that traced no files");
		*ret = w;
		return 0;
	}
	if (sqlite3_prepare_v2(db, FILES, -1, &q, NULL))
		return sql_error(db, err);
	sqlite3_bind_int64(q, 1, job_id);
	while (!r && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct whatif_file *more = realloc(w.files, (w.nr_files + 1) * sizeof(*more));

		if (!more) {
			r = errtext_set(err, -ENOMEM, "out of memory");
			break;
		}
		w.files = more;
		r = load_file(db, q, &w.files[w.nr_files++], err);
		w.nr_judged += w.files[w.nr_files - 1].judged;
	}
	if (!r && rc != SQLITE_DONE)
		r = sql_error(db, err);
	sqlite3_finalize(q);
	if (!r && !w.nr_files)
		load_absent(db, job_id, &w);
	if (r)
		whatif_readahead_free(&w);
	else
		*ret = w;
	return r;
}

void whatif_readahead_free(struct whatif_readahead *w)
{
	for (size_t i = 0; i < w->nr_files; i++)
		free(w->files[i].path);
	free(w->files);
	memset(w, 0, sizeof(*w));
}
