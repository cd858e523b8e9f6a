/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/report/run/pictures.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/report/whatif/whatif_readahead_show.h"

_Static_assert(CURVE_DISTANCES < (int)BARS_MAX, "bars have room");

/* From the first to the last nonzero value. */
static void put_bars(struct doc *d, struct arena *a, const struct bars *b,
		     const struct bars_shown *shown)
{
	size_t first = 0;
	size_t nr = b->nr;
	struct picture p;

	while (nr && !(b->values[nr - 1] > 0))
		nr--;
	while (first < nr && !(b->values[first] > 0))
		first++;
	p = pictures_bars(a, b, first, nr - first, shown);
	if (!a->failed)
		doc_put_picture(d, &p);
}

static void put_windows(struct doc *d, struct arena *a, const struct counts *c)
{
	struct bars_shown shown;
	struct bars b;

	if (!pictures_windows(a, c, &b, &shown)) {
		doc_para(d, "Window sizes were not measured.");
		return;
	}
	shown.id = "window-sizes";
	shown.title = "Sizes of readahead windows";
	put_bars(d, a, &b, &shown);
}

static void put_reads(struct doc *d, struct arena *a, const struct model_detail *x)
{
	struct bars_shown shown;
	struct bars b;

	pictures_reads(a, x, &b, &shown);
	shown.id = "read-sizes";
	shown.title = "Sizes of read calls";
	put_bars(d, a, &b, &shown);
}

static void put_distances(struct doc *d, struct arena *a, const struct job_curve *c)
{
	const struct bars_shown shown = {
		.id = "reuse-distances",
		.title = "Reuse distances",
		.says = "A reuse distance is the amount of other data read before a page is read "
			"again. A cache larger than that still holds the page. Estimated from "
			"sampled references.",
		.axis = "distance",
		.series = "lookups",
		.mark = curve_ratio_mark(c),
		.unit = UNIT_SHARE,
		.tone = TONE_BEST};
	struct bars b = {.nr = CURVE_DISTANCES + 1};

	curve_distances(&c->curve, b.values);
	for (int i = 0; i < CURVE_DISTANCES; i++)
		b.names[i] = arena_print(
			a, "%s",
			human_bytes((UINT64_C(1) << i) * (uint64_t)c->facts.page_size_bytes).text);
	while (b.nr > 1 && !(b.values[b.nr - 2] > 0))
		b.nr--;
	b.values[b.nr - 1] = c->curve.first_touch;
	b.names[b.nr - 1] = "first time";
	put_bars(d, a, &b, &shown);
}

void sections_windows(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct counts *c = &job->counts;
	const struct analysis_model *models = findings_models(m, job);
	struct arena a = {0};

	doc_para(d, "Readahead windows: %s synchronous, %s asynchronous, %s forced by advice.",
		 show_count(counts_get(c, C_windows_sync), false).s,
		 show_count(counts_get(c, C_windows_async), false).s,
		 show_count(counts_get(c, C_windows_forced), false).s);
	put_windows(d, &a, &job->counts);
	if (job->detail->advice.absent)
		doc_para(d, "The sizes of read calls are not known: %s.",
			 job->detail->advice.absent);
	else
		put_reads(d, &a, job->detail);
	if (models && models->curve.there)
		put_distances(d, &a, &models->curve);
	else if (models)
		doc_para(d, "Reuse distances are not known: %s", models->curve.absent);
	d->failed = d->failed || a.failed;
	arena_free(&a);
}

enum { WAITS_FILES = 3 }; /* the pictures of files: those that were waited for longest */

static void put_wait_bars(struct doc *d, struct arena *a, const struct model_waits *w,
			  const struct counts *c, const char *id, const char *title)
{
	struct bars_shown shown;
	struct bars b;

	pictures_waits(a, w, c, &b, &shown);
	shown.id = id;
	shown.title = title;
	put_bars(d, a, &b, &shown);
}

static const char *file_title(struct arena *a, const struct model_file *f)
{
	char *name = f->path.data ? escape_inert_copy(f->path.data, f->path.len) : NULL;
	const char *ret =
		arena_print(a, "Lengths of waits for %s", name ? name : "a file without a name");

	free(name);
	return ret;
}

static const struct model_file *longest_after(const struct model_job *job,
					      const struct model_file *before)
{
	const struct model_file *best = NULL;

	for (size_t i = 0; i < job->nr_files; i++) {
		const struct model_file *f = &job->files[i];
		int64_t ns = f->counts.c[C_stall_ns];

		if (f->counts.known[C_stall_ns] && ns > 0 &&
		    (!before || ns < before->counts.c[C_stall_ns] ||
		     (ns == before->counts.c[C_stall_ns] && f > before)) &&
		    (!best || ns > best->counts.c[C_stall_ns]))
			best = f;
	}
	return best;
}

static void put_file_waits(struct doc *d, struct arena *a, const struct model_job *job)
{
	const struct model_file *f = NULL;

	for (int i = 0; i < WAITS_FILES; i++) {
		const char *title;

		f = longest_after(job, f);
		if (!f)
			return;
		title = file_title(a, f);
		if (f->waits.absent)
			doc_para(d, "%s: not known, because %s.", title ? title : "",
				 f->waits.absent);
		else
			put_wait_bars(d, a, &f->waits, &f->counts,
				      arena_print(a, "wait-lengths-%d", i + 1), title);
	}
}

static void put_device(struct doc *d, const struct model_filesystem *f, struct opt_i64 mean)
{
	char *name = f->device.data ? escape_inert_copy(f->device.data, f->device.len) : NULL;

	doc_para(d,
		 "A read of the device %s took %s on average, including its time in the queue (%s "
		 "%s by all processes during the run).",
		 name ? name : "without a name", show_ns(mean).s,
		 show_count(f->device_reads, false).s,
		 show_plural(f->device_reads, "read", "reads"));
	free(name);
}

static void put_devices(struct doc *d, const struct model_job *job)
{
	bool any = false;

	for (size_t i = 0; i < job->nr_filesystems; i++) {
		struct opt_i64 mean = model_device_read_ns(&job->filesystems[i]);

		if (mean.known)
			put_device(d, &job->filesystems[i], mean);
		any = any || mean.known;
	}
	if (!any)
		doc_para(d,
			 "The read times of the devices are not known: the kernel counted no read "
			 "of a block device for these filesystems, or an older version recorded "
			 "the run.");
}

void sections_waits(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct opt_i64 ns = counts_get(&job->counts, C_stall_ns);
	struct opt_i64 waits = counts_get(&job->counts, C_stalls);
	struct opt_i64 mean = {.known = ns.known && waits.known && waits.value > 0};
	struct arena a = {0};

	if (waits.known && !waits.value) {
		doc_para(d, "No task slept for the page cache.");
		return;
	}
	if (mean.known) {
		mean.value = ns.value / waits.value;
		doc_para(d, "Tasks slept for the page cache %s %s, %s on average, %s in all.",
			 show_least(show_count(waits, false),
				    counts_lower_bound(&job->counts, C_stalls))
				 .s,
			 show_plural(waits, "time", "times"), show_ns(mean).s,
			 show_least(show_ns(ns), counts_lower_bound(&job->counts, C_stall_ns)).s);
	}
	put_devices(d, job);
	if (job->waits.absent) {
		doc_para(d, "The lengths of waits are not known: %s.", job->waits.absent);
	} else {
		put_wait_bars(d, &a, &job->waits, &job->counts, "wait-lengths", "Lengths of waits");
		put_file_waits(d, &a, job);
	}
	d->failed = d->failed || a.failed;
	arena_free(&a);
}

void sections_curve(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = findings_models(m, job);

	if (!a)
		return;
	if (!a->curve.there) {
		doc_para(d, "There is no miss-ratio curve: %s", a->curve.absent);
		return;
	}
	whatif_cache_picture(d, &a->curve);
	doc_para(d, "Here a page that readahead brought counts as missed, so these are not the hit "
		    "ratios of the run.");
}

void sections_readahead(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = findings_models(m, job);

	if (!a)
		return;
	if (!a->readahead.nr_files)
		doc_para(d, "No prediction for other settings: %s.", a->readahead.absent);
	else if (!a->readahead.nr_judged)
		doc_para(d,
			 "No prediction is possible for any of the %s traced files; cachemon "
			 "whatif readahead gives the reasons.",
			 human_exact((int64_t)a->readahead.nr_files).text);
	else
		whatif_readahead_picture(d, &a->readahead);
}
