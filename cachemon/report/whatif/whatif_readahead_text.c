/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_readahead_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/human.h"

enum { MOST_FILES = 20 };

/* A smaller change than this share is not worth a line. */
#define LEAST_DIFFERENCE 0.01

static const char criterion[] =
	"The best setting has the fewest waits among those that waste at most 10 % of what they "
	"read, or no more than the run wasted. For mapped files, whose use is not observed, it "
	"reads at most 10 % more. Among settings within 1 % of it, the one that reads the fewest "
	"pages wins.";

static void setting_cell(struct doc_table *t, size_t candidate, int best)
{
	char name[32] = "as it was";

	if (candidate != WHATIF_ACTUAL)
		whatif_setting_name(candidate, 0, name, sizeof(name));
	doc_cell(t, "%s%s", name, (int)candidate == best ? " (best)" : "");
}

static void figure_cell(struct doc_table *t, double v, double error)
{
	struct human n;

	if (isnan(v)) {
		doc_cell(t, "-");
		return;
	}
	n = human_exact(llround(v));
	if (error > 0.5)
		doc_cell(t, "%s ± %s", n.text, human_count((uint64_t)llround(error)).text);
	else
		doc_cell(t, "%s%s", n.text, error < 0 ? " ± ?" : "");
}

static double pages_read(const struct whatif_sum *s)
{
	return s->figure[WHATIF_MISSES] + s->figure[WHATIF_PREFETCHED];
}

static bool is_far(double a, double b, double error)
{
	return fabs(a - b) > fmax(b * LEAST_DIFFERENCE, error);
}

/* Whether waits or pages read differ from the actual setting by more than the error. */
static bool differs(const struct whatif_sum *s, const struct whatif_sum *actual)
{
	double error = fmax(s->error[WHATIF_MISSES], 0) + fmax(s->error[WHATIF_PREFETCHED], 0);

	return is_far(s->figure[WHATIF_STALLS], actual->figure[WHATIF_STALLS],
		      s->error[WHATIF_STALLS]) ||
	       is_far(pages_read(s), pages_read(actual), error);
}

static struct human bytes_of(double pages, int64_t page_size_bytes)
{
	return human_bytes((uint64_t)llround(pages) * (uint64_t)page_size_bytes);
}

/* One sentence about files of a kind. false: no setting is known for it. */
static bool put_verdict(struct doc *d, const struct whatif_readahead *w, bool mapped,
			int64_t page_size_bytes)
{
	const char *kind = mapped ? "faults of mapped files" : "read calls";
	int best = whatif_readahead_best(w, mapped);
	struct whatif_sum is, was;
	const char *advice;
	double saved, error;
	char name[32];

	whatif_readahead_sum(w, mapped, WHATIF_ACTUAL, &was);
	if (best < 0 || !was.known)
		return false;
	if (best == WHATIF_ACTUAL) {
		doc_para(d, "Keep the readahead setting for %s: no other setting does better.",
			 kind);
		return true;
	}
	whatif_readahead_sum(w, mapped, (size_t)best, &is);
	whatif_setting_name((size_t)best, 0, name, sizeof(name));
	advice = !strcmp(name, "sequential") ? "POSIX_FADV_SEQUENTIAL"
		 : !strcmp(name, "random")   ? "POSIX_FADV_RANDOM"
					     : NULL;
	saved = was.figure[WHATIF_STALLS] - is.figure[WHATIF_STALLS];
	error = fmax(is.error[WHATIF_STALLS], was.error[WHATIF_STALLS]);
	if (saved < was.figure[WHATIF_STALLS] * LEAST_DIFFERENCE || saved <= error)
		doc_para(d,
			 "Keep the readahead setting for %s: no other setting saves a significant "
			 "number of waits.",
			 kind);
	else
		doc_para(d,
			 "With %s%s, %s would wait %s times instead of %s "
			 "(%.0f %% fewer), and %s would be read from storage instead of %s.",
			 advice ? "" : "the setting ", advice ?: name, kind,
			 human_exact(llround(is.figure[WHATIF_STALLS])).text,
			 human_exact(llround(was.figure[WHATIF_STALLS])).text,
			 100 * saved / was.figure[WHATIF_STALLS],
			 bytes_of(pages_read(&is), page_size_bytes).text,
			 bytes_of(pages_read(&was), page_size_bytes).text);
	return true;
}

static void put_verdicts(struct doc *d, const struct whatif_readahead *w, int64_t page_size_bytes)
{
	bool read = put_verdict(d, w, false, page_size_bytes);
	bool mapped = put_verdict(d, w, true, page_size_bytes);

	if (!read && !mapped)
		doc_para(d, "No prediction is possible for any of the %s traced files.",
			 human_exact((int64_t)(w->nr_files - w->nr_gave_way)).text);
}

/* Whether to leave it out: it does not differ measurably from the actual setting. */
static bool sum_row(struct doc_table *t, const struct whatif_readahead *w, bool mapped,
		    size_t candidate, int64_t page_size_bytes)
{
	int best = whatif_readahead_best(w, mapped);
	struct whatif_sum s, actual;

	whatif_readahead_sum(w, mapped, candidate, &s);
	whatif_readahead_sum(w, mapped, WHATIF_ACTUAL, &actual);
	if (!s.known)
		return false;
	if (candidate != WHATIF_ACTUAL && (int)candidate != best && actual.known &&
	    !differs(&s, &actual))
		return true;
	setting_cell(t, candidate, best);
	figure_cell(t, s.figure[WHATIF_STALLS], s.error[WHATIF_STALLS]);
	figure_cell(t, s.figure[WHATIF_WASTED], s.error[WHATIF_WASTED]);
	doc_cell(t, "%s", bytes_of(pages_read(&s), page_size_bytes).text);
	return false;
}

static void put_sums(struct doc *d, const struct whatif_readahead *w, bool mapped,
		     int64_t page_size_bytes)
{
	static const struct doc_column columns[] = {
		{"setting", DOC_LEFT},
		{"waits", DOC_RIGHT},
		{"wasted pages", DOC_RIGHT},
		{"read", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE(
		mapped ? "Mapped files: waits and pages" : "Read files: waits and pages", columns);

	size_t alike = 0;

	for (size_t i = 0; i < WHATIF_CANDIDATES; i++)
		alike += sum_row(&t, w, mapped, i, page_size_bytes);
	doc_put_table(d, &t);
	if (alike)
		doc_para(d,
			 "%zu more %s from it by less than 1 %% or their error. "
			 "--json lists %s.",
			 alike, alike == 1 ? "setting differs" : "settings differ",
			 alike == 1 ? "it" : "them");
}

static void put_answered(struct doc *d, const struct whatif_readahead *w, int64_t page_size_bytes)
{
	static const struct doc_column columns[] = {
		{"file", DOC_OWN_LINE},	 {"read_ahead_kb", DOC_RIGHT},
		{"fidelity", DOC_RIGHT}, {"counts for", DOC_RIGHT},
		{"", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE("Files with a prediction", columns);
	size_t listed = 0;

	for (size_t i = 0; i < w->nr_files && listed < MOST_FILES; i++) {
		const struct whatif_file *f = &w->files[i];
		struct bytes name = {f->path, f->path ? strlen(f->path) : 0};

		if (!f->judged)
			continue;
		listed++;
		doc_cell_name(&t, &name, "(name unknown)");
		doc_cell(&t, "%" PRId64, f->device_pages * page_size_bytes / 1024);
		doc_cell(&t, "%.3f", f->fidelity);
		doc_cell(&t, "%.3g", f->counts_for);
		doc_cell(&t, "%s", f->note);
	}
	doc_put_table(d, &t);
	if (w->nr_judged > listed)
		doc_para(d, "%s more files: see --json.",
			 human_exact((int64_t)(w->nr_judged - listed)).text);
}

/* In a few words if each file has its own figures, else in full. */
static const char *why_unanswered(const struct whatif_file *f)
{
	if (f->reason == WHATIF_BROKEN || f->reason == WHATIF_UNKNOWN)
		return f->note;
	return whatif_reason_text(f->reason);
}

/* The number of files with this reason, if it is the first with it; else 0. */
static size_t count_reason(const struct whatif_readahead *w, size_t at)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_files; i++) {
		if (w->files[i].judged ||
		    strcmp(why_unanswered(&w->files[i]), why_unanswered(&w->files[at])) != 0)
			continue;
		if (i < at)
			return 0;
		nr++;
	}
	return nr;
}

static void put_unanswered(struct doc *d, const struct whatif_readahead *w)
{
	static const struct doc_column columns[] = {
		{"for example", DOC_OWN_LINE},
		{"files", DOC_RIGHT},
		{"why", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE("Files without a prediction", columns);

	for (size_t i = 0; i < w->nr_files; i++) {
		const struct whatif_file *f = &w->files[i];
		struct bytes name = {f->path, f->path ? strlen(f->path) : 0};
		size_t nr = f->judged ? 0 : count_reason(w, i);

		if (!nr || f->reason == WHATIF_GAVE_WAY)
			continue;
		doc_cell_name(&t, &name, "(name unknown)");
		doc_cell(&t, "%s", human_exact((int64_t)nr).text);
		doc_cell(&t, "%s", why_unanswered(f));
	}
	doc_put_table(d, &t);
}

/* How the sums over traced files were scaled, if these represent others. */
static void put_scale(struct doc *d, const struct whatif_readahead *w)
{
	static const char *const texts[] = {
		[WHATIF_BY_FILES] =
			"Each traced file counts for an estimated number of similar files.",
		[WHATIF_BY_JOB] =
			"Traced files are weighted so that they add up to the pages that the job "
			"read from storage.",
		[WHATIF_BY_SIZE] =
			"Traced files are weighted so that they add up to the pages that files of "
			"their size read from storage.",
	};

	for (size_t i = 0; i < w->nr_files; i++) {
		if (!w->files[i].judged || w->files[i].counts_for <= 1)
			continue;
		doc_para(d, "%s", texts[w->scale]);
		return;
	}
}

void whatif_readahead_text(struct doc *d, const struct model_job *job,
			   const struct whatif_readahead *w, int64_t page_size_bytes)
{
	doc_heading(d, 2, "%.*s", (int)job->name.len, job->name.data ? job->name.data : "");
	if (!w->nr_files) {
		doc_para(d, "No prediction is possible: %s.", w->absent);
		return;
	}
	put_verdicts(d, w, page_size_bytes);
	doc_para(d,
		 "%s of %s traced files have a prediction. Fidelity is the share of readahead "
		 "windows that the model reproduces exactly with the setting that was in force.",
		 human_exact((int64_t)w->nr_judged).text,
		 human_exact((int64_t)(w->nr_files - w->nr_gave_way)).text);
	if (w->nr_gave_way)
		doc_para(d,
			 "%s more files were dropped from the trace sample; the traced files "
			 "represent them.",
			 human_exact((int64_t)w->nr_gave_way).text);
	put_scale(d, w);
	put_sums(d, w, false, page_size_bytes);
	put_sums(d, w, true, page_size_bytes);
	if (w->nr_judged)
		doc_para(d, "%s", criterion);
	put_answered(d, w, page_size_bytes);
	put_unanswered(d, w);
}

/* The drawing of the known settings. */
struct drawn {
	char text[WHATIF_CANDIDATES][40];
	const char *names[WHATIF_CANDIDATES];
	double misses[WHATIF_CANDIDATES], ahead[WHATIF_CANDIDATES];
	double used[WHATIF_CANDIDATES], wasted[WHATIF_CANDIDATES];
	double waits[WHATIF_CANDIDATES];
	size_t nr;
	const char *mark[WHATIF_FIGURES]; /* marks of figures, for all settings */
};

static void fill_drawn(struct drawn *p, const struct whatif_readahead *w, bool mapped)
{
	for (size_t i = 0; i < WHATIF_CANDIDATES; i++) {
		struct whatif_sum s;
		size_t at = p->nr;

		whatif_readahead_sum(w, mapped, i, &s);
		if (!s.known)
			continue;
		if (i == WHATIF_ACTUAL)
			snprintf(p->text[at], sizeof(p->text[at]), "as it was");
		else
			whatif_setting_name(i, 0, p->text[at], sizeof(p->text[at]));
		p->names[at] = p->text[at];
		p->misses[at] = s.figure[WHATIF_MISSES];
		p->ahead[at] = s.figure[WHATIF_PREFETCHED];
		p->used[at] = s.figure[WHATIF_PREFETCHED] - s.figure[WHATIF_WASTED];
		p->wasted[at] = s.figure[WHATIF_WASTED];
		p->waits[at] = s.figure[WHATIF_STALLS];
		for (int k = 0; k < WHATIF_FIGURES; k++)
			if (s.error[k] > 0.5 || s.error[k] < 0)
				p->mark[k] = MARK_ABOUT;
		p->nr++;
	}
}

static void say_best(const struct whatif_readahead *w, bool mapped, char *says, size_t size)
{
	int best = whatif_readahead_best(w, mapped);
	char name[40] = "the setting in force";

	if (best > WHATIF_ACTUAL)
		whatif_setting_name((size_t)best, 0, name, sizeof(name));
	snprintf(says, size,
		 "Predicted reads with each setting, scaled from the traced files to all files. "
		 "Best: %s.",
		 best < 0 ? "not known" : name);
}

#define SERIES(n, t, v, m)                                                                         \
	{                                                                                          \
		.name = (n), .tone = (t), .mark = (m), .values = (v)                               \
	}

static void put_settings(struct doc *d, const struct whatif_readahead *w, bool mapped,
			 const struct drawn *p)
{
	const char *const *mark = p->mark;
	const struct picture_series pages[] = {
		SERIES("misses", TONE_MISS, p->misses, mark[WHATIF_MISSES]),
		SERIES("used ahead", TONE_AHEAD, p->used,
		       mark[WHATIF_PREFETCHED] ?: mark[WHATIF_WASTED]),
		SERIES("wasted", TONE_WASTE, p->wasted, mark[WHATIF_WASTED]),
	};
	/* The use of a mapping's pages cannot be seen. */
	const struct picture_series mapped_pages[] = {
		SERIES("misses", TONE_MISS, p->misses, mark[WHATIF_MISSES]),
		SERIES("ahead", TONE_OPEN, p->ahead, mark[WHATIF_PREFETCHED]),
	};
	const struct picture_series waits[] = {
		SERIES("waits", TONE_STALL, p->waits, mark[WHATIF_STALLS])};
	const struct picture_panel panels[] = {
		{.name = "Pages",
		 .unit = UNIT_PAGES,
		 .kind = PANEL_STACK,
		 .series = mapped ? mapped_pages : pages,
		 .nr_series = mapped ? 2 : 3},
		{.name = "Waits",
		 .unit = UNIT_COUNT,
		 .kind = PANEL_BARS,
		 .series = waits,
		 .nr_series = 1},
	};
	char says[256];
	struct picture picture = {
		.id = mapped ? "settings-mapped" : "settings",
		.title = mapped ? "Mapped files by setting" : "Read calls by setting",
		.says = says,
		.axis = {.name = "setting", .kind = AXIS_NAMES, .names = p->names},
		.panels = panels,
		.nr_panels = 2};

	say_best(w, mapped, says, sizeof(says));
	picture.axis.nr = p->nr;
	doc_put_picture(d, &picture);
}

void whatif_readahead_picture(struct doc *d, const struct whatif_readahead *w)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		struct drawn p = {.nr = 0};

		fill_drawn(&p, w, mapped);
		put_settings(d, w, mapped, &p);
	}
}
