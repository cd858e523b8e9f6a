/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: http access */
/* Server-sent events: what events are in a stream, however its bytes are cut. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/llm/http/sse.h"

/* Events as they came, each between bars. */
struct seen {
	char text[4096];
	unsigned int nr;
	int stop_with; /* what the second event gives back */
};

static int see(void *arg, const char *data, size_t len)
{
	struct seen *s = arg;

	assert_int_equal(strlen(data), len);
	strcat(strcat(s->text, "|"), data);
	return ++s->nr == 2 ? s->stop_with : 0;
}

static void expect_cut(const char *stream, const char *want, size_t piece)
{
	struct sse sse = {0};
	struct seen seen = {0};
	size_t len = strlen(stream);

	for (size_t at = 0; at < len; at += piece) {
		size_t n = piece < len - at ? piece : len - at;
		/* A copy of its own: reading past the piece is seen by the sanitizer. */
		char *copy = malloc(n);

		memcpy(copy, stream + at, n);
		assert_int_equal(sse_feed(&sse, copy, n, see, &seen), 0);
		free(copy);
	}
	sse_free(&sse);
	if (strcmp(seen.text, want) != 0)
		fail_msg("%s in pieces of %zu: %s, not %s", stream, piece, seen.text, want);
}

static void test_events(void **state)
{
	static const struct {
		const char *stream, *want;
	} cases[] = {
		{"data: a\n\ndata: b\n\n", "|a|b"},
		{"data: a\r\n\r\ndata: b\r\n\r\n", "|a|b"},
		{"data: a\r\rdata: b\r\r", "|a|b"},
		{"data: a\r\n\ndata: b\n\r\n", "|a|b"},
		{"data:a\n\n", "|a"},
		{"data:  a\n\n", "| a"},
		{"data: a\ndata: b\n\n", "|a\nb"},
		{"data\n\n", "|"},
		{"data:\n\n", "|"},
		{"data\ndata\n\n", "|\n"},
		{": a comment\ndata: a\n: another\n\n", "|a"},
		{":\n\n:\n\n", ""},
		{"\n\n\n", ""},
		{"event: ping\nid: 3\nretry: 10\n\n", ""},
		{"event: x\ndata: a\n\n", "|a"},
		{"datax: a\n\n", ""},
		{"dat: a\n\n", ""},
		{" data: a\n\n", ""},
		{"data: a: b\n\n", "|a: b"},
		{"\xef\xbb\xbf"
		 "data: a\n\n",
		 "|a"},
		{"data: a\n\n\xef\xbb\xbf"
		 "data: b\n\n",
		 "|a"},
		{"data: \xc3\xa4\xe2\x82\xac\xf0\x9f\x92\xbe\n\n",
		 "|\xc3\xa4\xe2\x82\xac\xf0\x9f\x92\xbe"},
		/* What no blank line ends has not come whole. */
		{"data: a\n\ndata: b\n", "|a"},
		{"data: a\n\ndata: b", "|a"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece <= strlen(cases[i].stream) + 1; piece++)
			expect_cut(cases[i].stream, cases[i].want, piece);
}

static void test_stop(void **state)
{
	static const char stream[] = "data: a\n\ndata: b\n\ndata: c\n\n";
	struct sse sse = {0};
	struct seen seen = {.stop_with = -EBADMSG};

	assert_int_equal(sse_feed(&sse, stream, strlen(stream), see, &seen), -EBADMSG);
	assert_string_equal(seen.text, "|a|b");
	sse_free(&sse);
}

static int count(void *arg, const char *data, size_t len)
{
	*(size_t *)arg += len;
	return 0;
}

/* The longest event passes, one that is a byte longer does not: in one line, and in many. */
static void test_size(void **state)
{
	for (size_t over = 0; over < 2; over++) {
		struct sse sse = {0};
		size_t room = SSE_EVENT_MAX - strlen("data:") + over, sum = 0;
		char *line = malloc(SSE_EVENT_MAX + 8);
		int err;

		memcpy(line, "data:", 5);
		memset(line + 5, 'x', room);
		memcpy(line + 5 + room, "\n\n", 2);
		err = sse_feed(&sse, line, room + 7, count, &sum);
		assert_int_equal(err, over ? -EMSGSIZE : 0);
		assert_int_equal(sum, over ? 0 : room);
		free(line);
		sse_free(&sse);
	}
}

static void test_many_lines(void **state)
{
	struct sse sse = {0};
	char line[1024];
	size_t sum = 0, lines = 0;
	int err = 0;

	memcpy(line, "data:", 5);
	memset(line + 5, 'x', sizeof(line) - 6);
	line[sizeof(line) - 1] = '\n';
	while (!err && lines < SSE_EVENT_MAX) {
		err = sse_feed(&sse, line, sizeof(line), count, &sum);
		lines++;
	}
	assert_int_equal(err, -EMSGSIZE);
	/* Of each line "data:" and the line's end are taken off, and one newline put between. */
	assert_int_equal(lines, SSE_EVENT_MAX / (sizeof(line) - 5) + 1);
	assert_int_equal(sum, 0);
	sse_free(&sse);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_many_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
