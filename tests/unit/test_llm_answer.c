/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm */
/* The parts of an answer around its statements: found among other text, ranked, counted and
 * bounded, or rejected. */
#include <errno.h>
#include <time.h>

#include "fixtures/llm_world.h"

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

/* The object is found among any other text that a model writes. */
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
		"{\"state\\u006dents\": [" GOOD "], \"ranking\": [\"F2\"]}",
		"  <think><</</think</think>" ANSWER("[\"F2\"]"),
		"<thin" ANSWER("[\"F2\"]"),
		"{x} {\"y\"} " ANSWER("[\"F2\"]"),
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
		"{\"statements\": [], \"state\\u006dents\": [" GOOD "]}",
		"{\"x\": \"statements\", \"y\": [" GOOD "]}",
		"{\"statements\": [" GOOD " " GOOD "]}",
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
	/* Without aliases it is markup. */
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

/* Answers that are large or deeply nested end soon. */
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

/* The result for an answer with that many keys. */
static int with_keys(const struct world *w, int keys)
{
	struct llm_checked c = {0};
	char *reply = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&reply, &len);
	int ret;

	fputs("{\"statements\": []", out);
	for (int i = 1; i < keys; i++)
		fprintf(out, ",\"k%d\":1", i);
	fputs("}", out);
	fclose(out);
	ret = llm_check(&w->pack, w->names, reply, len, &c, NULL);
	if (!ret)
		llm_checked_free(&c);
	free(reply);
	return ret;
}

/* Comparing each key with every other one would take minutes. */
static void test_many_keys(void **state)
{
	enum { KEYS = 250000, SECONDS = 20 };
	struct world w = made();
	time_t begin = time(NULL);

	assert_int_equal(with_keys(&w, KEYS), -EBADMSG);
	assert_true(time(NULL) - begin < SECONDS);
	assert_int_equal(with_keys(&w, 64), 0);
	assert_int_equal(with_keys(&w, 65), -EBADMSG);
	gone(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranking),	  cmocka_unit_test(test_around),
		cmocka_unit_test(test_no_answer), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_too_many),  cmocka_unit_test(test_large),
		cmocka_unit_test(test_many_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
