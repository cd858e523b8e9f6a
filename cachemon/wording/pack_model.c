/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/pack_model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/wording/pack_impl.h"

/* Whole numbers keep every digit, and large ones their whole part; others get four digits. */
static struct shown number(const char *value, double v)
{
	size_t digits = strspn(value, "0123456789");
	struct shown ret = {0};

	if (digits && digits < 19 && !value[digits])
		return show_count((struct opt_i64){strtoll(value, NULL, 10), true}, false);
	if (fabs(v) >= 1000 && fabs(v) < 9e15)
		return show_count((struct opt_i64){llround(v), true}, false);
	snprintf(ret.s, sizeof(ret.s), "%.4g", v);
	return ret;
}

/* "1 page" of "pages", "1 process" of "processes". */
static struct shown with_unit(const char *value, const char *unit)
{
	struct shown n = number(value, strtod(value, NULL)), ret = {0};
	size_t len = strlen(unit);

	if (!strcmp(value, "1") && len > 2 && unit[len - 1] == 's')
		len -= len > 4 && !strcmp(unit + len - 4, "sses") ? 2 : 1;
	snprintf(ret.s, sizeof(ret.s), "%.30s%s%.*s", n.s, *unit ? " " : "",
		 (int)(len < 14 ? len : 14), unit);
	return ret;
}

static struct shown of_unit(const char *value, const char *unit)
{
	static const struct shown no = {.s = "no"}, yes = {.s = "yes"};
	double v = strtod(value, NULL);

	if (!strcmp(unit, "ratio"))
		return show_ratio((struct opt_f64){v, true}, false);
	if (!strcmp(unit, "flag"))
		return strcmp(value, "0") ? yes : no;
	if (!strcmp(unit, "ns") || !strcmp(unit, "s"))
		return show_ns(opt_round((struct opt_f64){*unit == 's' ? v * 1e9 : v, true}));
	if (!strcmp(unit, "bytes") || !strcmp(unit, "KiB") || !strcmp(unit, "kb"))
		return show_bytes(opt_round((struct opt_f64){*unit == 'b' ? v : v * 1024, true}),
				  false);
	return with_unit(value, unit);
}

const char *pack_shown(struct packer *k, const struct pack_evidence *e)
{
	const char *quality = e->quality ?: "", *before;
	size_t len = strlen(e->unit);
	bool rate = len >= 3 && len < 24 && !strcmp(e->unit + len - 2, "/s");
	char unit[24];
	struct shown s;

	if (!e->value)
		return "not measured";
	if (e->is_text)
		return e->value;
	/* "1.2 MiB/s": the amount with its unit. */
	snprintf(unit, sizeof(unit), "%.*s", (int)len - 2, e->unit);
	s = of_unit(e->value, rate ? unit : e->unit);
	/* Negative or too large: unchanged. */
	if (strcmp(s.s, "-") == 0) {
		s = with_unit(e->value, e->unit);
		rate = false;
	}
	/* The qualifiers that a sentence must keep: "at most", "at least". */
	before = strcmp(quality, "estimated") ? strncmp(quality, "at ", 3) ? "" : quality : "about";
	return packer_format(k, "%s%s%s%s", before, *before ? " " : "", s.s, rate ? "/s" : "");
}

static void name_bytes(struct redact *names, enum name_kind kind, const struct bytes *b)
{
	if (b->data)
		redact_add(names, kind, b->data, b->len);
}

/* The directories above the paths of a job; a name without a slash has none. */
static void name_place(struct redact *names, enum name_kind kind, const struct bytes *b)
{
	if (b->data && memchr(b->data, '/', b->len))
		name_bytes(names, kind, b);
}

/* "command: python3 train.py", "cgroup: /a/b": the part after the kind. */
static void name_selector(struct redact *names, const struct bytes *b)
{
	static const char cgroup[] = "cgroup:";
	const char *colon = b->data ? memchr(b->data, ':', b->len) : NULL;

	if (colon && colon[1] == ' ')
		redact_add(names,
			   strncmp(b->data, cgroup, strlen(cgroup)) ? NAME_COMMAND : NAME_CGROUP,
			   colon + 2, b->len - (size_t)(colon + 2 - b->data));
}

static void name_job(struct redact *names, const struct model_job *job)
{
	const struct model_detail *d = job->detail;

	if (!model_others(job))
		name_bytes(names, NAME_JOB, &job->name);
	name_selector(names, &job->selector);
	for (size_t i = 0; i < job->nr_files; i++)
		name_bytes(names, NAME_PATH, &job->files[i].path);
	for (size_t i = 0; i < job->nr_directories; i++)
		name_place(names, NAME_DIRECTORY, &job->directories[i].path);
	for (size_t i = 0; i < job->nr_advice; i++)
		name_bytes(names, NAME_PATH, &job->advice[i].path);
	for (size_t i = 0; i < job->nr_filesystems; i++)
		name_place(names, NAME_DIRECTORY, &job->filesystems[i].mount);
	for (size_t i = 0; d && i < d->nr_evictions; i++) {
		const struct model_eviction *e = &d->evictions[i];

		name_bytes(names, NAME_JOB, &e->job);
		name_bytes(names, NAME_COMMAND, &e->command);
		name_bytes(names, NAME_CGROUP, &e->cgroup);
		name_place(names, NAME_DIRECTORY, &e->directory);
		name_place(names, NAME_DIRECTORY, &e->owner_directory);
	}
}

/* Names of a finding: its subject, which the report may not list, and processes that its evidence
 * names. The kind of a process does not identify a user. */
static void name_finding(struct redact *names, const struct finding *f)
{
	static const char kind[] = "_kind";

	name_place(names, f->kind == SUBJECT_DIRECTORY ? NAME_DIRECTORY : NAME_PATH, &f->subject);
	for (size_t i = 0; i < f->nr_evidence; i++) {
		const struct evidence *e = &f->evidence[i];
		size_t len = strlen(e->metric);

		if (e->is_text && !strcmp(e->unit, "name") &&
		    (len < strlen(kind) || strcmp(e->metric + len - strlen(kind), kind) != 0))
			redact_add(names, NAME_COMMAND, e->value, strlen(e->value));
	}
}

void pack_names(struct redact *names, const struct model *m)
{
	const struct bytes *host = &m->run.host;
	const char *dot = host->data ? memchr(host->data, '.', host->len) : NULL;
	const struct analysis *a = m->analysis;

	/* Every machine has root. */
	if (!bytes_equal(&m->run.user, &(struct bytes){"root", 4}))
		name_bytes(names, NAME_USER, &m->run.user);
	name_bytes(names, NAME_HOST, host);
	/* People say "node17" for "node17.cluster.example". */
	if (dot)
		redact_add(names, NAME_HOST, host->data, (size_t)(dot - host->data));
	for (size_t i = 0; i < m->nr_jobs; i++)
		name_job(names, &m->jobs[i]);
	for (size_t j = 0; a && j < a->nr_jobs; j++)
		for (size_t i = 0; i < a->jobs[j].nr_findings; i++)
			for (const struct finding *f = &a->jobs[j].findings[i]; f; f = f->merged)
				name_finding(names, f);
}

const char *packer_text(struct packer *k, const char *text, size_t max_bytes)
{
	struct arena *a = &k->p->arena;
	const char *full =
		redact_text(k->from->names, a, text ? text : "", text ? strlen(text) : 0);
	size_t len = max_bytes;

	if (!full)
		a->failed = true;
	if (!full || !max_bytes || strlen(full) <= max_bytes)
		return full ? full : "";
	/* Cut after a word, so that neither an alias nor a character is split. */
	while (len && full[len] != ' ')
		len--;
	return packer_format(k, "%.*s", (int)len, full);
}

void packer_add(struct packer *k, const struct pack_evidence *from)
{
	struct pack *p = k->p;
	struct pack_evidence e = *from;

	if (p->nr_evidence == PACK_EVIDENCE_MAX)
		return;
	e.key = packer_format(k, "E%zu", p->nr_evidence + 1);
	if (e.value && e.is_text)
		e.value = packer_text(k, e.value, 0);
	/* Before the unit gets aliases: a job may be called "pages". */
	e.shown = pack_shown(k, &e);
	e.metric = packer_text(k, e.metric, 0);
	e.unit = packer_text(k, e.unit, 0);
	e.scope = packer_text(k, e.scope, 0);
	e.quality = e.quality ?: "";
	p->evidence[p->nr_evidence++] = e;
}

void packer_count(struct packer *k, const char *metric, struct opt_i64 v, const char *unit,
		  const char *scope, const char *quality)
{
	const char *value = packer_format(k, "%" PRId64, v.value);

	if (v.known)
		packer_add(k, &(struct pack_evidence){"", metric, value, unit, scope, "", quality,
						      false});
}

void packer_real(struct packer *k, const char *metric, struct opt_f64 v, const char *unit,
		 const char *scope, const char *quality)
{
	const char *value = packer_format(k, "%.17g", v.value);

	if (v.known)
		packer_add(k, &(struct pack_evidence){"", metric, value, unit, scope, "", quality,
						      false});
}

void packer_put_fact(struct packer *k, const char *text)
{
	if (k->p->nr_facts < PACK_FACTS_MAX)
		k->p->facts[k->p->nr_facts++] = packer_text(k, text, 0);
}

/* The most important comes first; the rest is left out if room is short. */
static void put_part(struct packer *k, void (*put)(struct packer *k), size_t max)
{
	size_t last = k->p->nr_evidence + max;

	put(k);
	if (k->p->nr_evidence > last)
		k->p->nr_evidence = last;
}

/* Evidence of findings is kept longest; notes and models are dropped first. */
static const struct pack_bounds rows[PACK_ROWS] = {
	/* findings, evidence of each, of the job, of models, over time, notes, bytes of a summary
	 */
	{40, 6, 32, 40, 40, LLM_NOTES_MAX, 240},
	{40, 4, 24, 24, 24, LLM_NOTES_MAX, 200},
	{40, 3, 20, 16, 16, 4, 160},
	{30, 3, 16, 10, 10, 3, 120},
	{20, 2, 12, 6, 6, 2, 100},
	{8, 2, 8, 2, 2, 0, 80},
};

int pack_model(const struct pack_source *from, unsigned int row, struct pack *ret,
	       struct errtext *err)
{
	struct arena *a = &ret->arena;
	const struct pack_bounds *b = &rows[row];
	struct packer k = {from, from->job, analysis_job_of(from->model->analysis, from->job->id),
			   b, ret};
	int e = 0;

	*ret = (struct pack){0};
	ret->evidence = arena_alloc(a, PACK_EVIDENCE_MAX * sizeof(*ret->evidence));
	ret->facts = arena_alloc(a, PACK_FACTS_MAX * sizeof(*ret->facts));
	ret->findings = arena_alloc(a, b->findings * sizeof(*ret->findings));
	ret->actions = arena_alloc(a, (b->findings + LLM_NOTES_MAX) * sizeof(*ret->actions));
	ret->notes = arena_alloc(a, LLM_NOTES_MAX * sizeof(*ret->notes));
	if (!a->failed) {
		pack_facts(&k);
		put_part(&k, pack_of_job, b->of_job);
		pack_findings(&k);
		put_part(&k, pack_of_series, b->of_series);
		put_part(&k, pack_of_models, b->of_models);
		e = pack_notes(&k, err);
		ret->question = from->question ? packer_text(&k, from->question, 0) : NULL;
	}
	return e || !a->failed ? e : errtext_set(err, -ENOMEM, "not enough memory for the prompt");
}

void pack_free(struct pack *p)
{
	arena_free(&p->arena);
	*p = (struct pack){0};
}
