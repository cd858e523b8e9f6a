/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor access */
/* Shared texts in a note: where they are inserted, and the errors of a line that refers to one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advisor/rules/embedded.h"
#include "advisor/rules/rule.h"

#define HEAD "---\nid: n\ntitle: t\nrisk: r\nundo: u\nverify: v\n---\n"
#define DO   "## What to do\nDo it.\n"

static const char *text_of(const char *name)
{
	const char *have, *text;

	for (size_t i = 0; embedded_shared(i, &have, &text); i++)
		if (strcmp(have, name) == 0)
			return text;
	fail_msg("no shared text %s", name);
	return NULL;
}

static struct note parse(struct arena *a, const char *text)
{
	struct errtext err = {0};
	struct note n;

	if (note_parse(a, "f", "n", text, &n, &err))
		fail_msg("%s", err.text);
	return n;
}

static void test_prose(void **state)
{
	struct arena a = {0};
	struct note n = parse(&a, HEAD "Before.\n@severity-5-20@\n\nAfter.\n" DO);
	char *want = NULL;

	assert_true(asprintf(&want, "Before.\n%s\nAfter.\n" DO, text_of("severity-5-20")) > 0);
	assert_string_equal(n.body, want);
	free(want);
	arena_free(&a);
}

/* In the text of the note and in the code shown in a report. */
static void test_code(void **state)
{
	static const char code[] =
		"# read_ahead_kb was %KIB_>_64% during the run\n"
		"if [ -e \"$btrfs\" ]; then # it has a window of its own, above its devices\n"
		"\tcat \"${btrfs%/devices/*}/bdi/read_ahead_kb\"\n"
		"\techo 64 | sudo tee \"${btrfs%/devices/*}/bdi/read_ahead_kb\"\n"
		"else\n"
		"\tblockdev --getra \"$device\"\n"
		"\tsudo blockdev --setra 128 \"$device\"\n"
		"fi\n";
	struct arena a = {0};
	struct note n = parse(&a, HEAD DO
			      "```shell\nls\n  @set-window  sectors=128 than=> kib=64@ \r\n```\n");
	char *want = NULL;

	assert_int_equal(n.nr_snippets, 1);
	assert_true(asprintf(&want, "ls\n%s", code) > 0);
	assert_string_equal(n.snippets[0].code, want);
	free(want);
	assert_true(asprintf(&want, DO "```shell\nls\n%s```\n", code) > 0);
	assert_string_equal(n.body, want);
	free(want);
	arena_free(&a);
}

/* The first paragraph may be a shared text; a user's note needs no section. */
static void test_action(void **state)
{
	static const char want[] = "The run does not record which of these pages were read again, "
				   "so only pages that nothing else can have evicted are counted.";
	struct arena a = {0};
	struct errtext err = {0};
	struct note n = parse(&a, HEAD "## What to do\n@returned-by-exclusion@\n");

	assert_string_equal(n.action, want);
	assert_int_equal(note_parse_lenient(&a, "f", "mine",
					    "---\ntitle: t\n---\n@returned-by-exclusion@", &n,
					    &err),
			 0);
	assert_string_equal(n.action, want);
	assert_string_equal(n.body, text_of("returned-by-exclusion"));
	arena_free(&a);
}

/* Lines that are not references stay. */
static void test_other_lines(void **state)
{
#define BODY DO "@@ -1 +1 @@\n@ a @\n@@\n@\n@property\nmail@example.org@\n@1@\n@_@"
	struct arena a = {0};

	assert_string_equal(parse(&a, HEAD BODY).body, BODY);
#undef BODY
	arena_free(&a);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *want;
	} table[] = {
		{"@severity-5-2@\n" DO,
		 "f:8: no shared text 'severity-5-2'; did you mean 'severity-5-20'?"},
		{"\n@quokka@\n" DO, "f:9: no shared text 'quokka'; see prompts/README.md"},
		{"@sh\x1b[2J@\n" DO, "f:8: no shared text 'sh?[2J'; see prompts/README.md"},
		{DO "```c\n\n@quokka@\n```\n",
		 "f:12: no shared text 'quokka'; see prompts/README.md"},
		{"@set-window kib=1 than=>@\n" DO,
		 "f:8: shared text 'set-window' needs sectors=VALUE"},
		{"@set-window kib=1 sectors=2@\n" DO,
		 "f:8: shared text 'set-window' needs than=VALUE"},
		{"@set-window kib=1 sectors@\n" DO, "f:8: 'sectors' is not KEY=VALUE"},
		{"@set-window kib=1 sectors=@\n" DO, "f:8: 'sectors=' is not KEY=VALUE"},
		{"@set-window kib=1 sectors=2 than=> kb=3@\n" DO,
		 "f:8: shared text 'set-window' does not use this 'kb'; leave it out"},
		{"@set-window kib=1 sectors=2 than=> kib=3@\n" DO,
		 "f:8: shared text 'set-window' does not use this 'kib'; leave it out"},
		{"@severity-5-20 x=1@\n" DO,
		 "f:8: shared text 'severity-5-20' does not use this 'x'; leave it out"},
		{"@set-window a=1 b=2 c=3 d=4 e=5@\n" DO,
		 "f:8: more than 4 values; leave some out"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct arena a = {0};
		struct errtext err = {0};
		struct note n;
		char text[512];

		snprintf(text, sizeof(text), HEAD "%s", table[i].text);
		assert_int_equal(note_parse(&a, "f", "n", text, &n, &err), -EINVAL);
		assert_string_equal(err.text, table[i].want);
		err.text[0] = '\0';
		assert_int_equal(note_parse_lenient(&a, "f", "n", text, &n, &err), -EINVAL);
		assert_string_equal(err.text, table[i].want);
		arena_free(&a);
	}
}

/* A short note does not become long. */
static void test_many(void **state)
{
	char text[2048] = HEAD DO;
	struct arena a = {0};
	struct errtext err = {0};
	struct note n;

	for (int i = 0; i < 32; i++)
		strcat(text, "@severity-5-20@\n");
	parse(&a, text);
	strcat(text, "@severity-5-20@\n");
	assert_int_equal(note_parse(&a, "f", "n", text, &n, &err), -EINVAL);
	assert_string_equal(err.text, "f:42: more than 32 shared texts; leave some out");
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prose),	 cmocka_unit_test(test_code),
		cmocka_unit_test(test_action),	 cmocka_unit_test(test_other_lines),
		cmocka_unit_test(test_mistakes), cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
