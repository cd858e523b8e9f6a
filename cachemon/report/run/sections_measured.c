/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/model/bounds.h"
#include "cachemon/figures/show.h"

/* A foreign database may list any number of names. */
enum { UNMEASURED_MAX = 4 * C_NR };

static void put_facts(struct doc *d, const struct model_run *run)
{
	static const struct doc_column columns[] = {{"RUN", DOC_LEFT}, {"", DOC_WRAP}};
	const struct {
		const char *name;
		const struct bytes *value;
	} texts[] = {
		{"host", &run->host},
		{"kernel", &run->kernel},
		{"machine", &run->arch},
		{"state", &run->state},
		{"recorded by cachemon", &run->cachemon},
		{"level", &run->level},
		{"advice recorded by", &run->advice_mode},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	doc_cell(&t, "started");
	doc_cell(&t, "%s", run->started_ns.known ? show_rfc3339(run->started_ns.value).s : "-");
	doc_cell(&t, "duration");
	doc_cell(&t, "%s, one interval per %s", show_ns(run->duration_ns).s,
		 show_ns(run->interval_ns).s);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		doc_cell(&t, "%s", texts[i].name);
		doc_cell_name(&t, texts[i].value, "-");
	}
	doc_cell(&t, "memory");
	doc_cell_shown(&t, show_bytes(run->memory_bytes, false));
	doc_cell(&t, "exit status of the command");
	doc_cell_shown(&t, show_count(run->exit_status, false));
	doc_put_table(d, &t);
}

static void put_cost(struct doc *d, const struct model_run *run)
{
	static const struct doc_column columns[] = {
		{"COST OF MEASURING", DOC_LEFT}, {"", DOC_RIGHT}, {"", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const struct {
		const char *name;
		struct shown value;
		const char *meaning;
	} lines[] = {
		{"share of the job's CPU time", show_ratio(run->cost_share, false),
		 "probes in its tasks and the collector"},
		{"overhead budget", show_ratio(run->cost_budget, false),
		 !run->budget_kept.known  ? ""
		 : run->budget_kept.value ? "kept"
					  : "not kept"},
		{"probes in the job's tasks", show_ratio(run->share_of_job_cpu, false),
		 "run time only, without cache effects on the job"},
		{"  for reads", show_ns(run->cost_parts[0]), ""},
		{"  for pages entering and leaving", show_ns(run->cost_parts[1]), ""},
		{"  for readahead windows", show_ns(run->cost_parts[2]), ""},
		{"  for page faults", show_ns(run->cost_parts[3]), ""},
		{"  for task switches", show_ns(run->cost_parts[4]), ""},
		{"  for anything else", show_ns(run->cost_parts[5]), ""},
		{"CPU time", show_ns(run->cpu_ns), "probes and collector"},
		{"in the probes", show_ns(run->probe_cpu_ns), "events x calibrated cost"},
		{"in the collector", show_ns(run->collector_cpu_ns), ""},
		{"ns a lookup", show_double(run->probe_ns_per_lookup, 1), ""},
		{"ns to see every advice call", show_double(run->advice_calls_ns, 1),
		 "per system call on the machine"},
		{"memory of the maps", show_bytes(run->map_bytes, false), ""},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		doc_cell(&t, "%s", lines[i].name);
		doc_cell_shown(&t, lines[i].value);
		doc_cell(&t, "%s", lines[i].meaning);
	}
	doc_put_table(d, &t);
}

/* Detail that was dropped to stay within the budget. */
static void put_shed(struct doc *d, const struct model_run *run)
{
	static const struct doc_column columns[] = {{"GIVEN UP", DOC_LEFT},
						    {"FROM", DOC_RIGHT},
						    {"TO", DOC_RIGHT},
						    {"BECAUSE", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < run->nr_shed; i++) {
		const struct model_shed *s = &run->shed[i];

		doc_cell_name(&t, &s->detail, "-");
		doc_cell_shown(&t, show_ns(s->from_ns));
		doc_cell(&t, "%s", s->to_ns.known ? show_ns(s->to_ns).s : "end");
		doc_cell_name(&t, &s->reason, "-");
	}
	doc_put_table(d, &t);
}

static void put_losses(struct doc *d, const struct model_run *run)
{
	static const struct doc_column columns[] = {
		{"LOST", DOC_LEFT}, {"", DOC_RIGHT}, {"WHAT IT MEANS", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const struct {
		const char *name;
		struct opt_i64 value;
		const char *meaning;
	} lines[] = {
		{"pages without state", run->untracked_pages,
		 "fate unknown: the page map was full"},
		{"page map full", run->chunk_full, "evictions and fates are lower bounds"},
		{"file rows full", run->map_full,
		 "file figures are lower bounds; job figures are complete"},
		{"names dropped", run->ring_drops, "the file is named in a later interval"},
		{"tasks without state", run->state_drops,
		 "not counted: all figures are lower bounds"},
		{"program runs left out", run->recursion_misses,
		 "by the kernel: all figures are lower bounds"},
		{"ghosts dropped", run->ghosts_dropped, "refaults are lower bounds"},
		{"advice rows full", run->advice_full, "the list of advice is incomplete"},
		{"intervals lost", run->intervals_lost, "could not be written"},
		{"law error, pages", run->law_error_pages, "0: the conservation law held"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		doc_cell(&t, "%s", lines[i].name);
		doc_cell_shown(&t, show_count(lines[i].value, false));
		doc_cell(&t, "%s", lines[i].meaning);
	}
	doc_put_table(d, &t);
}

/* The counters with the first one's reason, in one cell. */
static void put_counters(struct doc_table *t, const struct model_unmeasured *u, size_t nr,
			 size_t first)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	for (size_t i = first; out && i < nr; i++) {
		if (!bytes_equal(&u[i].reason, &u[first].reason))
			continue;
		fputs(i > first ? ", " : "", out);
		escape_inert(out, u[i].counter.data, u[i].counter.len);
	}
	doc_cell_text(t, text_end(&b));
}

static void put_unmeasured(struct doc *d, const struct model *m)
{
	static const struct doc_column columns[] = {{"NOT MEASURED", DOC_OWN_LINE},
						    {"BECAUSE", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t nr = m->nr_unmeasured < UNMEASURED_MAX ? m->nr_unmeasured : UNMEASURED_MAX;

	for (size_t i = 0; i < nr; i++) {
		size_t first = 0;

		while (!bytes_equal(&m->unmeasured[first].reason, &m->unmeasured[i].reason))
			first++;
		if (first < i)
			continue;
		put_counters(&t, m->unmeasured, nr, i);
		doc_cell_name(&t, &m->unmeasured[i].reason, "-");
	}
	if (!t.nr_cells)
		doc_para(d, "Every counter was measured.");
	doc_put_table(d, &t);
}

static void put_how(struct doc_table *t, const struct model_probe *p)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		if (p->hook.data)
			escape_inert(out, p->hook.data, p->hook.len);
		if (p->hook.data && p->reason.data)
			fputs(": ", out);
		if (p->reason.data)
			escape_inert(out, p->reason.data, p->reason.len);
		if (!p->hook.data && !p->reason.data)
			fputs("-", out);
	}
	doc_cell_text(t, text_end(&b));
}

static void put_probes(struct doc *d, const struct model *m)
{
	static const struct doc_column columns[] = {
		{"PROBE", DOC_LEFT}, {"STATE", DOC_LEFT}, {"HOOK OR REASON", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < m->nr_probes; i++) {
		const struct model_probe *p = &m->probes[i];

		doc_cell_name(&t, &p->role, "-");
		doc_cell_name(&t, &p->state, "-");
		put_how(&t, p);
	}
	doc_put_table(d, &t);
}

static void put_reads(struct doc *d, const struct model_job *job)
{
	static const struct doc_column columns[] = {{"READS OF THE JOB", DOC_LEFT},
						    {"BYTES", DOC_RIGHT},
						    {"CALLS", DOC_RIGHT},
						    {"WHAT IT IS", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const struct counts *c = &job->counts;
	struct reads_check check;

	if (model_others(job))
		return;
	bounds_check_reads(job, &check);
	doc_cell(&t, "observed by the probes");
	doc_cell_shown(&t, show_bytes(check.seen_bytes, c->sliced));
	doc_cell_shown(&t, show_count(check.seen_calls, c->sliced));
	doc_cell(&t, "reads of files, cached and direct");
	doc_cell(&t, "counted by the kernel");
	doc_cell_shown(&t, show_bytes(check.kernel_bytes, false));
	doc_cell_shown(&t, show_count(check.kernel_calls, false));
	doc_cell(&t,
		 "rchar and syscr of its tasks: any source, including calls that returned nothing");
	doc_put_table(d, &t);
	if (*check.warning)
		doc_para(d, "Warning: %s", check.warning);
}

void sections_measured(struct doc *d, const struct model *m, const struct model_job *job)
{
	put_facts(d, &m->run);
	put_probes(d, m);
	put_unmeasured(d, m);
	put_losses(d, &m->run);
	put_reads(d, job);
	put_cost(d, &m->run);
	put_shed(d, &m->run);
}
