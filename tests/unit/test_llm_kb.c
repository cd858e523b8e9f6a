/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm advisor access */
/*
 * Which notes a run or a question gets, compared with a table written by hand
 * (fixtures/kb/golden.tsv), and that the comparison can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advisor/llm/kb_impl.h"
#include "advisor/llm/tokens.h"

#define RECALL_MIN 0.95

enum { WORDS_MAX = 16, LINE_MAX_BYTES = 1024, CASES_MIN = 45 };

struct list {
	const char *word[WORDS_MAX];
	size_t nr;
};

/* A line of the table. */
struct golden {
	char line[LINE_MAX_BYTES];
	struct list findings, wanted, banned, filesystems, devices;
	struct kb_facts facts;
	const char *words;
};

static struct list words_of(char *text)
{
	struct list l = {.nr = 0};
	char *save = NULL;

	if (strcmp(text, "-") == 0)
		return l;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(l.nr < WORDS_MAX);
		l.word[l.nr++] = w;
	}
	return l;
}

static void take_facts(struct golden *g, char *text)
{
	struct list l = words_of(text);

	for (size_t i = 0; i < l.nr; i++) {
		const char *value = strchr(l.word[i], '=') + 1;

		if (strncmp(l.word[i], "fs=", 3) == 0)
			g->filesystems.word[g->filesystems.nr++] = value;
		else if (strncmp(l.word[i], "device=", 7) == 0)
			g->devices.word[g->devices.nr++] = value;
		else if (strncmp(l.word[i], "kernel=", 7) == 0)
			g->facts.kernel = value;
		else if (strncmp(l.word[i], "cgroup=", 7) == 0)
			g->facts.cgroup = value;
		else
			fail_msg("no such fact: %s", l.word[i]);
	}
	g->facts.filesystems = g->filesystems.word;
	g->facts.nr_filesystems = g->filesystems.nr;
	g->facts.devices = g->devices.word;
	g->facts.nr_devices = g->devices.nr;
}

static void take_line(struct golden *g)
{
	char *column[5], *save = NULL;

	g->line[strcspn(g->line, "\n")] = '\0';
	for (int i = 0; i < 5; i++) {
		column[i] = strtok_r(i ? NULL : g->line, "\t", &save);
		assert_non_null(column[i]);
	}
	g->findings = words_of(column[0]);
	take_facts(g, column[1]);
	g->words = strcmp(column[2], "-") == 0 ? NULL : column[2];
	g->wanted = words_of(column[3]);
	g->banned = words_of(column[4]);
}

struct score {
	size_t cases, wanted, found, banned; /* banned: notes that came although they must not */
	size_t cases_wanting;
	double macro; /* sum over cases */
};

static bool came(const struct kb_hit *hits, size_t nr, const char *id)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(hits[i].note->id, id) == 0)
			return true;
	return false;
}

static void tell_missed(const struct golden *g, const struct kb_hit *hits, size_t nr,
			const char *id)
{
	print_message("missed %s for %s | %s:", id, g->findings.nr ? g->findings.word[0] : "-",
		      g->words ? g->words : "-");
	for (size_t i = 0; i < nr; i++)
		print_message(" %s", hits[i].note->id);
	print_message("\n");
}

/* Within the budgets, without duplicates, with complete and short texts. */
static void check_bounds(const struct kb_hit *hits, size_t nr)
{
	size_t tokens = 0;

	assert_true(nr <= LLM_NOTES_MAX);
	for (size_t i = 0; i < nr; i++) {
		tokens += tokens_of(hits[i].text);
		assert_false(came(hits, i, hits[i].note->id));
	}
	assert_true(tokens <= LLM_TOKENS_NOTES);
}

enum how { AS_IT_IS, WITHOUT_FACTS, WITHOUT_FINDINGS, QUIET_REVERSED };

static void ask(struct kb *kb, const struct golden *g, enum how how, struct score *s)
{
	const struct kb_query q = {
		.findings = g->findings.word,
		.nr_findings = how == WITHOUT_FINDINGS ? 0 : g->findings.nr,
		.facts = how == WITHOUT_FACTS ? NULL : &g->facts,
		.question = g->words,
		.max_notes = LLM_NOTES_MAX,
		.max_tokens = LLM_TOKENS_NOTES,
	};
	struct kb_hit hits[LLM_NOTES_MAX];
	struct arena a = {0};
	struct errtext err = {0};
	size_t nr = 0, found = 0;

	if (kb_find(kb, &q, &a, hits, &nr, &err))
		fail_msg("%s", err.text);
	check_bounds(hits, nr);
	for (size_t i = 0; i < g->wanted.nr; i++) {
		if (came(hits, nr, g->wanted.word[i]))
			found++;
		else if (how == AS_IT_IS)
			tell_missed(g, hits, nr, g->wanted.word[i]);
	}
	for (size_t i = 0; i < g->banned.nr; i++)
		s->banned += came(hits, nr, g->banned.word[i]);
	s->cases++;
	s->wanted += g->wanted.nr;
	s->found += found;
	if (g->wanted.nr) {
		s->cases_wanting++;
		s->macro += (double)found / (double)g->wanted.nr;
	}
	arena_free(&a);
}

static struct score ask_all(struct kb *kb, enum how how)
{
	FILE *in = fopen(FIXTURES "/kb/golden.tsv", "re");
	struct score s = {0};

	assert_non_null(in);
	for (;;) {
		struct golden g = {0};

		if (!fgets(g.line, sizeof(g.line), in))
			break;
		if (g.line[0] == '#')
			continue;
		take_line(&g);
		ask(kb, &g, how, &s);
	}
	fclose(in);
	return s;
}

static double micro(const struct score *s)
{
	return (double)s->found / (double)s->wanted;
}

static double macro(const struct score *s)
{
	return s->macro / (double)s->cases_wanting;
}

struct world {
	struct rule_set set;
	struct kb *kb;
	size_t problems;
};

static void one_problem(void *arg, const char *text)
{
	struct world *w = arg;

	assert_non_null(
		strstr(text, "kb/notes/wrong.md:3: 'nfs' is not a place where a note applies"));
	w->problems++;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct errtext err = {0};

	assert_int_equal(rule_set_load(NULL, &w->set), 0);
	if (kb_open(&w->set, FIXTURES "/kb/notes", one_problem, w, &w->kb, &err))
		fail_msg("%s", err.text);
	assert_int_equal(w->problems, 1);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	kb_free(w->kb);
	rule_set_free(&w->set);
	free(w);
	return 0;
}

static void test_golden(void **state)
{
	struct world *w = *state;
	struct score s = ask_all(w->kb, AS_IT_IS);

	print_message("%zu cases, %zu notes wanted: recall within %d is %.3f, by case %.3f\n",
		      s.cases, s.wanted, LLM_NOTES_MAX, micro(&s), macro(&s));
	assert_true(s.cases >= CASES_MIN);
	assert_int_equal(s.banned, 0);
	assert_true(micro(&s) >= RECALL_MIN);
	assert_true(macro(&s) >= RECALL_MIN);
}

/* Every wanted or banned note exists: otherwise the table proves nothing. */
static void test_golden_names(void **state)
{
	struct world *w = *state;
	FILE *in = fopen(FIXTURES "/kb/golden.tsv", "re");
	struct golden g = {0};

	while (fgets(g.line, sizeof(g.line), in)) {
		struct list all[2];

		if (g.line[0] != '#') {
			take_line(&g);
			all[0] = g.wanted;
			all[1] = g.banned;
			for (size_t i = 0; i < all[0].nr + all[1].nr; i++) {
				const char *id =
					i < all[0].nr ? all[0].word[i] : all[1].word[i - all[0].nr];
				bool found = false;

				for (size_t n = 0; n < w->kb->nr_notes; n++)
					found |= strcmp(w->kb->notes[n].note.id, id) == 0;
				if (!found)
					fail_msg("no note %s", id);
			}
		}
		memset(&g, 0, sizeof(g));
	}
	fclose(in);
}

/* A wrong retrieval gets a low score: the table detects it. */
static void test_golden_can_fail(void **state)
{
	struct world *w = *state;
	struct score s = ask_all(w->kb, WITHOUT_FACTS);

	print_message("without facts: %zu notes that must not come\n", s.banned);
	assert_true(s.banned > 0);
	s = ask_all(w->kb, WITHOUT_FINDINGS);
	print_message("without findings: recall %.3f\n", micro(&s));
	assert_true(micro(&s) < RECALL_MIN);
	/* The least similar first. */
	sqlite3_finalize(w->kb->search);
	assert_int_equal(
		sqlite3_prepare_v2(w->kb->db,
				   "SELECT rowid, -1.0 / bm25(kb, 8.0, 5.0, 3.0, 1.0) FROM kb "
				   "WHERE kb MATCH ?1",
				   -1, &w->kb->search, NULL),
		SQLITE_OK);
	s = ask_all(w->kb, QUIET_REVERSED);
	print_message("in reverse: recall %.3f\n", micro(&s));
	assert_true(micro(&s) < RECALL_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_golden, begin, end),
		cmocka_unit_test_setup_teardown(test_golden_names, begin, end),
		cmocka_unit_test_setup_teardown(test_golden_can_fail, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
