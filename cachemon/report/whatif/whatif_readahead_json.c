/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_readahead_show.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *key, *error_key;
} figures[WHATIF_FIGURES] = {
	[WHATIF_MISSES] = {"misses", "misses_error"},
	[WHATIF_PREFETCHED] = {"prefetched_pages", "prefetched_pages_error"},
	[WHATIF_WASTED] = {"wasted_pages", "wasted_pages_error"},
	[WHATIF_REQUESTS] = {"requests", "requests_error"},
	[WHATIF_STALLS] = {"waits", "waits_error"},
};

static const char *const scales[] = {
	[WHATIF_BY_FILES] = "files",
	[WHATIF_BY_JOB] = "job",
	[WHATIF_BY_SIZE] = "size",
};

static void put_name(struct tree *t, size_t candidate, uint32_t device_pages)
{
	char name[32];

	whatif_setting_name(candidate, device_pages, name, sizeof(name));
	if (candidate == WHATIF_ACTUAL && !device_pages)
		tree_string(t, "setting", "actual");
	else
		tree_string(t, "setting", name);
	tree_bool(t, "actual", candidate == WHATIF_ACTUAL);
}

static void put_sum(struct tree *t, const struct whatif_readahead *w, bool mapped, size_t candidate,
		    int64_t page_size_bytes)
{
	struct whatif_sum s;
	double pages;

	whatif_readahead_sum(w, mapped, candidate, &s);
	if (!s.known)
		return;
	pages = s.figure[WHATIF_MISSES] + s.figure[WHATIF_PREFETCHED];
	tree_object(t, NULL);
	put_name(t, candidate, 0);
	tree_bool(t, "best", (int)candidate == whatif_readahead_best(w, mapped));
	for (int i = 0; i < WHATIF_FIGURES; i++) {
		if (isnan(s.figure[i]))
			tree_null(t, figures[i].key);
		else
			tree_int(t, figures[i].key, llround(s.figure[i]));
		tree_double(t, figures[i].error_key, s.error[i] >= 0 ? s.error[i] : NAN);
	}
	tree_int(t, "read_pages", llround(pages));
	tree_int(t, "read_bytes", llround(pages) * page_size_bytes);
	tree_end(t);
}

static void put_result(struct tree *t, const struct whatif_file *f, size_t candidate)
{
	const struct whatif_result *r = &f->results[candidate];

	tree_object(t, NULL);
	put_name(t, candidate, f->device_pages);
	for (int i = 0; i < WHATIF_FIGURES; i++) {
		if (whatif_figure_seen(f->mapped, i))
			tree_uint(t, figures[i].key, r->figure[i]);
		else
			tree_null(t, figures[i].key);
	}
	tree_uint(t, "windows", r->windows);
	tree_end(t);
}

static void put_file(struct tree *t, const struct whatif_file *f, int64_t page_size_bytes)
{
	tree_object(t, NULL);
	tree_text(t, "path", f->path);
	if (f->device_known)
		tree_int(t, "read_ahead_kb", f->device_pages * page_size_bytes / 1024);
	else
		tree_null(t, "read_ahead_kb");
	tree_double(t, "fidelity", f->fidelity < 0 ? NAN : f->fidelity);
	tree_double(t, "stands_for", f->stands_for);
	tree_double(t, "counts_for", f->counts_for);
	tree_bool(t, "mapped", f->mapped);
	tree_bool(t, "answered", f->judged);
	tree_string(t, "note", f->note);
	tree_array(t, "settings");
	for (size_t i = 0; f->judged && i < WHATIF_CANDIDATES; i++)
		if (f->results[i].known)
			put_result(t, f, i);
	tree_end(t);
	tree_end(t);
}

void whatif_readahead_json(struct tree *t, const struct whatif_readahead *w,
			   int64_t page_size_bytes)
{
	tree_string(t, "reason", w->nr_files ? NULL : w->absent);
	tree_int(t, "traced_files", (int64_t)w->nr_files);
	tree_int(t, "answered_files", (int64_t)w->nr_judged);
	tree_int(t, "gave_way_files", (int64_t)w->nr_gave_way);
	tree_string(t, "scaled_by", w->nr_files ? scales[w->scale] : NULL);
	for (int mapped = 0; mapped < 2; mapped++) {
		tree_array(t, mapped ? "mapped_settings" : "settings");
		for (size_t i = 0; i < WHATIF_CANDIDATES; i++)
			put_sum(t, w, mapped, i, page_size_bytes);
		tree_end(t);
	}
	tree_array(t, "files");
	for (size_t i = 0; i < w->nr_files; i++)
		put_file(t, &w->files[i], page_size_bytes);
	tree_end(t);
}
