/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm */
/* What of a model's answer is shown: statements that are kept, with what is made of them, and
 * statements that are dropped, each for its reason; the answer around them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "fixtures/llm_pack.h"

struct world {
	struct pack pack;
	struct redact *names;
	struct arena arena;
};

static struct world made(void)
{
	struct world w = {.pack = pack_made()};

	w.names = pack_names(&w.arena);
	assert_non_null(w.names);
	return w;
}

static void gone(struct world *w)
{
	redact_free(w->names);
	arena_free(&w->arena);
}

/* Kept (DROP_NR) or why not; *ret_text: what is shown. */
static enum drop_reason judged(struct world *w, const char *object, size_t len,
			       struct llm_statement *ret)
{
	enum drop_reason reason = DROP_NR;
	int kept = llm_check_statement(&w->pack, w->names, object, len, &w->arena, ret, &reason);

	assert_true(kept == 0 || kept == 1);
	assert_true(kept == (reason == DROP_NR));
	return reason;
}

static void test_kept(void **state)
{
	static const struct {
		const char *evidence, *notes, *text, *shown; /* shown NULL: as it is written */
	} table[] = {
#include "fixtures/llm_kept.h"
	};
	struct world w = made();
	size_t wrong = 0;

	assert_true(NR(table) >= 60);
	for (size_t i = 0; i < NR(table); i++) {
		const char *want = table[i].shown ? table[i].shown : table[i].text;
		char *object =
			statement_made("F1", table[i].evidence, table[i].notes, table[i].text);
		struct llm_statement s;
		enum drop_reason reason = judged(&w, object, strlen(object), &s);

		if (reason != DROP_NR) {
			print_error("'%s' is dropped: %s\n", table[i].text,
				    drop_reason_names[reason]);
			wrong++;
		} else if (strcmp(s.text, want) != 0) {
			print_error("'%s' is shown as '%s'\n", table[i].text, s.text);
			wrong++;
		} else {
			assert_true(s.nr_evidence > 0);
		}
		free(object);
	}
	assert_int_equal(wrong, 0);
	gone(&w);
}

static void test_dropped(void **state)
{
	static const struct {
		enum drop_reason reason;
		const char *evidence, *notes, *text;
	} table[] = {
#include "fixtures/llm_dropped.h"
	};
	struct world w = made();
	size_t wrong = 0;

	assert_true(NR(table) >= 150);
	for (size_t i = 0; i < NR(table); i++) {
		char *object =
			statement_made("F1", table[i].evidence, table[i].notes, table[i].text);
		struct llm_statement s;
		enum drop_reason reason = judged(&w, object, strlen(object), &s);

		if (reason != table[i].reason) {
			print_error("'%s': '%s', not '%s'\n", table[i].text,
				    reason == DROP_NR ? "kept" : drop_reason_names[reason],
				    drop_reason_names[table[i].reason]);
			wrong++;
		}
		free(object);
	}
	assert_int_equal(wrong, 0);
	gone(&w);
}

#define S(about, text, evidence, notes, action, confidence)                                        \
	"{\"about\": " about ", \"text\": " text ", \"evidence\": " evidence ", \"notes\": " notes \
	", \"action\": " action ", \"confidence\": " confidence "}"
#define GOOD S("\"F1\"", "\"It waits.\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")

static const struct {
	enum drop_reason reason;
	const char *object;
} objects_table[] = {
	{DROP_NR, GOOD},
	{DROP_NR,
	 S("\"job\"", "\"It waits.\"", "[\"E1\", \"E1\"]", "[\"N2\"]", "\"A1\"", "\"high\"")},
	{DROP_SHAPE, ""},
	{DROP_SHAPE, "x"},
	{DROP_SHAPE, "[]"},
	{DROP_SHAPE, "{}"},
	{DROP_SHAPE, "{\"about\": \"F1\"}"},
	{DROP_SHAPE, GOOD "x"},
	{DROP_SHAPE, GOOD GOOD},
	{DROP_SHAPE, S("1", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("null", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "[\"x\"]", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "\"E1\"", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "[1]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "[[\"E1\"]]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "{\"E1\": 1}", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "[\"E1\"]", "null", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "null", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "0.9")},
	{DROP_SHAPE, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"certain\"")},
	/* A key too many; one twice, where readers differ in which they take. */
	{DROP_SHAPE,
	 S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\", \"severity\": \"low\"")},
	{DROP_SHAPE,
	 S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\", \"text\": \"y\"")},
	{DROP_SHAPE,
	 S("\"F1\", \"about\": \"F2\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"\\ud800\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_CHARACTERS,
	 S("\"F1\"", "\"It waits.\\u0000rest\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_CHARACTERS,
	 S("\"F1\"", "\"It waits.\"", "[\"E1\\u0000\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_MARKUP,
	 S("\"F1\"", "\"It \\\\u0000 waits.\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_MARKUP, S("\"F1\"", "\"\\u003cb\\u003e\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F9\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID,
	 S("\"prefetch-waste\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"f1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1 \"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\", \"E99\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"F1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E01\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"hit_ratio\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\"]", "[\"N9\"]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\"]", "[\"E1\"]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"A9\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"\"", "\"low\"")},
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"reboot the node\"", "\"low\"")},
	/* An action of a user's notes is none of ours, whatever was sent. */
	{DROP_UNKNOWN_ID, S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"A2\"", "\"low\"")},
};

static void test_objects(void **state)
{
	struct world w = made();

	for (size_t i = 0; i < NR(objects_table); i++) {
		struct llm_statement s;
		enum drop_reason reason =
			judged(&w, objects_table[i].object, strlen(objects_table[i].object), &s);

		if (reason != objects_table[i].reason)
			fail_msg("%zu: %s: %s, not %s", i, objects_table[i].object,
				 reason == DROP_NR ? "kept" : drop_reason_names[reason],
				 objects_table[i].reason == DROP_NR
					 ? "kept"
					 : drop_reason_names[objects_table[i].reason]);
	}
	gone(&w);
}

/* A NUL that is in the answer itself. */
static void test_nul_byte(void **state)
{
	static const char object[] =
		S("\"F1\"", "\"It waits.\0 Not.\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"");
	struct world w = made();
	struct llm_statement s;

	assert_int_equal(judged(&w, object, sizeof(object) - 1, &s), DROP_CHARACTERS);
	gone(&w);
}

static void test_lengths(void **state)
{
	struct world w = made();
	char text[STATEMENT_MAX + 2] = "";
	struct llm_statement s;

	for (size_t len = STATEMENT_MAX - 1; len <= STATEMENT_MAX + 1; len++) {
		char *object;

		for (size_t i = 0; i < len; i++)
			text[i] = i % 7 == 6 ? ' ' : 'a';
		text[len - 1] = '.';
		text[len] = '\0';
		object = statement_made("F1", "\"E1\"", "", text);
		assert_int_equal(judged(&w, object, strlen(object), &s),
				 len > STATEMENT_MAX ? DROP_LENGTH : DROP_NR);
		free(object);
	}
	gone(&w);
}

/* What is cited: the list and the placeholders, each once; at least one that was measured. */
static void test_cited(void **state)
{
	struct world w = made();
	struct llm_statement s;
	char *object = statement_made("F1", "\"E2\", \"E1\", \"E2\"", "\"N1\", \"N1\"",
				      "Of {E3}, {E1} hit the cache; see E4 and {E3}.");

	assert_int_equal(judged(&w, object, strlen(object), &s), DROP_NR);
	assert_int_equal(s.nr_evidence, 4);
	assert_string_equal(s.evidence[0]->key, "E2");
	assert_string_equal(s.evidence[1]->key, "E1");
	assert_string_equal(s.evidence[2]->key, "E3");
	assert_string_equal(s.evidence[3]->key, "E4");
	assert_int_equal(s.nr_notes, 1);
	assert_string_equal(s.about->id, "prefetch-waste");
	assert_null(s.action);
	assert_int_equal(s.confidence, LLM_HIGH);
	free(object);
	gone(&w);
}

/* Levels are those of the finding that it is about. */
static void test_severity(void **state)
{
	static const struct {
		const char *about, *text;
		bool kept;
	} table[] = {
		{"F1", "This has high severity.", true},
		{"F1", "Its severity is high.", true},
		{"F1", "This has low severity.", false},
		{"F1", "Severity: medium, as it waits.", false},
		{"F1", "The severity should be lowered to info.", false},
		{"F3", "This has medium severity.", true},
		{"F3", "This has high severity.", false},
		{"F4", "Low priority.", true},
		{"F4", "Top priority.", false},
		{"F4", "This is critical.", false},
		{"F4", "A severe problem.", false},
		{"job", "The severity is high.", false},
		{"job", "Readahead is high and memory is low.", true},
		{"F1", "This can be ignored.", false},
		{"F1", "It is a false positive.", false},
		{"F1", "Nothing is wrong here.", false},
		{"F5", "Nothing is wrong here.", true},
		{"job", "Nothing is wrong here.", false},
		{"F1", "The kernel ignored the advice.", true},
		{"F2", "This is harmless.", false},
		{"F5", "This is harmless.", false},
	};
	struct world w = made();

	for (size_t i = 0; i < NR(table); i++) {
		char *object = statement_made(table[i].about, "\"E1\"", "", table[i].text);
		struct llm_statement s;

		if (judged(&w, object, strlen(object), &s) !=
		    (table[i].kept ? DROP_NR : DROP_SEVERITY))
			fail_msg("%s: '%s'", table[i].about, table[i].text);
		free(object);
	}
	gone(&w);
}

static void check_answer(struct world *w, const char *reply, size_t statements, const char *ranking)
{
	struct llm_checked c;
	struct errtext err = {""};
	char got[128] = "";

	if (llm_check(&w->pack, w->names, reply, strlen(reply), &c, &err))
		fail_msg("%s: %s", reply, err.text);
	for (size_t i = 0; i < c.nr_ranking; i++)
		sprintf(got + strlen(got), "%s%s", i ? " " : "", c.ranking[i]->key);
	assert_int_equal(c.nr_statements, statements);
	assert_string_equal(got, ranking);
	llm_checked_free(&c);
}

#define ANSWER(ranking) "{\"answered\": true, \"statements\": [" GOOD "], \"ranking\": " ranking "}"

static void test_ranking(void **state)
{
	static const struct {
		const char *ranking, *want;
	} table[] = {
		{"[]", "F1 F2 F3 F4 F5"},
		{"[\"F2\", \"F1\"]", "F2 F1 F3 F4 F5"},
		{"[\"F5\", \"F4\", \"F3\", \"F2\", \"F1\"]", "F2 F1 F3 F4 F5"},
		{"[\"F2\"]", "F2 F1 F3 F4 F5"},
		{"[\"F2\", \"F2\", \"F9\", \"x\", 7, null, [\"F1\"], \"F1\"]", "F2 F1 F3 F4 F5"},
		{"\"F2\"", "F1 F2 F3 F4 F5"},
		{"{\"a\": \"F2\"}", "F1 F2 F3 F4 F5"},
		{"null", "F1 F2 F3 F4 F5"},
	};
	struct world w = made();

	for (size_t i = 0; i < NR(table); i++) {
		char reply[1024];

		snprintf(reply, sizeof(reply),
			 "{\"answered\": true, \"statements\": [" GOOD "], \"ranking\": %s}",
			 table[i].ranking);
		check_answer(&w, reply, 1, table[i].want);
	}
	gone(&w);
}

/* The object among whatever else a model writes. */
static void test_around(void **state)
{
	static const char *const table[] = {
		ANSWER("[\"F2\"]"),
		"\n\n  " ANSWER("[\"F2\"]") "\n",
		"```json\n" ANSWER("[\"F2\"]") "\n```\n",
		"Here is the answer: " ANSWER("[\"F2\"]") " I hope that it helps {you}.",
		"<think>\nWhat of {\"statements\": []}? No.</think>\n" ANSWER("[\"F2\"]"),
		"<think>{{{ \" </think>" ANSWER("[\"F2\"]"),
		"Some {braces}, {\"a\": 1} and {\"b\": [1, {\"c\": null}]} first: " ANSWER(
			"[\"F2\"]"),
		"{\"statements\": 5} " ANSWER("[\"F2\"]"),
		"{" ANSWER("[\"F2\"]"),
		"{ {" ANSWER("[\"F2\"]"),
		"{\"result\": " ANSWER("[\"F2\"]") "}",
		"[" ANSWER("[\"F2\"]") "]",
		ANSWER("[\"F2\"]") ANSWER("[\"F1\"]"),
		ANSWER("[\"F2\"], \"summary\": {\"x\": [1]}"),
		"{\"ranking\": [\"F2\"], \"x\": \"{\\\"\", \"statements\": [" GOOD "], \"y\": {}}",
		"{\"a\": {\"statements\": [" GOOD "], \"ranking\": [\"F2\"]}, \"z\": 1}",
	};
	struct world w = made();

	for (size_t i = 0; i < NR(table); i++)
		check_answer(&w, table[i], 1, "F2 F1 F3 F4 F5");
	gone(&w);
}

static void test_no_answer(void **state)
{
	static const char *const table[] = {
		"",
		"I cannot help with that.",
		"{}",
		"{\"statements\": {}}",
		"{\"statements\": 1}",
		"\"statements\": []",
		"{\"Statements\": []}",
		"{\"state\\u006dents\": []}",
		"{\"statements\": [",
		"{\"statements\": [" GOOD,
		"{\"statements\": [" GOOD "]",
		"{\"statements\": [" GOOD ",]}",
		"{\"statements\": [" GOOD "] \"x\": 1}",
		"{\"statements\": [" GOOD "}",
		"{\"statements\": [" GOOD "]]",
		"{\"statements\": [], \"statements\": [" GOOD "]}",
		"{\"statements\": [], \"ranking\": [], \"ranking\": [\"F2\"]}",
		"{\"statements\": [], \"x\": 01x}",
		"{\"statements\": [tru]}",
		"<think>{\"statements\": [" GOOD "]}",
		"{'statements': []}",
		"{\"answered\": true, \"statements\": [{\"about\": \"F1\", \"te",
	};
	struct world w = made();

	for (size_t i = 0; i < NR(table); i++) {
		struct errtext err = {""};
		struct llm_checked c = {.nr_statements = 77};

		if (llm_check(&w.pack, w.names, table[i], strlen(table[i]), &c, &err) != -EBADMSG)
			fail_msg("'%s' is an answer", table[i]);
		assert_true(*err.text);
		assert_int_equal(c.nr_statements, 77);
	}
	gone(&w);
}

static void test_counts(void **state)
{
	static const char reply[] = "{\"answered\": false, \"statements\": [" GOOD
				    ", 1, \"x\", null, [" GOOD "], {}, " GOOD "], \"ranking\": []}";
	struct world w = made();
	struct llm_checked c;

	assert_int_equal(llm_check(&w.pack, w.names, reply, strlen(reply), &c, NULL), 0);
	assert_false(c.answered);
	assert_int_equal(c.nr_statements, 2);
	assert_int_equal(c.dropped[DROP_SHAPE], 5);
	llm_checked_free(&c);
	/* Without aliases, one is markup. */
	assert_int_equal(llm_check(&w.pack, NULL, reply, strlen(reply), &c, NULL), 0);
	assert_int_equal(c.nr_statements, 2);
	llm_checked_free(&c);
	gone(&w);
}

static void test_too_many(void **state)
{
	enum { MORE = 9 };
	struct world w = made();
	struct llm_checked c;
	char *reply = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&reply, &len);

	fputs("{\"answered\": true, \"statements\": [", out);
	for (int i = 0; i < STATEMENTS_MAX + MORE; i++)
		fprintf(out, "%s%s", i ? "," : "", GOOD);
	fputs("], \"ranking\": []}", out);
	fclose(out);
	assert_int_equal(llm_check(&w.pack, w.names, reply, len, &c, NULL), 0);
	assert_int_equal(c.nr_statements, STATEMENTS_MAX);
	assert_int_equal(c.dropped[DROP_TOO_MANY], MORE);
	llm_checked_free(&c);
	free(reply);
	gone(&w);
}

/* Answers that are large or deep end, and soon. */
static void test_large(void **state)
{
	static const char *const units[] = {"{",   "[",	 "{\"a\":", "{\"statements\":[",
					    "{},", "\"", "\\"};
	enum { SIZE = 5 << 20 };
	struct world w = made();
	char *reply = malloc(SIZE);

	for (size_t u = 0; u < NR(units); u++) {
		struct llm_checked c;

		for (size_t i = 0; i < SIZE; i++)
			reply[i] = units[u][i % strlen(units[u])];
		assert_int_equal(llm_check(&w.pack, w.names, reply, SIZE, &c, NULL), -EBADMSG);
		assert_int_equal(llm_check(&w.pack, w.names, reply, 4 << 20, &c, NULL), -EBADMSG);
	}
	free(reply);
	gone(&w);
}

/* Each key beside each other one would be minutes. */
static void test_many_keys(void **state)
{
	enum { KEYS = 250000, SECONDS = 20 };
	struct world w = made();
	struct llm_checked c;
	char *reply = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&reply, &len);
	time_t begin = time(NULL);

	fputs("{\"statements\": []", out);
	for (int i = 0; i < KEYS; i++)
		fprintf(out, ",\"k%d\":1", i);
	fputs("}", out);
	fclose(out);
	assert_int_equal(llm_check(&w.pack, w.names, reply, len, &c, NULL), -EBADMSG);
	assert_true(time(NULL) - begin < SECONDS);
	free(reply);
	gone(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),	 cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_objects),	 cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_lengths),	 cmocka_unit_test(test_cited),
		cmocka_unit_test(test_severity), cmocka_unit_test(test_ranking),
		cmocka_unit_test(test_around),	 cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_counts),	 cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_large),	 cmocka_unit_test(test_many_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
