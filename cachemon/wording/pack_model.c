/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/pack_model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "advisor/llm/tokens.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/wording/pack_impl.h"

static bool whole(const char *value)
{
	size_t digits = strspn(value, "0123456789");

	return digits && digits < 19 && !value[digits];
}

/* Whole numbers keep every digit, and large ones their whole part; others four. */
static struct shown number(const char *value)
{
	double v = strtod(value, NULL);
	struct shown ret = {0};

	if (whole(value))
		return show_count((struct opt_i64){strtoll(value, NULL, 10), true}, false);
	if (fabs(v) >= 1000 && fabs(v) < 9e15)
		return show_count((struct opt_i64){llround(v), true}, false);
	snprintf(ret.s, sizeof(ret.s), "%.4g", v);
	return ret;
}

static struct opt_i64 scaled(const char *value, double factor)
{
	double v = strtod(value, NULL) * factor;
	struct opt_i64 ret = {.known = v >= 0 && v < 9e18};

	if (ret.known)
		ret.value = (int64_t)(v + 0.5);
	return ret;
}

/* How much of a unit in the plural its singular is: "page" of "pages", "process" of "processes". */
static size_t singular(const char *unit)
{
	size_t len = strlen(unit);

	if (len > 4 && strcmp(unit + len - 4, "sses") == 0)
		return len - 2;
	return len > 2 && unit[len - 1] == 's' ? len - 1 : len;
}

static struct shown with_unit(const struct pack_figure *f)
{
	struct shown n = number(f->value);
	size_t len = strcmp(f->value, "1") ? strlen(f->unit) : singular(f->unit);
	struct shown ret = {0};

	snprintf(ret.s, sizeof(ret.s), "%.30s%s%.*s", n.s, *f->unit ? " " : "",
		 (int)(len < 14 ? len : 14), f->unit);
	return ret;
}

static struct shown of_unit(const struct pack_figure *f)
{
	static const struct shown no = {.s = "no"};
	static const struct shown yes = {.s = "yes"};
	static const struct {
		const char *unit;
		double to_ns, to_bytes;
	} scales[] = {
		{"ns", 1, 0}, {"s", 1e9, 0}, {"bytes", 0, 1}, {"KiB", 0, 1024}, {"kb", 0, 1024},
	};

	if (strcmp(f->unit, "ratio") == 0)
		return show_ratio((struct opt_f64){strtod(f->value, NULL), true}, false);
	if (strcmp(f->unit, "flag") == 0)
		return strcmp(f->value, "0") == 0 ? no : yes;
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (strcmp(f->unit, scales[i].unit) != 0)
			continue;
		return scales[i].to_ns ? show_ns(scaled(f->value, scales[i].to_ns))
				       : show_bytes(scaled(f->value, scales[i].to_bytes), false);
	}
	return with_unit(f);
}

/* "1.2 MiB/s": the amount, and what it is of. */
static struct shown of_rate(const struct pack_figure *f)
{
	size_t len = strlen(f->unit);
	struct shown ret = {0};
	struct shown s;
	char unit[24];

	if (len < 3 || len >= sizeof(unit) || strcmp(f->unit + len - 2, "/s") != 0)
		return of_unit(f);
	snprintf(unit, sizeof(unit), "%.*s", (int)len - 2, f->unit);
	s = of_unit(&(struct pack_figure){.value = f->value, .unit = unit});
	snprintf(ret.s, sizeof(ret.s), "%.44s/s", s.s);
	return strcmp(s.s, "-") == 0 ? s : ret;
}

/* What a sentence must not lose of a figure. */
static const char *before(const char *quality)
{
	static const char *const words[][2] = {
		{"at most", "at most "},
		{"at least", "at least "},
		{"estimated", "about "},
	};

	for (size_t i = 0; quality && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(quality, words[i][0]) == 0)
			return words[i][1];
	return "";
}

const char *pack_shown(struct arena *a, const struct pack_figure *f)
{
	char text[sizeof(((struct shown *)0)->s) + 16];
	struct shown s;

	if (!f->value)
		return "not measured";
	if (f->is_text)
		return arena_bytes(a, f->value, strlen(f->value)).data;
	s = of_rate(f);
	/* Less than nothing, or more than fits: as it is. */
	if (strcmp(s.s, "-") == 0)
		s = with_unit(f);
	snprintf(text, sizeof(text), "%s%s", before(f->quality), s.s);
	return arena_bytes(a, text, strlen(text)).data;
}

static int add(struct redact *r, enum name_kind kind, const struct bytes *b)
{
	return b->data && b->len ? redact_add(r, kind, b->data, b->len) : 0;
}

/* What the paths of a job are below; a name without a slash is that of no place. */
static int add_path(struct redact *r, enum name_kind kind, const struct bytes *b)
{
	return b->data && memchr(b->data, '/', b->len) ? add(r, kind, b) : 0;
}

/* "command: python3 train.py", "cgroup: /a/b": what stands behind the kind. */
static int add_selector(struct redact *r, const struct bytes *b)
{
	const char *colon = b->data ? memchr(b->data, ':', b->len) : NULL;
	struct bytes rest;

	if (!colon || colon[1] != ' ')
		return 0;
	rest = (struct bytes){colon + 2, b->len - (size_t)(colon + 2 - b->data)};
	return add(r,
		   colon - b->data == 6 && !memcmp(b->data, "cgroup", 6) ? NAME_CGROUP
									 : NAME_COMMAND,
		   &rest);
}

/* People say "node17" for "node17.cluster.example". */
static int add_host(struct redact *r, const struct bytes *host)
{
	const char *dot = host->data ? memchr(host->data, '.', host->len) : NULL;
	int ret = add(r, NAME_HOST, host);

	return ret || !dot ? ret : redact_add(r, NAME_HOST, host->data, (size_t)(dot - host->data));
}

static int add_evictors(struct redact *r, const struct model_detail *d)
{
	int ret = 0;

	for (size_t i = 0; d && i < d->nr_evictions && !ret; i++) {
		const struct model_eviction *e = &d->evictions[i];

		ret = add(r, NAME_JOB, &e->job);
		ret = ret ? ret : add(r, NAME_COMMAND, &e->command);
		ret = ret ? ret : add(r, NAME_CGROUP, &e->cgroup);
		ret = ret ? ret : add_path(r, NAME_DIRECTORY, &e->directory);
		ret = ret ? ret : add_path(r, NAME_DIRECTORY, &e->owner_directory);
	}
	return ret;
}

static int add_places(struct redact *r, const struct model_job *job)
{
	int ret = 0;

	for (size_t i = 0; i < job->nr_files && !ret; i++)
		ret = add(r, NAME_PATH, &job->files[i].path);
	for (size_t i = 0; i < job->nr_directories && !ret; i++)
		ret = add_path(r, NAME_DIRECTORY, &job->directories[i].path);
	for (size_t i = 0; i < job->nr_advice && !ret; i++)
		ret = add(r, NAME_PATH, &job->advice[i].path);
	for (size_t i = 0; i < job->nr_filesystems && !ret; i++)
		ret = add_path(r, NAME_DIRECTORY, &job->filesystems[i].mount);
	return ret;
}

/* Evidence may name who did something; of which kind that is names nobody. */
static int add_named(struct redact *r, const struct finding *f)
{
	static const char kind[] = "_kind";
	int ret = 0;

	for (size_t i = 0; i < f->nr_evidence && !ret; i++) {
		const struct evidence *e = &f->evidence[i];
		size_t len = strlen(e->metric);

		if (!e->is_text || strcmp(e->unit, "name") != 0 ||
		    (len >= sizeof(kind) && !strcmp(e->metric + len - sizeof(kind) + 1, kind)))
			continue;
		ret = redact_add(r, NAME_COMMAND, e->value, strlen(e->value));
	}
	return ret;
}

static int add_finding(struct redact *r, const struct finding *f)
{
	enum name_kind kind = f->kind == SUBJECT_DIRECTORY ? NAME_DIRECTORY : NAME_PATH;
	int ret = add_path(r, kind, &f->subject);

	return ret ? ret : add_named(r, f);
}

/* What findings are about: files that the report does not list. */
static int add_subjects(struct redact *r, const struct analysis *a)
{
	int ret = 0;

	for (size_t j = 0; a && j < a->nr_jobs; j++)
		for (size_t i = 0; i < a->jobs[j].nr_findings && !ret; i++)
			for (const struct finding *f = &a->jobs[j].findings[i]; f && !ret;
			     f = f->merged)
				ret = add_finding(r, f);
	return ret;
}

int pack_names(struct redact *names, const struct model *m)
{
	int ret = add_host(names, &m->run.host);

	for (size_t i = 0; i < m->nr_jobs && !ret; i++) {
		const struct model_job *job = &m->jobs[i];

		if (!model_others(job))
			ret = add(names, NAME_JOB, &job->name);
		ret = ret ? ret : add_selector(names, &job->selector);
		ret = ret ? ret : add_places(names, job);
		ret = ret ? ret : add_evictors(names, job->detail);
	}
	return ret ? ret : add_subjects(names, m->analysis);
}

/* What findings rest on is told longest; notes and models go first. */
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

const char *packer_key(struct packer *k, char letter, size_t number)
{
	char key[24];

	snprintf(key, sizeof(key), "%c%zu", letter, number);
	return arena_bytes(&k->p->arena, key, strlen(key)).data;
}

const char *packer_text(struct packer *k, const char *text, size_t max_bytes)
{
	struct arena *a = &k->p->arena;
	const char *full =
		redact_text(k->from->names, a, text ? text : "", text ? strlen(text) : 0);
	size_t len = full ? strlen(full) : 0;

	if (!full)
		a->failed = true;
	if (!full || !max_bytes || len <= max_bytes)
		return full ? full : "";
	len = max_bytes;
	/* Cut behind a word: neither an alias nor a character is halved. */
	while (len && full[len] != ' ')
		len--;
	full = arena_bytes(a, full, len).data;
	return full ? full : "";
}

size_t packer_add(struct packer *k, const struct pack_figure *f)
{
	struct pack *p = k->p;
	struct pack_figure figure = *f;
	struct pack_evidence *e;

	if (p->nr_evidence == PACK_EVIDENCE_MAX)
		return PACK_EVIDENCE_MAX;
	if (f->value && f->is_text)
		figure.value = packer_text(k, f->value, 0);
	else if (f->value)
		figure.value = arena_bytes(&p->arena, f->value, strlen(f->value)).data;
	e = &p->evidence[p->nr_evidence++];
	*e = (struct pack_evidence){
		.key = packer_key(k, 'E', p->nr_evidence),
		.metric = packer_text(k, f->metric, 0),
		.value = figure.value,
		.unit = packer_text(k, f->unit, 0),
		.scope = packer_text(k, f->scope, 0),
		.shown = pack_shown(&p->arena, &figure),
		.quality = f->quality ? f->quality : "",
		.is_text = f->is_text,
	};
	return p->nr_evidence - 1;
}

void packer_count(struct packer *k, const char *metric, struct opt_i64 v, const char *unit,
		  const char *scope, const char *quality)
{
	char value[24];

	if (!v.known)
		return;
	snprintf(value, sizeof(value), "%" PRId64, v.value);
	packer_add(k, &(struct pack_figure){metric, value, unit, scope, quality, false});
}

void packer_real(struct packer *k, const char *metric, struct opt_f64 v, const char *unit,
		 const char *scope, const char *quality)
{
	char value[40];

	if (!v.known)
		return;
	snprintf(value, sizeof(value), "%.17g", v.value);
	packer_add(k, &(struct pack_figure){metric, value, unit, scope, quality, false});
}

void packer_fact(struct packer *k, const char *fmt, ...)
{
	struct pack *p = k->p;
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		p->arena.failed = true;
	else if (p->nr_facts < PACK_FACTS_MAX)
		p->facts[p->nr_facts++] = packer_text(k, text, 0);
	if (n >= 0)
		free(text);
}

static int fill(struct packer *k, struct errtext *err)
{
	struct pack *p = k->p;
	struct arena *a = &p->arena;
	int ret;

	p->evidence = arena_alloc(a, PACK_EVIDENCE_MAX * sizeof(*p->evidence));
	p->facts = arena_alloc(a, PACK_FACTS_MAX * sizeof(*p->facts));
	p->findings = arena_alloc(a, k->bounds->findings * sizeof(*p->findings));
	p->actions = arena_alloc(a, (k->bounds->findings + LLM_NOTES_MAX) * sizeof(*p->actions));
	p->notes = arena_alloc(a, LLM_NOTES_MAX * sizeof(*p->notes));
	if (a->failed)
		return errtext_set(err, -ENOMEM, "not enough memory for what is to be told");
	pack_facts(k);
	pack_of_job(k);
	pack_findings(k);
	pack_of_series(k);
	pack_of_models(k);
	ret = pack_notes(k, err);
	if (k->from->question)
		p->question = packer_text(k, k->from->question, 0);
	if (!ret && a->failed)
		ret = errtext_set(err, -ENOMEM, "not enough memory for what is to be told");
	return ret;
}

int pack_model(const struct pack_source *from, unsigned int row, struct pack *ret,
	       struct errtext *err)
{
	struct packer k = {from, &rows[row < PACK_ROWS ? row : PACK_ROWS - 1], ret};

	*ret = (struct pack){0};
	return fill(&k, err);
}

void pack_free(struct pack *p)
{
	arena_free(&p->arena);
	*p = (struct pack){0};
}
