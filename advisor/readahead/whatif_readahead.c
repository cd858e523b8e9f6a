/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/whatif_readahead.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/db/db_rows.h"
#include "cachemon/base/human.h"

enum { FIRST_KB = 32, RANDOM_AT = 11, SEQUENTIAL_AT = 12 };

/* ra_kb is 0, then 32, 64 ... 8192. */
static uint32_t pages_of_setting(size_t candidate)
{
	return candidate == 1 ? 0 : (uint32_t)(FIRST_KB / RA_PAGE_KB) << (candidate - 2);
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
		s.pages = pages_of_setting(candidate);
	}
	return s;
}

const char *whatif_reason_text(enum whatif_reason reason)
{
	static const char *const texts[] = {
		[WHATIF_ANSWERED] = "",
		[WHATIF_UNKNOWN] = "the filesystem's readahead is not known",
		[WHATIF_CACHED] = "read only from the cache",
		[WHATIF_UNFAITHFUL] = "fidelity below 0.95",
		[WHATIF_BROKEN] = "its trace is incomplete",
		[WHATIF_GAVE_WAY] = "dropped from the trace sample",
		[WHATIF_UNREADABLE] = "its trace is damaged or too long",
	};

	return texts[reason];
}

void whatif_setting_name(size_t i, uint32_t device_pages, char *text, size_t size)
{
	if (i == RANDOM_AT || i == SEQUENTIAL_AT)
		snprintf(text, size, "%s", i == RANDOM_AT ? "random" : "sequential");
	else
		snprintf(text, size, "ra_kb=%u",
			 RA_PAGE_KB * (i == WHATIF_ACTUAL ? device_pages : pages_of_setting(i)));
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

/* Faults that smaller windows would cause left no trace, and advice only affects reads. */
static bool has_answer(const struct whatif_file *f, size_t candidate)
{
	if (!f->mapped || candidate == WHATIF_ACTUAL)
		return true;
	return candidate < RANDOM_AT && pages_of_setting(candidate) >= f->device_pages;
}

/* The caveats of a file with an answer. */
static void remark_judged(struct whatif_file *f)
{
	f->judged = true;
	f->reason = WHATIF_ANSWERED;
	snprintf(f->note, sizeof(f->note), "%s%s",
		 f->evicted ? "pages are evicted as in the run" : "no page is evicted",
		 f->mapped ? "; smaller windows cannot be predicted" : "");
}

/* The gap in the trace, if it may explain the difference from the model; "": no gap. */
static const char *untold_by_trace(const struct ra_replay_result *r, bool warm)
{
	if (r->reads_of_none)
		return "; concurrent reads (io_uring) are recorded after their pages and without "
		       "their open file";
	if (r->shared)
		return "; tasks share an open file; the order of their accesses was not recorded";
	return warm ? "; not all pages cached before the trace are known" : "";
}

/* Whether the model matches the trace well enough to predict for the file. */
static void judge_file(struct whatif_file *f, const struct ra_replay_result *actual, bool warm)
{
	f->mapped = actual->mapped > 0;
	f->evicted = actual->evicted > 0;
	f->windows = actual->windows;
	f->exact_windows = actual->exact_windows;
	if (f->windows)
		f->fidelity = (double)f->exact_windows / (double)f->windows;
	if (!f->windows) {
		f->reason = WHATIF_CACHED;
		snprintf(f->note, sizeof(f->note), "every requested page was cached");
	} else if (f->fidelity < WHATIF_LEAST_FIDELITY) {
		f->reason = WHATIF_UNFAITHFUL;
		snprintf(f->note, sizeof(f->note),
			 "the model reproduces %llu of %llu windows exactly; 95 %% are needed%s",
			 (unsigned long long)f->exact_windows, (unsigned long long)f->windows,
			 untold_by_trace(actual, warm));
		human_group(f->note, sizeof(f->note));
	} else {
		remark_judged(f);
	}
}

/* No page was brought in, and no setting would bring in any. */
static void answer_cached(struct whatif_file *f)
{
	for (size_t i = 0; i < WHATIF_CANDIDATES; i++)
		f->results[i].known = has_answer(f, i);
}

static int answer_all(struct whatif_file *f, const struct ra_replay_input *in)
{
	struct ra_replay_result r = {0};
	int error = ra_replay(in, setting_of(WHATIF_ACTUAL), &r);

	if (error)
		return error;
	judge_file(f, &r, in->warm);
	f->results[WHATIF_ACTUAL] = result_of(&r);
	if (f->reason == WHATIF_CACHED)
		answer_cached(f);
	if (!f->judged)
		return 0;
	for (size_t i = 1; i < WHATIF_CANDIDATES; i++) {
		if (!has_answer(f, i))
			continue;
		if (setting_of(i).kind == RA_SETTING_PAGES &&
		    pages_of_setting(i) == f->device_pages) {
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

static int answer_from(sqlite3 *db, struct whatif_file *f, struct ra_replay_input *in,
		       struct errtext *err)
{
	struct trace_events events;
	int r = load_trace_events(db, f->id, &events, err);

	if (!r) {
		in->events = events.events;
		in->nr_events = events.nr;
		r = answer_all(f, in);
		trace_events_free(&events);
		if (r == -ENOMEM)
			errtext_set(err, r, "out of memory");
	}
	if (r == -EBADMSG || r == -E2BIG) {
		f->judged = false;
		f->reason = WHATIF_UNREADABLE;
		snprintf(f->note, sizeof(f->note), "%s",
			 r == -E2BIG ? "the trace is too long, or covers too much of the file, to "
				       "be replayed"
				     : "the stored trace cannot be decoded");
		r = 0;
	}
	return r;
}

/* The facts that all files share. */
struct run_facts {
	const struct ra_kernel *kernel;
	const char *why; /* no file can be judged */
};

static int load_run_facts(sqlite3 *db, int64_t job_id, struct run_facts *ret, struct errtext *err)
{
	struct arena texts = {0};
	struct rows r = rows_begin(db, &texts,
				   "SELECT r.kernel, r.page_size_bytes FROM job j JOIN run r ON "
				   "r.id = j.run_id WHERE j.id = ?1",
				   1, &job_id);
	bool found = rows_next(&r);
	int e;

	if (found) {
		ret->kernel = ra_kernel_of(rows_bytes(&r).data, &ret->why);
		if (rows_value(&r, 0) != RA_PAGE_BYTES)
			ret->why = "the model handles only pages of 4 KiB";
	}
	e = rows_finish(&r);
	arena_free(&texts);
	if (!found || e)
		return errtext_set(err, e ? e : -EIO, "cannot read the run of job %lld: %s",
				   (long long)job_id, rows_error(db));
	return 0;
}

/* The file's input of the replay. False: something is unknown; the note has the reason. */
static bool prepare_replay(const struct run_facts *run, const struct trace_file *t,
			   struct whatif_file *f, struct ra_replay_input *in)
{
	const char *why = run->why;
	int64_t order = t->max_order;

	if (!why && order < 0 && t->fstype)
		order = ra_kernel_max_order(run->kernel, t->fstype);
	if (!why && t->ra_pages < 0)
		why = "the setting in force is not known";
	else if (!why && order < 0)
		why = "the size of folios on its filesystem is not known";
	in->kernel = run->kernel;
	in->device_pages = f->device_pages;
	in->io_pages = t->io_pages < 0 ? 0 : (uint32_t)t->io_pages;
	in->max_order = order < 0 ? 0 : (unsigned int)order;
	in->warm = t->warm;
	if (why) {
		f->reason = WHATIF_UNKNOWN;
		snprintf(f->note, sizeof(f->note), "%s", why);
	}
	return !why;
}

/* The findings describe the recorded part, not the whole file. */
static void set_broken(struct whatif_file *f, const struct trace_file *t)
{
	bool gave_way = t->reason && strcmp(t->reason, TRACE_GAVE_WAY) == 0;

	f->judged = false;
	f->reason = gave_way ? WHATIF_GAVE_WAY : WHATIF_BROKEN;
	snprintf(f->note, sizeof(f->note), "its trace is incomplete: %s",
		 t->reason ? t->reason : "no reason was recorded");
}

static int load_file(sqlite3 *db, const struct run_facts *run, const struct trace_file *t,
		     struct whatif_file *f, struct errtext *err)
{
	struct ra_replay_input in = {0};
	int r = 0;

	f->id = t->id;
	f->path = t->path;
	f->fidelity = -1;
	f->stratum = t->stratum;
	f->stands_for = t->stands_for < 0 ? 0 : t->stands_for;
	f->device_known = t->ra_pages >= 0;
	f->device_pages = f->device_known ? (uint32_t)t->ra_pages : 0;
	if (prepare_replay(run, t, f, &in))
		r = answer_from(db, f, &in, err);
	if (!r && t->broken)
		set_broken(f, t);
	return r;
}

/* Files that were cached represent similar files, which lowers a sum. A sum leaves out sizes that
 * have no other file. */
static bool counts_in_sums(const struct whatif_readahead *w, const struct whatif_file *f)
{
	if (f->judged || f->reason != WHATIF_CACHED)
		return f->judged;
	for (size_t i = 0; i < w->nr_files; i++) {
		const struct whatif_file *other = &w->files[i];

		if (other->judged && other->stratum == f->stratum && other->mapped == f->mapped)
			return true;
	}
	return false;
}

static void count_files(struct whatif_readahead *w)
{
	for (size_t i = 0; i < w->nr_files; i++) {
		struct whatif_file *f = &w->files[i];

		f->counted = counts_in_sums(w, f);
		w->nr_judged += f->judged;
		w->nr_gave_way += f->reason == WHATIF_GAVE_WAY;
	}
}

int whatif_readahead_load(sqlite3 *db, int64_t job_id, struct whatif_readahead *ret,
			  struct errtext *err)
{
	struct whatif_readahead w = {0};
	struct run_facts run = {0};
	struct trace_files traced = {0};
	int r = load_trace_files(db, job_id, &traced, err);

	if (r == -ENOENT) {
		snprintf(w.absent, sizeof(w.absent), "%s", err->text);
		*ret = w;
		return 0;
	}
	if (!r)
		r = load_run_facts(db, job_id, &run, err);
	if (!r && traced.nr) {
		w.files = calloc(traced.nr, sizeof(*w.files));
		if (!w.files) {
			errtext_set(err, -ENOMEM, "out of memory");
			r = -ENOMEM;
		}
	}
	for (size_t i = 0; !r && i < traced.nr; i++)
		r = load_file(db, &run, &traced.files[i], &w.files[w.nr_files++], err);
	/* Some of the texts are paths. */
	w.texts = traced.texts;
	traced.texts = (struct arena){0};
	trace_files_free(&traced);
	count_files(&w);
	if (!r)
		r = whatif_readahead_weigh(db, job_id, &w, err);
	if (r)
		whatif_readahead_free(&w);
	else
		*ret = w;
	return r;
}

void whatif_readahead_free(struct whatif_readahead *w)
{
	arena_free(&w->texts);
	free(w->files);
	memset(w, 0, sizeof(*w));
}
