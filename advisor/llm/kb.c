/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "advisor/rules/text.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"

enum { INDEXED_MAX = 64 * 1024 };

/* The words of a body without code, and without text that occurs in every note or describes
 * cachemon's decision, because it does not distinguish notes. */
static void put_body(FILE *out, const char *body)
{
	struct lines lines = {.next = body};
	struct span line;
	bool fenced = false, left_out = false;

	while (ftell(out) < INDEXED_MAX && lines_next(&lines, &line)) {
		struct span text = span_trim(line);

		if (span_begins(text, "```"))
			fenced = !fenced;
		else if (!fenced && span_begins(text, "#"))
			left_out = span_is(text, "## How it is decided") ||
				   span_is(text, "## Sources");
		else if (!fenced && !left_out)
			fprintf(out, "%.*s\n", (int)text.len, text.at);
	}
}

static int put_note(sqlite3 *db, const struct note *n, size_t i)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	_cleanup_free_ char *body = NULL;
	char *sql = NULL;
	int rc;

	if (out)
		put_body(out, n->body);
	body = text_end(&b);
	if (body)
		sql = sqlite3_mprintf("INSERT INTO kb(rowid, title, keywords, action, body) "
				      "VALUES (%d, '%q %q', '%q', '%q %q', '%q')",
				      (int)i + 1, n->id, n->title ?: "", n->keywords ?: "",
				      n->precondition ?: "", n->action ?: "", body);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

static int make_index(struct kb *kb, struct errtext *err)
{
	int rc = sqlite3_open_v2(":memory:", &kb->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (!rc)
		rc = sqlite3_exec(
			kb->db,
			"CREATE VIRTUAL TABLE kb USING fts5(title, keywords, action, body, "
			"content='', tokenize='porter unicode61'); BEGIN",
			NULL, NULL, NULL);
	if (rc == SQLITE_ERROR)
		return errtext_set(err, -ENOTSUP, "cannot search the notes: %s; SQLite needs FTS5",
				   sqlite3_errmsg(kb->db));
	for (size_t i = 0; i < kb->nr_notes && !rc; i++)
		rc = put_note(kb->db, &kb->notes[i].note, i);
	if (!rc)
		rc = sqlite3_exec(kb->db, "COMMIT", NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(kb->db,
					"SELECT rowid, -bm25(kb, 8.0, 5.0, 3.0, 1.0) FROM kb "
					"WHERE kb MATCH ?1",
					-1, &kb->search, NULL);
	return rc ? errtext_set(err, rc == SQLITE_NOMEM ? -ENOMEM : -EIO,
				"cannot index the notes: %s", sqlite3_errstr(rc))
		  : 0;
}

void kb_free(struct kb *kb)
{
	if (!kb)
		return;
	sqlite3_finalize(kb->search);
	sqlite3_close(kb->db);
	arena_free(&kb->arena);
	free(kb);
}

/* First the built-in notes, then the user's. */
int kb_open(const struct rule_set *set, const char *notes_dir,
	    void (*problem)(void *arg, const char *text), void *arg, struct kb **ret,
	    struct errtext *err)
{
	struct kb *kb = calloc(1, sizeof(*kb));
	int e;

	if (kb)
		kb->notes = arena_alloc(&kb->arena,
					(set->nr_notes + KB_USER_NOTES_MAX) * sizeof(*kb->notes));
	e = kb && kb->notes ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < set->nr_notes; i++)
		kb->notes[kb->nr_notes++].note = set->notes[i];
	if (!e && notes_dir)
		e = kb_load_user(kb, notes_dir, problem, arg);
	if (e)
		errtext_set(err, e, "not enough memory for the notes");
	else
		e = make_index(kb, err);
	if (e)
		kb_free(kb);
	else
		*ret = kb;
	return e;
}

/* Reserves places for notes that do not belong to a finding, if there are any. */
enum { FOR_OTHERS = 2 };

/*
 * Weights for each kind of match between a note and the query. The best BM25 match gets the whole
 * weight, others a proportional part.
 */
static const double weight_question = 1.0, weight_words = 0.3, weight_finding = 0.6;
/* A note that names the machine's filesystem is more specific than a general one. It matters
 * less for a question, which may be about anything. */
static const double gain_named = 1.25, gain_named_run = 1.6;
/* A note below this share of the best only has a common word with the query. */
static const double least = 0.15;

struct candidate {
	const struct kb_note *note;
	double near;  /* < 0: already placed, or not applicable here */
	double found; /* score of the current search */
	bool named;
};

/* Decreases for findings late in the query or late in the note. Many findings do not outweigh a
 * question. */
static double by_findings(const struct kb_query *q, const struct note *n)
{
	double sum = 0;

	for (size_t i = 0; i < n->findings.nr; i++)
		for (size_t at = 0; at < q->nr_findings; at++) {
			if (strcmp(q->findings[at], n->findings.id[i]) != 0)
				continue;
			sum += weight_finding / ((1 + (double)at / 4) * (1 + (double)i / 4));
			break;
		}
	return sum < weight_finding ? sum : weight_finding;
}

static int search(struct kb *kb, const char *text, double weight, struct candidate *c,
		  struct errtext *err)
{
	char match[KB_MATCH_MAX];
	double best = 0;
	int rc;

	if (!kb_words(text, match))
		return 0;
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
				   "cannot search the notes: %s", sqlite3_errstr(rc));
	for (size_t i = 0; i < kb->nr_notes; i++) {
		if (c[i].near >= 0 && best > 0)
			c[i].near += weight * c[i].found / best;
		c[i].found = 0;
	}
	return 0;
}

/* The topics of the findings' own notes: other notes on the same topics are near. */
static int search_like_own(struct kb *kb, const size_t *own, size_t nr, struct candidate *c,
			   struct errtext *err)
{
	int e = 0;

	for (size_t i = 0; i < nr && !e; i++) {
		const struct note *n = &kb->notes[own[i]].note;
		char *like = sqlite3_mprintf("%s %s", n->title, n->keywords ?: "");

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

/* The findings' own notes, in the order of the query, up to max. */
static size_t take_own(struct kb *kb, const struct kb_query *q, struct candidate *c, size_t *own)
{
	size_t nr = 0;

	for (size_t f = 0; f < q->nr_findings && nr < q->max_notes; f++)
		for (size_t i = 0; i < kb->nr_notes; i++) {
			if (kb->notes[i].of_user || c[i].near < 0 ||
			    strcmp(kb->notes[i].note.id, q->findings[f]) != 0)
				continue;
			c[i].near = -1;
			own[nr++] = i;
			break;
		}
	return nr;
}

static void favour_named(const struct kb *kb, struct candidate *c, double gain)
{
	for (size_t i = 0; i < kb->nr_notes; i++)
		if (c[i].named && c[i].near > 0)
			c[i].near *= gain;
}

/* Scores the remaining notes; sorted, nearest first. */
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

/* The facts to send so far. */
struct told {
	const struct kb_query *q;
	struct arena *arena;
	struct kb_hit *hits;
	size_t nr, tokens;
};

/* Adds nothing if the whole note does not fit. */
static int tell(struct told *t, const struct kb_note *n)
{
	const char *text = kb_text(t->arena, &n->note);
	size_t tokens = text ? tokens_of(text) : 0;

	if (!text)
		return -ENOMEM;
	if (t->tokens + tokens > t->q->max_tokens)
		return 0;
	t->tokens += tokens;
	t->hits[t->nr++] = (struct kb_hit){&n->note, text, n->of_user};
	return 0;
}

int kb_find(struct kb *kb, const struct kb_query *q, struct arena *a, struct kb_hit *hits,
	    size_t *ret_nr, struct errtext *err)
{
	struct candidate *c = arena_alloc(a, (kb->nr_notes + 1) * sizeof(*c));
	size_t *own = arena_alloc(a, (q->max_notes + 1) * sizeof(*own));
	struct told t = {.q = q, .arena = a, .hits = hits};
	size_t nr_own = 0, nr_others = 0, for_others;
	int e = -ENOMEM;

	if (c && own) {
		nr_own = take_own(kb, q, c, own);
		e = rank(kb, q, own, nr_own, c, err);
	}
	/* The notes that are near enough. */
	while (!e && nr_others < kb->nr_notes && c[nr_others].near > 0 &&
	       c[nr_others].near >= least * c[0].near)
		nr_others++;
	for_others = nr_others < FOR_OTHERS ? nr_others : FOR_OTHERS;
	if (for_others > q->max_notes / 2)
		for_others = q->max_notes / 2;
	for (size_t i = 0; i < nr_own && !e && t.nr + for_others < q->max_notes; i++)
		e = tell(&t, &kb->notes[own[i]]);
	for (size_t i = 0; i < nr_others && !e && t.nr < q->max_notes; i++)
		e = tell(&t, c[i].note);
	*ret_nr = t.nr;
	return e == -ENOMEM ? errtext_set(err, e, "not enough memory to search the notes") : e;
}
