/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm */
/* Statements out of an answer that comes in pieces: the same ones however it is cut, and those that
 * the whole answer has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fixtures/chance.h"
#include "fixtures/llm_pack.h"

/* All statements, each in a line. */
struct seen {
	char text[16384];
	size_t len, nr;
};

static void take(void *arg, const char *object, size_t len)
{
	struct seen *s = arg;

	assert_true(s->len + len + 2 < sizeof(s->text));
	memcpy(s->text + s->len, object, len);
	s->len += len;
	s->text[s->len++] = '\n';
	s->text[s->len] = '\0';
	s->nr++;
}

static void feed(struct llm_split *s, const char *piece, size_t len, struct seen *seen)
{
	assert_int_equal(llm_split_feed(s, piece, len, take, seen), 0);
}

static const struct {
	const char *reply, *seen;
} table[] = {
	{"", ""},
	{"{\"statements\": []}", ""},
	{"{\"statements\": [{}]}", "{}\n"},
	{"{\"statements\": [{\"a\": \"}\"}, {\"b\": [{}]}]}", "{\"a\": \"}\"}\n{\"b\": [{}]}\n"},
	{"{\"statements\": [{\"a\": \"\\\"}\"}]}", "{\"a\": \"\\\"}\"}\n"},
	{"{\"statements\": [{\"a\": \"\\\\\"}]}", "{\"a\": \"\\\\\"}\n"},
	{"{\"statements\": [{\"statements\": [{\"a\": 1}]}]}", "{\"statements\": [{\"a\": 1}]}\n"},
	{"{\"ranking\": [{\"a\": 1}], \"statements\": [{\"b\": 2}]}", "{\"b\": 2}\n"},
	{"{\"statements\": [{\"b\": 2}], \"ranking\": [{\"a\": 1}], \"x\": {}}", "{\"b\": 2}\n"},
	{"{\"x\": \"statements\", \"y\": [{}]}", ""},
	{"{\"x\": {\"statements\": [{\"b\": 2}]}}", "{\"b\": 2}\n"},
	{"{\"statements\": {\"a\": [{}]}}", ""},
	{"{\"statements\": [{\"a\": 1} {\"b\": 2}]}", "{\"a\": 1}\n"},
	{"{\"statements\": [{\"a\": 1}, {\"b\":", "{\"a\": 1}\n"},
	{"{\"statements\": [1, \"{}\", [{}], null, {\"a\": 1}]}", "{\"a\": 1}\n"},
	{"```json\n{\"statements\": [{\"a\": 1}]}\n```", "{\"a\": 1}\n"},
	{"<think>{\"statements\": [{\"a\": 1}]}</think>{\"statements\": [{\"b\": 2}]}",
	 "{\"b\": 2}\n"},
	{"  <think><</</think</think>{\"statements\": [{\"b\": 2}]}", "{\"b\": 2}\n"},
	{"<thin{\"statements\": [{\"b\": 2}]}", "{\"b\": 2}\n"},
	{"<think>", ""},
	{"{{\"statements\": [{\"b\": 2}]}", "{\"b\": 2}\n"},
	{"{x} {\"y\"} {\"statements\": [{\"b\": 2}]}", "{\"b\": 2}\n"},
	{"{\"statements\": [{\"a\": 1}]} {\"statements\": [{\"b\": 2}]}", "{\"a\": 1}\n"},
	{"{\"statements\": [{\"a\": \"\xc3\xa9\xe2\x80\x9c\"}]}",
	 "{\"a\": \"\xc3\xa9\xe2\x80\x9c\"}\n"},
};

/* In one piece, byte by byte, and cut in two everywhere. */
static void test_cuts(void **state)
{
	for (size_t i = 0; i < NR(table); i++) {
		const char *reply = table[i].reply;

		for (size_t cut = 0; cut <= strlen(reply); cut++) {
			struct llm_split *two = llm_split_new(), *bytes = llm_split_new();
			struct seen a = {{0}, 0, 0}, b = {{0}, 0, 0};

			feed(two, reply, cut, &a);
			feed(two, reply + cut, strlen(reply) - cut, &a);
			for (size_t at = 0; reply[at]; at++)
				feed(bytes, reply + at, 1, &b);
			if (strcmp(a.text, table[i].seen) != 0 || strcmp(b.text, a.text) != 0)
				fail_msg("'%s' cut at %zu: '%s'", reply, cut, a.text);
			llm_split_free(two);
			llm_split_free(bytes);
		}
	}
}

/* A statement is told when its last sign has come, not later. */
static void test_soon(void **state)
{
	static const char reply[] = "{\"statements\": [{\"a\": {}}, {}";
	struct llm_split *s = llm_split_new();
	struct seen seen = {{0}, 0, 0};

	for (size_t at = 0; reply[at]; at++) {
		feed(s, reply + at, 1, &seen);
		assert_int_equal(seen.nr, at + 1 < 25 ? 0 : at + 1 < sizeof(reply) - 1 ? 1 : 2);
	}
	llm_split_free(s);
}

/* Any pieces that an answer may be made of, in any order: what is seen on the way is what the whole
 * answer has. */
static const char *const parts[] = {
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\"",
	"\\",
	" ",
	"\n",
	"\"a\": 1",
	"1",
	"null",
	"<think>",
	"</think>",
	"```",
	"{}",
	"\"statements\"",
	"\"statements\": [",
	"{\"statements\": [",
	"]}",
	"\"ranking\": []",
	"x",
	"{\"about\": \"job\", \"text\": \"It waits.\", \"evidence\": [\"E1\"], \"notes\": [], "
	"\"action\": \"none\", \"confidence\": \"low\"}",
};

static void check_whole(const struct pack *pack, const char *reply, size_t len, size_t *whole)
{
	struct llm_split *s = llm_split_new();
	struct seen seen = {{0}, 0, 0};
	struct llm_checked c;
	size_t kept = 0;
	const char *object = seen.text;
	struct arena a = {0};

	feed(s, reply, len, &seen);
	llm_split_free(s);
	if (llm_check(pack, NULL, reply, len, &c, NULL))
		return;
	for (size_t i = 0; i < seen.nr; i++) {
		const char *end = strchr(object, '\n');
		enum drop_reason reason;
		struct llm_statement one;

		/* A statement may hold line ends; then it is looked at by the fuzzer only. */
		kept += llm_check_statement(pack, NULL, object, (size_t)(end - object), &a, &one,
					    &reason) == 1;
		object = end + 1;
	}
	assert_int_equal(kept, c.nr_statements);
	*whole += c.nr_statements > 0;
	arena_free(&a);
	llm_checked_free(&c);
}

static void test_any_answer(void **state)
{
	struct pack pack = pack_made();
	uint64_t seed = 5;
	size_t whole = 0;

	for (int round = 0; round < 200000; round++) {
		char reply[4096] = "";
		size_t len = 0;

		if (round % 2)
			len = (size_t)sprintf(reply, "{\"statements\": [");
		for (size_t n = next(&seed) % 9; n > 0; n--)
			len += (size_t)sprintf(reply + len, "%s", parts[next(&seed) % NR(parts)]);
		if (next(&seed) % 2)
			len += (size_t)sprintf(reply + len, "]}");
		check_whole(&pack, reply, len, &whole);
	}
	assert_true(whole > 500);
}

static void test_limits(void **state)
{
	enum { MAX = 4 << 20 };
	char *much = calloc(1, MAX);
	struct llm_split *s = llm_split_new();
	struct seen seen = {{0}, 0, 0};

	memset(much, ' ', MAX);
	assert_int_equal(llm_split_feed(s, much, MAX, take, &seen), 0);
	assert_int_equal(llm_split_feed(s, " ", 1, take, &seen), -EFBIG);
	llm_split_free(s);
	llm_split_free(NULL);
	free(much);
}

static void count(void *arg, const char *object, size_t len)
{
	*(size_t *)arg = len;
}

/* A statement without end takes no memory without end. */
static void test_long_statement(void **state)
{
	static const char begin[] = "{\"statements\": [{\"text\": \"";
	struct llm_split *s = llm_split_new();
	size_t len = 0;

	assert_int_equal(llm_split_feed(s, begin, sizeof(begin) - 1, count, &len), 0);
	for (int i = 0; i < 1 << 20; i++)
		assert_int_equal(llm_split_feed(s, "ab", 2, count, &len), 0);
	assert_int_equal(llm_split_feed(s, "\"}", 2, count, &len), 0);
	assert_int_equal(len, 64 * 1024);
	llm_split_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),	       cmocka_unit_test(test_soon),
		cmocka_unit_test(test_any_answer),     cmocka_unit_test(test_limits),
		cmocka_unit_test(test_long_statement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
