/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm advisor access */
/* Parts of retrieval: where a note applies, the words of a query, the part of a note that is
 * sent, and budgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advisor/llm/kb_impl.h"
#include "advisor/llm/tokens.h"
#include "cachemon/base/escape.h"

static void test_allows(void **state)
{
	static const char *const ext4[] = {"ext4"}, *const both[] = {"ext4", "nfs4"},
				 *const sshfs[] = {"fuse.sshfs"}, *const block[] = {"fuseblk"},
				 *const ssd[] = {"ssd"};
	const struct {
		const char *applies_to;
		struct kb_facts facts;
		bool allowed, named;
	} table[] = {
		{NULL, {ext4, 1, ssd, 1, "6.1", "v2"}, true, false},
		{"any", {ext4, 1, ssd, 1, "6.1", "v2"}, true, false},
		{"[fs:nfs, fs:nfs4]", {ext4, 1, NULL, 0, NULL, NULL}, false, false},
		{"[fs:nfs, fs:nfs4]", {both, 2, NULL, 0, NULL, NULL}, true, true},
		{"[fs:nfs, fs:nfs4]", {NULL, 0, NULL, 0, "6.1", "v2"}, true, false},
		{"fs:fuse", {sshfs, 1, NULL, 0, NULL, NULL}, true, true},
		{"fs:fuse", {block, 1, NULL, 0, NULL, NULL}, false, false},
		{"fs:ext", {ext4, 1, NULL, 0, NULL, NULL}, false, false},
		/* All kinds must match, but one term of a kind is enough. */
		{"[fs:ext4, kernel:>=6.14]", {ext4, 1, NULL, 0, "6.12.9-amd64", NULL}, false, true},
		{"[fs:ext4, kernel:>=6.14]", {ext4, 1, NULL, 0, "6.14.0-rc1", NULL}, true, true},
		{"[fs:ext4, kernel:>=6.14]", {ext4, 1, NULL, 0, NULL, NULL}, true, true},
		{"[fs:ext4, kernel:>=6.14]", {ext4, 1, NULL, 0, "", NULL}, true, true},
		{"[fs:ext4, kernel:>=6.14]", {ext4, 1, NULL, 0, "unknown", NULL}, true, true},
		{"kernel:>=6.9", {NULL, 0, NULL, 0, "6.12", NULL}, true, false},
		{"kernel:>=5.4<6.1", {NULL, 0, NULL, 0, "6.1.0", NULL}, false, false},
		{"kernel:>=5.4<6.1", {NULL, 0, NULL, 0, "5.15.0-91", NULL}, true, false},
		{"[kernel:<5, kernel:>=6.1]", {NULL, 0, NULL, 0, "4.19", NULL}, true, false},
		{"[kernel:<5, kernel:>=6.1]", {NULL, 0, NULL, 0, "5.15", NULL}, false, false},
		{"device:rotational", {NULL, 0, ssd, 1, NULL, NULL}, false, false},
		{"device:ssd", {NULL, 0, ssd, 1, NULL, NULL}, true, true},
		{"cgroup:v2", {NULL, 0, NULL, 0, NULL, "v1"}, false, false},
		{"cgroup:v2", {NULL, 0, NULL, 0, NULL, "v2"}, true, true},
		{"cgroup:v2", {NULL, 0, NULL, 0, NULL, ""}, true, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct note n = {.applies_to = table[i].applies_to};
		bool named = !table[i].named;

		if (kb_allows(&n, &table[i].facts, &named) != table[i].allowed ||
		    named != table[i].named)
			fail_msg("%zu: %s", i, table[i].applies_to);
	}
}

static void test_words(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: nothing to search for */
	} table[] = {
		{NULL, NULL},
		{"", NULL},
		{"Why is THE 2nd of 300 slow?", "\"2nd\" OR \"slow\""},
		/* The first and the last stop word, and some between. */
		{"about after because need right the to which your", NULL},
		{"read_ahead_kb, read!", "\"read\" OR \"ahead\" OR \"kb\""},
		{"NEAR(\"a\" OR bb*) AND ^title:cc -dd \"",
		 "\"near\" OR \"bb\" OR \"title\" OR \"cc\" OR \"dd\""},
		{"gr\xc3\xb6\xc3\x9f"
		 "er \xff\xfe",
		 "\"gr\xc3\xb6\xc3\x9f"
		 "er\" OR \"\xff\xfe\""},
	};
	char *many = malloc(1 << 20);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char got[KB_MATCH_MAX];

		assert_int_equal(kb_words(table[i].text, got), table[i].want != NULL);
		assert_string_equal(got, table[i].want ? table[i].want : "");
	}
	/* Only the beginning of a question of a megabyte is used. */
	for (size_t i = 0; i < (1 << 20) - 1; i++)
		many[i] = i % 7 == 6 ? ' ' : (char)('a' + (i * i / 7) % 26);
	many[(1 << 20) - 1] = '\0';
	{
		char got[KB_MATCH_MAX];

		assert_true(kb_words(many, got));
		assert_true(strlen(got) < 64 * 46);
	}
	free(many);
}

static void test_text(void **state)
{
	static const char long_word[] = "abcdefghijklmnopqrstuvwxyz";
	struct arena a = {0};
	char *many = malloc(30 * 1000 + 1);
	const struct note n = {.title = "a\ttitle\x1b[31m\xe2\x80\xaered\xc2\x85",
			       .precondition = "",
			       .action = "do\xff it, so:",
			       .risk = "none.",
			       .verify = NULL};
	struct note user = {.title = "t", .action = many, .risk = "r", .verify = "v"};
	const char *text;

	/* No character that acts on a terminal or changes the direction of text. */
	assert_string_equal(kb_text(&a, &n), "a title [31m red. Do: do it, so. Risk: none.");
	/* Cut between words; a long word or character is cut inside. */
	many[0] = '\0';
	for (int i = 0; i < 1000; i++)
		strcat(many, i % 2 ? "word " : "other ");
	text = kb_text(&a, &user);
	assert_non_null(strstr(text, "word ..."));
	assert_true(strlen(text) < 450);
	assert_non_null(strstr(text, "Check: v."));
	many[0] = '\0';
	for (int i = 0; i < 100; i++)
		strcat(many, long_word);
	assert_true(strlen(kb_text(&a, &user)) < 450);
	many[0] = '\0';
	for (int i = 0; i < 39; i++)
		strcat(many, "word ");
	for (int i = 0; i < 100; i++)
		strcat(many, "\xe2\x82\xac");
	text = kb_text(&a, &user);
	assert_non_null(strstr(text, "word \xe2\x82\xac"));
	assert_non_null(strstr(text, "\xe2\x82\xac ..."));
	for (size_t at = 0, n; text[at]; at += n) {
		uint32_t cp = 0;

		n = escape_decode(text + at, strlen(text + at), &cp);
		assert_true(n > 0);
	}
	assert_true(tokens_of(text) <= 250);
	/* Every field is long: the last ones are left out. */
	user = (struct note){.title = many, .precondition = many, .action = many, .risk = many};
	text = kb_text(&a, &user);
	assert_null(strstr(text, "Do: "));
	free(many);
	arena_free(&a);
}

struct world {
	struct rule_set set;
	struct kb *kb;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct errtext err = {0};

	assert_int_equal(rule_set_load(NULL, &w->set), 0);
	if (kb_open(&w->set, NULL, NULL, NULL, &w->kb, &err))
		fail_msg("%s", err.text);
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

/* Each note of the program is sent whole, and leaves room for five others. */
static void test_own_are_short(void **state)
{
	struct world *w = *state;

	assert_true(w->kb->nr_notes >= 64);
	for (size_t i = 0; i < w->kb->nr_notes; i++) {
		const struct note *n = &w->kb->notes[i].note;
		struct arena a = {0};
		const char *text = kb_text(&a, n);

		if (tokens_of(text) > 250 || strstr(text, " ...") || !strstr(text, "When: ") ||
		    !strstr(text, "Do: ") || !strstr(text, "Check: "))
			fail_msg("%s: %zu tokens: %s", n->id, tokens_of(text), text);
		arena_free(&a);
	}
}

static size_t find(struct world *w, const struct kb_query *q, struct arena *a, struct kb_hit *hits)
{
	struct errtext err = {0};
	size_t nr = 99;

	if (kb_find(w->kb, q, a, hits, &nr, &err))
		fail_msg("%s", err.text);
	return nr;
}

static const char *const findings[] = {"prefetch-waste", "small-files",	    "no-such-finding",
				       "prefetch-waste", "cache-too-small", "small-reads",
				       "prefetch-late",	 "willneed-unused"};

/* Notes of findings in the order of the query, each once; two places for others; never more than
 * requested. */
static void test_order_and_places(void **state)
{
	struct world *w = *state;
	struct kb_query q = {findings, 8, NULL, "tar archive of samples", NULL, 6, 1500};
	struct kb_hit hits[32];
	struct arena a = {0};

	assert_int_equal(find(w, &q, &a, hits), 6);
	assert_string_equal(hits[0].note->id, "prefetch-waste");
	assert_string_equal(hits[1].note->id, "small-files");
	assert_string_equal(hits[2].note->id, "cache-too-small");
	assert_string_equal(hits[3].note->id, "small-reads");
	for (size_t i = 0; i < 8; i++)
		assert_string_not_equal(hits[4].note->id, findings[i]);
	assert_false(hits[0].of_user);
	for (q.max_notes = 0; q.max_notes < 3; q.max_notes++)
		assert_int_equal(find(w, &q, &a, hits), q.max_notes);
	/* Without findings or words there is nothing to search for. */
	q = (struct kb_query){NULL, 0, NULL, "the of 12", "", 6, 1500};
	assert_int_equal(find(w, &q, &a, hits), 0);
	arena_free(&a);
}

/* A note that does not fit whole is skipped in favour of the next that does. */
static void test_tokens(void **state)
{
	struct world *w = *state;
	struct kb_query q = {findings, 8, NULL, "readahead window", NULL, 6, 0};
	struct kb_hit hits[6];
	struct arena a = {0};
	bool passed_over = false;

	for (; q.max_tokens <= 1500; q.max_tokens += 20) {
		size_t nr = find(w, &q, &a, hits), tokens = 0;

		for (size_t i = 0; i < nr; i++)
			tokens += tokens_of(hits[i].text);
		assert_true(tokens <= q.max_tokens);
		passed_over |= nr && strcmp(hits[0].note->id, "prefetch-waste") != 0;
	}
	assert_true(passed_over);
	arena_free(&a);
}

static void test_the_same_again(void **state)
{
	struct world *w = *state;
	const struct kb_query q = {findings,	   8, NULL, "why is reading files slow",
				   "cache memory", 6, 1500};
	struct kb_hit first[6], again[6];
	struct arena a = {0};
	struct errtext err = {0};
	size_t nr = find(w, &q, &a, first);

	kb_free(w->kb);
	assert_int_equal(kb_open(&w->set, NULL, NULL, NULL, &w->kb, &err), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(find(w, &q, &a, again), nr);
		for (size_t i = 0; i < nr; i++)
			assert_string_equal(again[i].text, first[i].text);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allows),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_text),
		cmocka_unit_test_setup_teardown(test_own_are_short, begin, end),
		cmocka_unit_test_setup_teardown(test_order_and_places, begin, end),
		cmocka_unit_test_setup_teardown(test_tokens, begin, end),
		cmocka_unit_test_setup_teardown(test_the_same_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
