/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "advisor/llm/tokens.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/wording/pack_impl.h"

enum { ACTION_BYTES = 110 };

static const struct analysis_job *found(const struct packer *k)
{
	const struct analysis *a = k->from->model->analysis;

	return a ? analysis_job_of(a, k->from->job->id) : NULL;
}

static const char *subject_of(struct packer *k, const struct finding *f)
{
	char *text = NULL;
	const char *ret;

	if (f->kind == SUBJECT_JOB)
		return "job";
	if (asprintf(&text, "%s %.*s", subject_names[f->kind], (int)f->subject.len,
		     f->subject.data ? f->subject.data : "without a name") < 0) {
		k->p->arena.failed = true;
		return "";
	}
	ret = packer_text(k, text, 0);
	free(text);
	return ret;
}

static void put_gain(struct packer *k, const struct finding *f, const char *of)
{
	char value[40];
	struct pack_figure figure = {"gain", value, "", of, "", false};

	if (!f->gain.known)
		return;
	snprintf(value, sizeof(value), "%.17g", f->gain.value);
	figure.unit = gain_unit_names[f->gain.unit];
	figure.quality = f->gain.method == GAIN_BOUND	? "at most"
			 : f->gain.method == GAIN_MODEL ? "computed"
							: "measured";
	packer_add(k, &figure);
}

static void put_evidence(struct packer *k, const struct finding *f, struct pack_finding *to)
{
	size_t last = k->p->nr_evidence + k->bounds->evidence_each;

	to->evidence = k->p->nr_evidence;
	put_gain(k, f, to->key);
	for (size_t i = 0; i < f->nr_evidence && k->p->nr_evidence < last; i++) {
		const struct evidence *e = &f->evidence[i];
		_cleanup_free_ char *scope = NULL;

		/* Whole: half of a name would not be known as one. What rules have is exact. */
		if (asprintf(&scope, "%s: %s", to->key, e->scope) < 0) {
			scope = NULL;
			k->p->arena.failed = true;
			break;
		}
		packer_add(k, &(struct pack_figure){e->metric, e->value, e->unit, scope, "",
						    e->is_text});
	}
	to->nr_evidence = k->p->nr_evidence - to->evidence;
}

static const char *put_action(struct packer *k, const struct note *n)
{
	struct pack_action *a;

	if (!n)
		return NULL;
	for (size_t i = 0; i < k->p->nr_actions; i++)
		if (strcmp(k->p->actions[i].note_id, n->id) == 0)
			return k->p->actions[i].key;
	a = &k->p->actions[k->p->nr_actions++];
	a->key = packer_key(k, 'A', k->p->nr_actions);
	a->note_id = n->id;
	a->text = packer_text(k, n->action, ACTION_BYTES);
	return a->key;
}

void pack_findings(struct packer *k)
{
	const struct analysis_job *a = found(k);

	for (size_t i = 0; a && i < a->nr_findings && i < k->bounds->findings; i++) {
		const struct finding *f = &a->findings[i];
		struct pack_finding *to = &k->p->findings[k->p->nr_findings++];

		*to = (struct pack_finding){
			.key = packer_key(k, 'F', k->p->nr_findings),
			.id = f->rule->id,
			.severity = f->severity,
			.confidence = f->confidence,
			.title = packer_text(k, f->rule->title, 0),
			.subject = subject_of(k, f),
			.summary = packer_text(k, f->summary, k->bounds->summary_bytes),
		};
		put_evidence(k, f, to);
		to->action = put_action(k, f->note);
	}
}

/* What a search by words has to go by. */
static char *words_of(const struct packer *k)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (size_t i = 0; i < k->p->nr_findings; i++)
		fprintf(out, "%s\n", k->p->findings[i].title);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static char *copy_of(struct arena *a, const struct bytes *b)
{
	return (char *)arena_bytes(a, b->data ? b->data : "", b->len).data;
}

/* Facts live as long as the pack. */
static void facts_of(struct packer *k, struct kb_facts *ret)
{
	struct arena *a = &k->p->arena;
	const struct model_job *job = k->from->job;
	const char **types = arena_alloc(a, (job->nr_filesystems + 1) * sizeof(*types));
	size_t nr = 0;

	for (size_t i = 0; types && i < job->nr_filesystems; i++)
		if (job->filesystems[i].type.len)
			types[nr++] = copy_of(a, &job->filesystems[i].type);
	*ret = (struct kb_facts){
		.filesystems = types,
		.nr_filesystems = nr,
		.kernel = copy_of(a, &k->from->model->run.kernel),
	};
}

static void put_note(struct packer *k, const struct kb_hit *hit)
{
	struct pack_note *n = &k->p->notes[k->p->nr_notes++];

	n->key = packer_key(k, 'N', k->p->nr_notes);
	n->id = packer_text(k, hit->note->id, 0);
	n->text = packer_text(k, hit->text, 0);
	n->of_user = hit->of_user;
	if (!hit->of_user)
		put_action(k, hit->note);
}

int pack_notes(struct packer *k, struct errtext *err)
{
	_cleanup_free_ char *words = words_of(k);
	const char *ids[64];
	struct kb_hit hits[LLM_NOTES_MAX];
	struct kb_facts facts;
	struct kb_query query = {.findings = ids,
				 .facts = &facts,
				 .question = k->from->question,
				 .words = words,
				 .max_notes = k->bounds->notes,
				 .max_tokens = LLM_TOKENS_NOTES};
	size_t nr = 0;
	int ret = 0;

	if (!k->from->kb || !k->bounds->notes)
		return 0;
	for (size_t i = 0; i < k->p->nr_findings && i < sizeof(ids) / sizeof(ids[0]); i++)
		ids[query.nr_findings++] = k->p->findings[i].id;
	facts_of(k, &facts);
	ret = kb_find(k->from->kb, &query, &k->p->arena, hits, &nr, err);
	for (size_t i = 0; i < nr && !ret; i++)
		put_note(k, &hits[i]);
	return ret;
}
