/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/wording/word_impl.h"

static const char *copy(struct arena *a, const char *s)
{
	return s ? arena_bytes(a, s, strlen(s)).data : NULL;
}

/* With names where aliases stood. */
static const char *named(const struct word *w, struct arena *a, const char *s)
{
	return s ? redact_restore(w->names, a, s) : NULL;
}

/* "F1: directory" is of a finding, whose id a reader knows. */
static const char *scope_of(const struct word *w, struct arena *a, const char *scope)
{
	size_t len = strcspn(scope, ":");
	char *text = NULL;
	const char *ret = NULL;

	for (size_t i = 0; i < w->pack.nr_findings; i++) {
		const struct pack_finding *f = &w->pack.findings[i];

		if (strlen(f->key) != len || memcmp(f->key, scope, len) != 0)
			continue;
		if (asprintf(&text, "%s%s", f->id, scope + len) < 0)
			return NULL;
		ret = named(w, a, text);
		free(text);
		return ret;
	}
	return named(w, a, scope);
}

/* Its place in the report's list, where each stands once. */
static size_t evidence_at(const struct word *w, struct wording *ret, const struct pack_evidence *e)
{
	struct arena *a = &ret->arena;
	struct wording_evidence *to;

	for (size_t i = 0; i < ret->nr_evidence; i++)
		if (strcmp(ret->evidence[i].key, e->key) == 0)
			return i;
	to = &ret->evidence[ret->nr_evidence++];
	*to = (struct wording_evidence){
		.key = copy(a, e->key),
		.metric = named(w, a, e->metric),
		.value = e->is_text ? named(w, a, e->value) : copy(a, e->value),
		.unit = copy(a, e->unit),
		.scope = scope_of(w, a, e->scope),
		.shown = named(w, a, e->shown),
		.quality = copy(a, e->quality),
		.is_text = e->is_text,
	};
	return ret->nr_evidence - 1;
}

/* A model was told its beginning. */
static const char *whole_action(const struct word *w, struct arena *a, const struct pack_action *x)
{
	const struct note *n = rule_set_note(&w->m->analysis->rules, x->note_id);

	return n ? copy(a, n->action) : named(w, a, x->text);
}

static void take_statement(const struct word *w, const struct llm_statement *s, struct wording *ret,
			   struct wording_statement *to)
{
	struct arena *a = &ret->arena;
	size_t *evidence = arena_alloc(a, (s->nr_evidence + 1) * sizeof(*evidence));
	const char **notes = arena_alloc(a, (s->nr_notes + 1) * sizeof(*notes));

	if (!evidence || !notes)
		return;
	*to = (struct wording_statement){
		.about = s->about ? copy(a, s->about->id) : NULL,
		.subject = s->about ? named(w, a, s->about->subject) : NULL,
		.text = named(w, a, s->text),
		.evidence = evidence,
		.nr_evidence = s->nr_evidence,
		.notes = notes,
		.nr_notes = s->nr_notes,
		.action = s->action ? whole_action(w, a, s->action) : NULL,
		.action_note = s->action ? copy(a, s->action->note_id) : NULL,
		.confidence = s->confidence,
	};
	for (size_t i = 0; i < s->nr_evidence; i++)
		evidence[i] = evidence_at(w, ret, s->evidence[i]);
	for (size_t i = 0; i < s->nr_notes; i++)
		notes[i] = copy(a, s->notes[i]->id);
}

/* By what they are about: the job first, then findings as ranked. */
static size_t rank_of(const struct llm_checked *c, const struct llm_statement *s)
{
	for (size_t i = 0; s->about && i < c->nr_ranking; i++)
		if (c->ranking[i] == s->about)
			return i + 1;
	return 0;
}

/* Their places in the answer. */
static void order(const struct llm_checked *c, size_t *list)
{
	size_t nr = 0;

	for (size_t rank = 0; rank <= c->nr_ranking; rank++)
		for (size_t i = 0; i < c->nr_statements; i++)
			if (rank_of(c, &c->statements[i]) == rank)
				list[nr++] = i;
}

int word_take(const struct word *w, const struct llm_checked *c, struct wording *ret)
{
	struct arena *a = &ret->arena;
	size_t *list;

	ret->answered = c->answered;
	memcpy(ret->dropped, c->dropped, sizeof(ret->dropped));
	list = arena_alloc(a, (c->nr_statements + 1) * sizeof(*list));
	ret->statements = arena_alloc(a, (c->nr_statements + 1) * sizeof(*ret->statements));
	ret->ranking = arena_alloc(a, (c->nr_ranking + 1) * sizeof(*ret->ranking));
	ret->evidence = arena_alloc(a, (w->pack.nr_evidence + 1) * sizeof(*ret->evidence));
	ret->nr_evidence = 0;
	if (a->failed)
		return -ENOMEM;
	order(c, list);
	for (size_t i = 0; i < c->nr_statements; i++)
		take_statement(w, &c->statements[list[i]], ret, &ret->statements[i]);
	ret->nr_statements = c->nr_statements;
	for (size_t i = 0; i < c->nr_ranking; i++)
		ret->ranking[i] = copy(a, c->ranking[i]->id);
	ret->nr_ranking = c->nr_ranking;
	return a->failed ? -ENOMEM : 0;
}

/* A statement that came whole while the rest is still on its way. What it cites is kept apart: the
 * answer's own list is made at its end. */
static void early(void *arg, const char *object, size_t len)
{
	struct word *w = arg;
	struct wording so_far = {.evidence = NULL};
	struct llm_statement s;
	struct wording_statement to = {0};
	enum drop_reason why;

	if (w->came++ >= STATEMENTS_MAX)
		return;
	if (llm_check_statement(&w->pack, w->names, object, len, &so_far.arena, &s, &why) == 1) {
		so_far.evidence = arena_alloc(&so_far.arena,
					      (w->pack.nr_evidence + 1) * sizeof(*so_far.evidence));
		if (so_far.evidence)
			take_statement(w, &s, &so_far, &to);
		if (!so_far.arena.failed)
			w->how->on_statement(w->how->on_arg, &so_far, &to);
	}
	arena_free(&so_far.arena);
}

void word_piece(void *arg, const char *piece, size_t len)
{
	struct word *w = arg;

	if (!w->split)
		w->split = llm_split_new();
	/* Too long, or no memory: the whole answer is looked at in the end, and says so. */
	if (w->split)
		llm_split_feed(w->split, piece, len, early, w);
}

void word_again(void *arg)
{
	struct word *w = arg;

	llm_split_free(w->split);
	w->split = NULL;
	w->came = 0;
	if (w->how->on_again)
		w->how->on_again(w->how->on_arg);
}
