/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/base/cleanup.h"

/* Places for notes that are not the findings' own, where there are any. */
enum { FOR_OTHERS = 2 };

/*
 * What a note gets for each way in which it is near to the query. A search's best note has its
 * whole weight, others their part of it by BM25.
 */
static const double weight_question = 1.0, weight_words = 0.3, weight_finding = 0.6;
/* A note that names the machine's filesystem knows more of it than one that holds anywhere; less so
 * for a question, which may be about anything. */
static const double gain_named = 1.25, gain_named_run = 1.6;
/* Below this part of the best one a note only shares a common word. */
static const double least = 0.15;

struct candidate {
	const struct kb_note *note;
	double near;  /* < 0: has its place already, or does not hold here */
	double found; /* by the search that is on */
	bool named;
};

static bool names_finding(const struct kb_query *q, const char *id, size_t *ret_at)
{
	for (*ret_at = 0; *ret_at < q->nr_findings; ++*ret_at)
		if (strcmp(q->findings[*ret_at], id) == 0)
			return true;
	return false;
}

/* Less for a finding that comes late in the query, or late in the note. Many do not outdo a
 * question. */
static double by_findings(const struct kb_query *q, const struct note *n)
{
	double sum = 0;
	size_t at;

	for (size_t i = 0; i < n->findings.nr; i++)
		if (names_finding(q, n->findings.id[i], &at))
			sum += weight_finding / ((1 + (double)at / 4) * (1 + (double)i / 4));
	return sum < weight_finding ? sum : weight_finding;
}

static int search(struct kb *kb, const char *text, double weight, struct candidate *c,
		  struct errtext *err)
{
	bool failed = false;
	_cleanup_free_ char *match = kb_words(text, &failed);
	double best = 0;
	int rc;

	if (!match)
		return failed ? -ENOMEM : 0;
	rc = sqlite3_bind_text(kb->search, 1, match, -1, SQLITE_STATIC);
	while (!rc && (rc = sqlite3_step(kb->search)) == SQLITE_ROW) {
		struct candidate *hit = &c[sqlite3_column_int64(kb->search, 0) - 1];

		hit->found = sqlite3_column_double(kb->search, 1);
		if (hit->near >= 0 && hit->found > best)
			best = hit->found;
		rc = SQLITE_OK;
	}
	sqlite3_reset(kb->search);
	sqlite3_clear_bindings(kb->search);
	if (rc != SQLITE_DONE)
		return errtext_set(err, rc == SQLITE_NOMEM ? -ENOMEM : -EIO,
				   "notes cannot be searched: %s", sqlite3_errstr(rc));
	for (size_t i = 0; i < kb->nr_notes; i++) {
		if (c[i].near >= 0 && best > 0)
			c[i].near += weight * c[i].found / best;
		c[i].found = 0;
	}
	return 0;
}

/* What the findings' own notes are about: others about the same are near. */
static int search_like_own(struct kb *kb, const size_t *own, size_t nr, struct candidate *c,
			   struct errtext *err)
{
	int e = 0;

	for (size_t i = 0; i < nr && !e; i++) {
		const struct note *n = &kb->notes[own[i]].note;
		char *like = sqlite3_mprintf("%s %s", n->title, n->keywords ? n->keywords : "");

		e = like ? search(kb, like, weight_words / (double)nr, c, err) : -ENOMEM;
		sqlite3_free(like);
	}
	return e;
}

static int by_nearness(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->near != y->near)
		return x->near < y->near ? 1 : -1;
	return strcmp(x->note->note.id, y->note->note.id);
}

/* Own notes of findings, as the query has them: up to max. */
static size_t take_own(struct kb *kb, const struct kb_query *q, struct candidate *c, size_t *own,
		       size_t max)
{
	size_t nr = 0;

	for (size_t f = 0; f < q->nr_findings && nr < max; f++) {
		for (size_t i = 0; i < kb->nr_notes; i++) {
			if (kb->notes[i].of_user || c[i].near < 0 ||
			    strcmp(kb->notes[i].note.id, q->findings[f]) != 0)
				continue;
			c[i].near = -1;
			own[nr++] = i;
			break;
		}
	}
	return nr;
}

static void favour_named(const struct kb *kb, struct candidate *c, double gain)
{
	for (size_t i = 0; i < kb->nr_notes; i++)
		if (c[i].named && c[i].near > 0)
			c[i].near *= gain;
}

/* How near each note is that may come; sorted, nearest first. */
static int rank(struct kb *kb, const struct kb_query *q, const size_t *own, size_t nr_own,
		struct candidate *c, struct errtext *err)
{
	int e = 0;

	for (size_t i = 0; i < kb->nr_notes; i++) {
		c[i].note = &kb->notes[i];
		if (c[i].near >= 0 && !kb_allows(&kb->notes[i].note, q->facts, &c[i].named))
			c[i].near = -1;
		if (c[i].near >= 0)
			c[i].near = by_findings(q, &kb->notes[i].note);
	}
	e = search(kb, q->words, weight_words, c, err);
	if (!e)
		e = search_like_own(kb, own, nr_own, c, err);
	favour_named(kb, c, gain_named_run / gain_named);
	if (!e)
		e = search(kb, q->question, weight_question, c, err);
	favour_named(kb, c, gain_named);
	qsort(c, kb->nr_notes, sizeof(*c), by_nearness);
	return e;
}

/* How many of the sorted ones are near enough. */
static size_t near_enough(const struct candidate *c, size_t nr)
{
	size_t i = 0;

	while (i < nr && c[i].near > 0 && c[i].near >= least * c[0].near)
		i++;
	return i;
}

/* What is told so far. */
struct told {
	const struct kb_query *q;
	struct arena *arena;
	struct kb_hit *hits;
	size_t nr, tokens;
};

/* Nothing, where the note would not fit whole. */
static int tell(struct told *t, const struct kb_note *n, bool by_finding)
{
	const char *text = kb_text(t->arena, &n->note);
	size_t tokens = text ? tokens_of(text, strlen(text)) : 0;

	if (!text)
		return -ENOMEM;
	if (t->tokens + tokens > t->q->max_tokens)
		return 0;
	t->tokens += tokens;
	t->hits[t->nr++] = (struct kb_hit){
		.note = &n->note,
		.text = text,
		.of_user = n->of_user,
		.why = by_finding ? KB_BY_FINDING : KB_BY_WORDS,
	};
	return 0;
}

int kb_find(struct kb *kb, const struct kb_query *q, struct arena *a, struct kb_hit *hits,
	    size_t *ret_nr, struct errtext *err)
{
	struct candidate *c = arena_alloc(a, (kb->nr_notes + 1) * sizeof(*c));
	size_t *own = arena_alloc(a, (q->max_notes + 1) * sizeof(*own));
	struct told t = {.q = q, .arena = a, .hits = hits};
	size_t nr_own, nr_others, for_others;
	int e = c && own ? 0 : -ENOMEM;

	if (e)
		return errtext_set(err, e, "not enough memory to search the notes");
	nr_own = take_own(kb, q, c, own, q->max_notes);
	e = rank(kb, q, own, nr_own, c, err);
	nr_others = near_enough(c, kb->nr_notes);
	for_others = nr_others < FOR_OTHERS ? nr_others : FOR_OTHERS;
	if (for_others > q->max_notes / 2)
		for_others = q->max_notes / 2;
	for (size_t i = 0; i < nr_own && !e && t.nr + for_others < q->max_notes; i++)
		e = tell(&t, &kb->notes[own[i]], true);
	for (size_t i = 0; i < nr_others && !e && t.nr < q->max_notes; i++)
		e = tell(&t, c[i].note, false);
	if (!e)
		*ret_nr = t.nr;
	return e == -ENOMEM ? errtext_set(err, e, "not enough memory to search the notes") : e;
}
