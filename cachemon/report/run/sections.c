/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/base/escape.h"
#include "cachemon/report/run/prose.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/wording.h"

/* Sentences as a paragraph; nothing without sentences. */
static void put_prose(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out && job)
		prose_verdict(out, m, job);
	else if (out)
		prose_caveats(out, "", m);
	doc_para_text(d, text_end(&b));
}

static void put_legend(struct doc *d, const struct model *m)
{
	const struct model_run *run = &m->run;
	struct opt_f64 share = {0};

	if (run->read_on_ns.known && run->duration_ns.known && run->duration_ns.value > 0) {
		share.value = (double)run->read_on_ns.value / (double)run->duration_ns.value;
		share.known = true;
	}
	if (run->sliced.known && run->sliced.value)
		doc_para(
			d,
			"~ marks an estimate. To limit overhead, cachemon watched reads for %s of "
			"the time, in randomly placed slices. The job's read calls, bytes, lookups "
			"and hits are estimated from these slices, each with a 90 %% interval. "
			"Estimates are absent where that interval is too wide, and for files and "
			"directories. Figures without a mark are exact; >= marks a lower bound.",
			show_ratio(share, false).s);
	doc_para(d,
		 "A page is %s; '-' means not measured, never zero. cachemon-terms(7) explains the "
		 "terms.",
		 show_bytes(run->page_size_bytes, false).s);
}

static void put_job_facts(struct doc *d, const struct model_job *job)
{
	bool alive = job->alive.known && job->alive.value > 0;
	char *selector = escape_inert_copy(job->selector.data, job->selector.len);

	if (!selector) {
		d->failed = true;
		return;
	}
	doc_para(d, "Selected by %s. %s %s in %s, using %s of CPU time%s%s.", selector,
		 show_count(job->processes, false).s,
		 show_plural(job->processes, "process", "processes"), show_ns(job->wall_ns).s,
		 show_ns(job->cpu_ns).s, alive ? "; still running at the end: " : "",
		 alive ? show_count(job->alive, false).s : "");
	free(selector);
}

static void put_totals(struct doc *d, const struct model *m, const struct model_job *job)
{
	put_job_facts(d, job);
	put_legend(d, m);
	sections_totals(d, m, job);
}

static bool has_timeline(const struct model *m, const struct model_job *job)
{
	return job->detail && job->detail->timeline.nr;
}

static bool has_epochs(const struct model *m, const struct model_job *job)
{
	return job->detail && job->detail->epochs.nr > 0;
}

static bool has_detail(const struct model *m, const struct model_job *job)
{
	return job->detail;
}

static bool has_analysis(const struct model *m, const struct model_job *job)
{
	return findings_of(m, job);
}

static bool has_wording(const struct model *m, const struct model_job *job)
{
	return m->wording;
}

static void put_wording(struct doc *d, const struct model *m, const struct model_job *job)
{
	sections_wording(d, m->wording);
}

static bool has_any(const struct model *m, const struct model_job *job)
{
	return true;
}

static bool has_unjudged(const struct model *m, const struct model_job *job)
{
	return has_analysis(m, job) && m->analysis->nr_unjudged;
}

/* In page order. Folded: reference material. */
static const struct part {
	const char *id, *title;
	bool folded;
	bool (*there)(const struct model *m, const struct model_job *job);
	void (*put)(struct doc *d, const struct model *m, const struct model_job *job);
} parts[] = {
	{"change", "What to change", false, has_analysis, sections_to_change},
	{"worded", "Explanation by a model", false, has_wording, put_wording},
	{"time", "Over time", false, has_timeline, sections_timeline},
	{"epochs", "Epochs", false, has_epochs, sections_epochs},
	{"stands-out", "Changes over time", false, has_analysis, sections_series},
	{"totals", "What was read", false, has_any, put_totals},
	{"prefetch", "Prefetched pages", false, has_any, sections_prefetch},
	{"sizes", "Sizes and reuse distances", false, has_detail, sections_windows},
	{"waits", "Waits", false, has_detail, sections_waits},
	{"evictions", "Evictions", false, has_any, sections_evictions},
	{"evictors", "Evictors", false, has_detail, sections_evictors},
	{"cache", "Other cache sizes", false, has_analysis, sections_curve},
	{"readahead", "Other readahead settings", false, has_analysis, sections_readahead},
	{"files", "Files and directories", false, has_any, sections_rows},
	{"coverage", "Parts of files that were read", true, has_detail, sections_parts_of_files},
	{"patterns", "Access patterns", true, has_analysis, sections_patterns},
	{"grades", "Directory grades", true, has_analysis, sections_directory_grades},
	{"filesystems", "Filesystems", true, has_any, sections_filesystems},
	{"advice", "Advice by the job", false, has_any, sections_advice},
	{"passed", "Passed", true, has_analysis, sections_passed},
	{"unjudged", "Not judged", true, has_unjudged, sections_not_judged},
	{"measured", "Measurement", true, has_any, sections_measured},
};

static const char others_title[] = "Other processes";

enum { NR_PARTS = sizeof(parts) / sizeof(parts[0]) };

static void put_contents(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct doc_entry entries[NR_PARTS + 1];
	size_t nr = 0;
	bool others = false;

	for (int i = 0; i < NR_PARTS; i++)
		if (parts[i].there(m, job))
			entries[nr++] = (struct doc_entry){parts[i].id, parts[i].title};
	for (size_t i = 0; i < m->nr_jobs; i++)
		others = others || model_others(&m->jobs[i]);
	if (others)
		entries[nr++] = (struct doc_entry){"others", others_title};
	doc_put_contents(d, entries, nr);
}

static void put_parts(struct doc *d, const struct model *m, const struct model_job *job)
{
	put_contents(d, m, job);
	for (int i = 0; i < NR_PARTS; i++) {
		const struct part *p = &parts[i];

		if (!p->there(m, job))
			continue;
		doc_part_begin(d, p->id, p->folded, "%s", p->title);
		p->put(d, m, job);
		doc_part_end(d);
	}
}

static void put_others(struct doc *d, const struct model *m)
{
	for (size_t i = 0; i < m->nr_jobs; i++) {
		if (!model_others(&m->jobs[i]))
			continue;
		doc_part_begin(d, "others", true, "%s", others_title);
		sections_totals(d, m, &m->jobs[i]);
		doc_part_end(d);
	}
}

static void put_more_jobs(struct doc *d, const struct model *m, const struct model_job *shown)
{
	for (size_t i = 0; i < m->nr_jobs; i++) {
		char *name;

		if (&m->jobs[i] == shown || model_others(&m->jobs[i]))
			continue;
		name = escape_inert_copy(m->jobs[i].name.data, m->jobs[i].name.len);
		if (name)
			doc_para(d, "Job %s of this run has its own report; select it with --job.",
				 name);
		else
			d->failed = true;
		free(name);
	}
}

void sections_title(struct doc *d, const struct model *m, const char *verb)
{
	const struct model_job *main_job = model_main_job(m);
	char *job = main_job ? escape_inert_copy(main_job->name.data, main_job->name.len) : NULL;
	char *host = escape_inert_copy(m->run.host.data, m->run.host.len);

	doc_begin(d, "cachemon %s: %s, run %" PRId64 " on %s", verb, job ? job : "no job",
		  m->run.id, host ? host : "-");
	free(job);
	free(host);
}

void sections_report(struct doc *d, const struct model *m)
{
	const struct model_job *main_job = model_main_job(m);

	sections_title(d, m, "report");
	if (main_job)
		sections_head(d, m, main_job);
	if (main_job && has_analysis(m, main_job))
		sections_grades(d, m, main_job);
	if (main_job)
		put_prose(d, m, main_job);
	put_prose(d, m, NULL);
	if (main_job && !model_others(main_job))
		put_parts(d, m, main_job);
	put_more_jobs(d, m, main_job);
	put_others(d, m);
}
