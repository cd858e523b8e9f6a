/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: wire access */
/* What comes from the client's process, whole, in pieces and made up; and foreign bytes made fit to
 * be shown. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "advisor/wire/frames.h"
#include "advisor/wire/transport.h"
#include "advisor/wire/wire_utf8.h"

/* All that was written into a pipe. */
static size_t drain(int fd, char *bytes, size_t size)
{
	ssize_t n = read(fd, bytes, size);

	assert_true(n > 0 && (size_t)n < size);
	return (size_t)n;
}

static void test_frames(void **state)
{
	struct frame_end end = {.outcome = LLM_ANSWERED,
				.attempts = 2,
				.has_text = 1,
				.tokens_in = 5,
				.tokens_out = -1,
				.model = "m\x1b[1m",
				.warning = "a\nb"};
	char bytes[8192];
	int fds[2];
	size_t len;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(frame_text(fds[1], "ab", 2), 0);
	assert_int_equal(frame_again(fds[1]), 0);
	assert_int_equal(frame_end(fds[1], &end, "{}", 2), 0);
	len = drain(fds[0], bytes, sizeof(bytes));
	for (size_t piece = 1; piece <= len; piece += piece < 40 ? 1 : 97) {
		struct frames f = {0};
		struct frame got;
		char seen[8] = "", *text = NULL;
		size_t text_len = 0;

		for (size_t at = 0; at < len; at += piece) {
			size_t done = 0;

			assert_int_equal(
				frames_feed(&f, bytes + at, piece < len - at ? piece : len - at),
				0);
			while (frames_next(&f, &done, &got) == 1) {
				strcat(seen, got.type == FRAME_TEXT    ? "t"
					     : got.type == FRAME_AGAIN ? "a"
								       : "e");
				if (got.type == FRAME_TEXT)
					assert_memory_equal(got.bytes, "ab", 2);
				if (got.type == FRAME_END)
					assert_int_equal(
						frame_end_take(&got, &end, &text, &text_len), 0);
			}
			frames_drop(&f, done);
		}
		assert_string_equal(seen, "tae");
		assert_string_equal(text, "{}");
		assert_int_equal(text_len, 2);
		assert_int_equal(end.attempts, 2);
		assert_string_equal(end.model, "m?[1m");
		assert_string_equal(end.warning, "a?b");
		free(text);
		frames_free(&f);
	}
	close(fds[0]);
	close(fds[1]);
}

static void test_made_up(void **state)
{
	static const uint32_t heads[][2] = {
		{0, 0},
		{4, 0},
		{FRAME_AGAIN, 1},
		{FRAME_END, 0},
		{FRAME_TEXT, ~0U},
		{FRAME_END, ~0U},
		{~0U, ~0U},
		{FRAME_END, sizeof(struct frame_end) - 1},
		{FRAME_TEXT, TRANSPORT_BODY_MAX + sizeof(struct frame_end) + 1},
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct frames f = {0};
		struct frame got;
		size_t at = 0;

		assert_int_equal(frames_feed(&f, (const char *)heads[i], 8), 0);
		if (frames_next(&f, &at, &got) != -EBADMSG)
			fail_msg("%u, %u", heads[i][0], heads[i][1]);
		frames_free(&f);
	}
}

static void test_made_up_ends(void **state)
{
	struct frame_end end, got = {.attempts = 9};
	struct frame f = {FRAME_END, (const char *)&end, sizeof(end)};
	char *text = NULL;
	size_t len = 0;

	memset(&end, 0xff, sizeof(end));
	assert_int_equal(frame_end_take(&f, &got, &text, &len), -EBADMSG);
	end.outcome = LLM_ANSWERED;
	end.has_text = 0;
	assert_int_equal(frame_end_take(&f, &got, &text, &len), -EBADMSG);
	assert_int_equal(got.attempts, 9);
	/* Texts without an end get one. */
	end.outcome = LLM_REFUSED;
	assert_int_equal(frame_end_take(&f, &got, &text, &len), 0);
	assert_null(text);
	assert_int_equal(strlen(got.reason), sizeof(got.reason) - 1);
	assert_int_equal(strspn(got.reason, "?"), sizeof(got.reason) - 1);
}

static void test_endless(void **state)
{
	static const uint32_t head[2] = {FRAME_TEXT, TRANSPORT_BODY_MAX};
	static char zeros[65536];
	struct frames f = {0};
	size_t fed = 0;
	int err = frames_feed(&f, (const char *)head, sizeof(head));

	/* Nobody takes frames out. */
	while (!err && fed < 8U * TRANSPORT_BODY_MAX) {
		err = frames_feed(&f, zeros, sizeof(zeros));
		fed += sizeof(zeros);
	}
	assert_int_equal(err, -EMSGSIZE);
	assert_true(fed < 2U * TRANSPORT_BODY_MAX);
	frames_free(&f);
}

static void test_inert(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *want;
	} cases[] = {
		{"plain", 99, "plain"},
		{"a\nb\tc\x1b[0m\x7f", 99, "a?b?c?[0m?"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x92\xbe", 99,
		 "\xc3\xa4\xe2\x82\xac\xf0\x9f\x92\xbe"},
		/* C1 controls, a turn of direction, a mark of one, a line's end, a tag. */
		{"\xc2\x9b\xe2\x80\xae\xe2\x80\x8f\xe2\x80\xa8\xf3\xa0\x80\x81", 99, "?????"},
		{"\xff\xc3(\xe2\x82\xed\xa0\x80\xc0\xaf", 99,
		 "?"
		 "?(???????"},
		{"\xc3\xa4\xc3\xa4", 3, "\xc3\xa4..."},
		{"abcdef", 3, "abc..."},
		{"abc", 3, "abc"},
		{"", 3, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char to[64];

		assert_string_equal(utf8_inert(to, sizeof(to), cases[i].text, strlen(cases[i].text),
					       cases[i].max),
				    cases[i].want);
	}
}

static void test_whole(void **state)
{
	static const struct {
		const char *text;
		size_t want;
	} cases[] = {
		{"", 0},
		{"ab", 2},
		{"a\xc3", 1},
		{"a\xc3\xa4", 3},
		{"a\xe2\x82", 1},
		{"a\xe2\x82\xac", 4},
		{"\xf0\x9f\x92", 0},
		{"\xf0\x9f\x92\xbe", 4},
		/* No characters: nothing is waited for. */
		{"\x80\x80\x80\x80", 4},
		{"\xff", 1},
		{"a\xa4", 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(utf8_whole(cases[i].text, strlen(cases[i].text)), cases[i].want);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	     cmocka_unit_test(test_made_up),
		cmocka_unit_test(test_made_up_ends), cmocka_unit_test(test_endless),
		cmocka_unit_test(test_inert),	     cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
