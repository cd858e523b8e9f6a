/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access m */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/render/doc.h"

static char *shown(struct doc (*make)(FILE *out), const struct doc_flow *flow)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct doc d = make(out);

	doc_begin(&d, "flow");
	doc_put_flow(&d, flow);
	assert_int_equal(doc_end(&d), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Heights of the ends of a side, by name. */
static size_t ends(const char *page, int side, double *ret, size_t max)
{
	const char *at = page;
	size_t nr = 0;
	double x, y, width, high;
	int len;

	for (int i = 0; i <= side; i++)
		at = strstr(at + 1, "class=\"end\" d=\"");
	at += strlen("class=\"end\" d=\"");
	while (nr < max && sscanf(at, "M%lf %lfh%lfv%lfh-8z%n", &x, &y, &width, &high, &len) == 4) {
		ret[nr++] = high;
		at += len;
	}
	return nr;
}

/* An end is as high as its flows, with one scale for both sides. */
static void ends_are_as_high_as_what_goes(void **state)
{
	static const struct doc_stream streams[] = {
		{0, 0, TONE_AHEAD, 30}, {0, 1, TONE_AHEAD, 50}, {1, 1, TONE_STALL, 20}};
	const struct doc_flow flow = {.title = "t",
				      .says = "s",
				      .names = {{"a", "b"}, {"c", "d"}},
				      .nr_names = {2, 2},
				      .streams = streams,
				      .nr = 3};
	double left[3], right[3];
	char *page = shown(doc_html, &flow);

	assert_int_equal(ends(page, 0, left, 3), 2);
	assert_int_equal(ends(page, 1, right, 3), 2);
	assert_float_equal(left[0] / left[1], 80.0 / 20, 0.01);
	assert_float_equal(right[0] / right[1], 30.0 / 70, 0.01);
	assert_float_equal(left[0] + left[1], right[0] + right[1], 0.2);
	free(page);
	(void)state;
}

/* A name is cut in the middle, between characters, and is always text. */
static void names_are_text(void **state)
{
	static const struct doc_stream stream = {0, 0, TONE_OPEN, 1};
	const struct doc_flow flow = {
		.title = "t",
		.says = "s",
		.names = {{"<script>alert(1)</script>"},
			  {"/ääääääääääääääääääääääääääääääääääääääääääääääää"}},
		.nr_names = {1, 1},
		.streams = &stream,
		.nr = 1};
	char *page = shown(doc_html, &flow);

	assert_null(strstr(page, "<script>alert"));
	assert_non_null(strstr(page, "&lt;script&gt;"));
	assert_non_null(strstr(page, ">/ääääää…äääääääää<"));
	free(page);
	(void)state;
}

/* A table has the same numbers. */
static void not_in_text(void **state)
{
	static const struct doc_stream stream = {0, 0, TONE_OPEN, 1};
	const struct doc_flow flow = {.title = "who to whom",
				      .says = "s",
				      .names = {{"a"}, {"b"}},
				      .nr_names = {1, 1},
				      .streams = &stream,
				      .nr = 1};
	char *text = shown(doc_text, &flow);
	char *md = shown(doc_markdown, &flow);

	assert_null(strstr(text, "who to whom"));
	assert_null(strstr(md, "who to whom"));
	free(text);
	free(md);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_as_high_as_what_goes),
		cmocka_unit_test(names_are_text),
		cmocka_unit_test(not_in_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
