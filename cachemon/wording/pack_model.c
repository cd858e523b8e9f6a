/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/pack_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/wording/pack_impl.h"

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
