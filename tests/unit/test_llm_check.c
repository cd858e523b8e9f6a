/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm */
/* Which part of a model's answer is shown: statements that are kept, with their final text, and
 * statements that are dropped, each with its reason. */
#include "fixtures/llm_world.h"

/* DROP_NR: kept, else the reason; *ret_text: the text shown. */
static enum drop_reason judged(struct world *w, const char *object, size_t len,
			       struct llm_statement *ret)
{
	enum drop_reason reason;

	llm_checked_free(&w->said);
	reason = statement_judged(&w->pack, w->names, object, len, &w->said);
	if (reason == DROP_NR)
		*ret = w->said.statements[0];
	return reason;
}

static void test_kept(void **state)
{
	static const struct {
		const char *evidence, *notes, *text, *shown; /* shown NULL: as written */
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
				    drop_reasons[reason].name);
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

	assert_true(NR(table) >= 380);
	for (size_t i = 0; i < NR(table); i++) {
		char *object =
			statement_made("F1", table[i].evidence, table[i].notes, table[i].text);
		struct llm_statement s;
		enum drop_reason reason = judged(&w, object, strlen(object), &s);

		if (reason != table[i].reason) {
			print_error("'%s': '%s', not '%s'\n", table[i].text,
				    reason == DROP_NR ? "kept" : drop_reasons[reason].name,
				    drop_reasons[table[i].reason].name);
			wrong++;
		}
		free(object);
	}
	assert_int_equal(wrong, 0);
	gone(&w);
}

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
	/* An unknown key; a key twice, of which readers take different ones. */
	{DROP_SHAPE,
	 S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\", \"severity\": \"low\"")},
	{DROP_SHAPE,
	 S("\"F1\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\", \"text\": \"y\"")},
	{DROP_SHAPE,
	 S("\"F1\", \"about\": \"F2\"", "\"x\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_SHAPE, S("\"F1\"", "\"\\ud800\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_CHARACTERS,
	 S("\"F1\"", "\"It waits.\\u0000rest\"", "[\"E1\"]", "[]", "\"none\"", "\"low\"")},
	{DROP_UNKNOWN_ID,
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
	/* Actions in a user's notes are not actions of the program, whatever was sent. */
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
				 reason == DROP_NR ? "kept" : drop_reasons[reason].name,
				 objects_table[i].reason == DROP_NR
					 ? "kept"
					 : drop_reasons[objects_table[i].reason].name);
	}
	gone(&w);
}

/* A NUL byte in the answer itself. */
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

/* The citations: the list and the placeholders, each once, with at least one measured value. */
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

/* The levels must be those of the finding that the statement is about. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),	 cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_objects),	 cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_lengths),	 cmocka_unit_test(test_cited),
		cmocka_unit_test(test_severity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
