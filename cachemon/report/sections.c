/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/sections.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/advice.h"
#include "report/escape.h"
#include "report/pattern.h"
#include "report/prose.h"
#include "report/show.h"

/* Sentences as a paragraph; none when there is nothing to say. */
static void put_prose(struct doc *d, const struct model *m, const struct model_job *job)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		d->failed = true;
		return;
	}
	if (job)
		prose_verdict(out, m, job);
	else
		prose_caveats(out, "", m);
	if (fclose(out) != 0)
		d->failed = true;
	else if (len)
		doc_para(d, "%s", text);
	free(text);
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
		doc_para(d,
			 "~ marks an estimate: to keep its cost down, cachemon watched the reads "
			 "for %s of the time, and read calls, bytes, lookups and hits are scaled "
			 "up by the bytes the job read. Misses, prefetch, evictions and refaults "
			 "are exact.",
			 show_ratio(share, false).s);
	doc_para(d,
		 "A page is %s; '-' means not measured, never zero. The terms are explained beside "
		 "the figures.",
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

static void put_job(struct doc *d, const struct model *m, const struct model_job *job)
{
	char *name = escape_inert_copy(job->name.data, job->name.len);

	if (!name) {
		d->failed = true;
		return;
	}
	if (model_others(job)) {
		doc_heading(d, 2, "Everybody else on the machine");
		sections_totals(d, m, job);
	} else {
		doc_heading(d, 2, "Job %s", name);
		put_job_facts(d, job);
		sections_grades(d, m, job);
		sections_totals(d, m, job);
		sections_timeline(d, job);
		sections_prefetch(d, m, job);
		sections_windows(d, job);
		sections_evictions(d, m, job);
		sections_rows(d, m, job);
		sections_patterns(d, m, job);
		sections_filesystems(d, job, m->run.page_size_bytes.value);
		sections_verdicts(d, m, job);
		sections_not_judged(d, m, job);
	}
	free(name);
}

void sections_report(struct doc *d, const struct model *m)
{
	const struct model_job *main_job = model_main_job(m);
	char *job = main_job ? escape_inert_copy(main_job->name.data, main_job->name.len) : NULL;
	char *host = escape_inert_copy(m->run.host.data, m->run.host.len);

	doc_begin(d, "cachemon report: %s, run %" PRId64 " on %s", job ? job : "no job", m->run.id,
		  host ? host : "-");
	free(job);
	free(host);
	if (main_job)
		put_prose(d, m, main_job);
	put_prose(d, m, NULL);
	if (main_job)
		sections_to_change(d, m, main_job);
	put_legend(d, m);
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_job(d, m, &m->jobs[i]);
	sections_measured(d, m);
}
