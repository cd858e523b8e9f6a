/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/figures/show.h"
#include "cachemon/wording/pack_impl.h"

static const char JOB[] = "job";

static const char *quality_of(const struct counts *c, enum counter which)
{
	if (counts_estimated(c, which))
		return "estimated";
	return counts_lower_bound(c, which) ? "at least" : "";
}

static const char *quality_of_ratio(const struct range *r)
{
	return r->low.known ? "estimated" : "";
}

static void put_counter(struct packer *k, const char *metric, enum counter which, const char *unit)
{
	const struct counts *c = &k->from->job->counts;

	packer_count(k, metric, counts_get(c, which), unit, JOB, quality_of(c, which));
}

/* "A": a letter and its score. */
static void put_grades(struct packer *k, const struct analysis_job *a)
{
	for (int i = 0; i < GRADE_NR; i++) {
		const struct analysis_grade *g = &a->grades[i];
		char metric[48];
		char value[16];

		if (!g->letter)
			continue;
		snprintf(metric, sizeof(metric), "grades.%s", grade_names[i]);
		snprintf(value, sizeof(value), "%s", g->letter);
		packer_add(k, &(struct pack_figure){metric, value, "grade", JOB, "", true});
	}
}

static void put_ratios(struct packer *k)
{
	const struct counts *c = &k->from->job->counts;
	struct derived d;

	counts_derive(c, k->from->model->run.page_size_bytes.value, &d);
	packer_real(k, "hit_ratio", d.hit_ratio, "ratio", JOB, c->sliced ? "estimated" : "");
	packer_real(k, "prefetch.accuracy", d.accuracy, "ratio", JOB,
		    quality_of_ratio(&d.accuracy_range));
	packer_real(k, "prefetch.coverage", d.coverage, "ratio", JOB,
		    quality_of_ratio(&d.coverage_range));
	packer_real(k, "prefetch.timeliness", d.timeliness, "ratio", JOB,
		    quality_of_ratio(&d.timeliness_range));
	packer_count(k, "prefetched_pages", d.prefetched_pages, "pages", JOB, "");
	packer_count(k, "evicted_pages", d.evicted_pages, "pages", JOB,
		     quality_of(c, C_evicted_other));
	packer_count(k, "waste_bytes", d.waste_bytes, "bytes", JOB,
		     quality_of(c, C_evicted_unused));
}

static void put_waits(struct packer *k, const struct analysis_job *a)
{
	const struct model_job *job = k->from->job;
	struct opt_f64 stalled = a->ceiling.overall;

	stalled.value = 1 - stalled.value;
	packer_real(k, "stall_share", stalled, "ratio", "job, of its time",
		    a->several ? "mean over its tasks" : "");
	put_counter(k, "stall_ns", C_stall_ns, "ns");
	packer_count(k, "wall_ns", job->wall_ns, "ns", JOB, "");
	packer_count(k, "cpu_ns", job->cpu_ns, "ns", JOB, "");
}

/* What matters most first: the rest is left out where room is short. */
void pack_of_job(struct packer *k)
{
	const struct model *m = k->from->model;
	const struct analysis_job *a =
		m->analysis ? analysis_job_of(m->analysis, k->from->job->id) : NULL;
	size_t last = k->p->nr_evidence + k->bounds->of_job;

	if (a)
		put_waits(k, a);
	put_ratios(k);
	put_counter(k, "lookups", C_lookups, "pages");
	put_counter(k, "misses", C_misses, "pages");
	put_counter(k, "read_bytes", C_read_bytes, "bytes");
	put_counter(k, "refaults", C_refaults, "pages");
	put_counter(k, "refault_misses", C_refault_misses, "pages");
	if (a)
		put_grades(k, a);
	put_counter(k, "delayed_hits", C_delayed_hits, "pages");
	put_counter(k, "read_calls", C_read_calls, "calls");
	put_counter(k, "direct_read_bytes", C_direct_read_bytes, "bytes");
	put_counter(k, "faults.major", C_faults_major, "faults");
	put_counter(k, "written_pages", C_written_pages, "pages");
	packer_count(k, "processes", k->from->job->processes, "processes", JOB, "");
	packer_real(k, "cost.share_of_job_cpu",
		    m->run.cost_share.known ? m->run.cost_share : m->run.share_of_job_cpu, "ratio",
		    "the measuring", "");
	if (k->p->nr_evidence > last)
		k->p->nr_evidence = last;
}

/* "ext4, nfs4" */
static void put_filesystems(struct packer *k)
{
	const struct model_job *job = k->from->job;

	for (size_t i = 0; i < job->nr_filesystems && i < 4; i++) {
		const struct model_filesystem *f = &job->filesystems[i];

		if (f->type.data)
			packer_fact(k, "filesystem %.*s: %.*s", (int)f->type.len, f->type.data,
				    (int)f->cover.len, f->cover.data ? f->cover.data : "");
	}
}

/* What the figures of the job cannot say themselves. */
static void put_doubts(struct packer *k)
{
	const struct model_job *job = k->from->job;
	struct range r;

	if (counts_mapped(&job->counts, job->processes))
		packer_fact(k, "the job reads through mappings: its lookups and hit ratio are of "
			       "read calls alone, which as a rule are a program's start");
	for (enum read_estimate e = 0; e < ESTIMATES; e++)
		if (counts_range(&job->counts, e, &r))
			packer_fact(k, "%s is an estimate, with a 90 %% interval of %.12g to %.12g",
				    estimate_name(e), r.low.value, r.high.value);
}

void pack_facts(struct packer *k)
{
	const struct model_run *run = &k->from->model->run;

	packer_fact(k, "kernel %.*s, %.*s, memory %s, a page is %s", (int)run->kernel.len,
		    run->kernel.data ? run->kernel.data : "", (int)run->arch.len,
		    run->arch.data ? run->arch.data : "", show_bytes(run->memory_bytes, false).s,
		    show_bytes(run->page_size_bytes, false).s);
	packer_fact(k, "measured at level %.*s%s", (int)run->level.len,
		    run->level.data ? run->level.data : "",
		    run->sliced.known && run->sliced.value ? ", by samples" : "");
	put_doubts(k);
	put_filesystems(k);
	for (size_t i = 0; i < k->from->model->nr_unmeasured && i < 6; i++) {
		const struct model_unmeasured *u = &k->from->model->unmeasured[i];

		packer_fact(k, "not measured: %.*s: %.*s", (int)u->counter.len, u->counter.data,
			    (int)u->reason.len, u->reason.data);
	}
}
