/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor access */
/* The front matter of a note except its title: places, findings, action; a user's note. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advisor/rules/applies.h"
#include "advisor/rules/rule.h"

#define NEEDED "---\nid: n\ntitle: t\nrisk: r\nundo: u\nverify: v\n"
#define BODY   "---\n## What to do\nDo it.\n"

static void test_keys(void **state)
{
	static const char text[] = NEEDED
		"findings: [one, two-3]\napplies_to: [fs:nfs4, kernel:>=5.3<6.1, cgroup:v2]\n"
		"precondition: it is so\naction: Do that.\nkeywords: slow share\n"
		"source: nfs(5); a paper: of 2020\n---\n## What it means\nMuch.\n";
	struct arena a = {0};
	struct errtext err = {0};
	struct note n;

	if (note_parse(&a, "f", "n", text, &n, &err))
		fail_msg("%s", err.text);
	assert_int_equal(n.findings.nr, 2);
	assert_string_equal(n.findings.id[0], "one");
	assert_string_equal(n.findings.id[1], "two-3");
	assert_string_equal(n.precondition, "it is so");
	assert_string_equal(n.action, "Do that.");
	assert_string_equal(n.keywords, "slow share");
	assert_string_equal(n.source, "nfs(5); a paper: of 2020");
	assert_string_equal(n.body, "## What it means\nMuch.\n");
	assert_int_equal(n.nr_snippets, 0);
	arena_free(&a);
}

/* The key holds the action; the section has its details and its code. */
static void test_action(void **state)
{
	static const char text[] = NEEDED "action: Short.\n" BODY "\n```sh\nls\n```\n";
	struct arena a = {0};
	struct errtext err = {0};
	struct note n;

	assert_int_equal(note_parse(&a, "f", "n", text, &n, &err), 0);
	assert_string_equal(n.action, "Short.");
	assert_int_equal(n.nr_snippets, 1);
	assert_int_equal(note_parse(&a, "f", "n", NEEDED BODY, &n, &err), 0);
	assert_string_equal(n.action, "Do it.");
	assert_int_equal(n.findings.nr, 0);
	assert_null(n.precondition);
	arena_free(&a);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *begins;
	} table[] = {
		{NEEDED "title: again\n" BODY, "f:7: a second 'title'"},
		{NEEDED "findings: [one, Two]\n" BODY, "f:7: 'Two' is not the id of a finding"},
		{NEEDED "findings: [a,,b]\n" BODY, "f:7: '' is not the id of a finding"},
		{NEEDED "\napplies_to: xfs\n" BODY,
		 "f:8: 'xfs' is not a place where a note applies; write any, or a list"},
		{NEEDED "applies_to: [fs:XFS]\n" BODY,
		 "f:7: 'fs:XFS' is not a place where a note applies; write a type as mount(8) "
		 "shows it"},
		{NEEDED "applies_to: [fs:xfs, device:disk]\n" BODY,
		 "f:7: 'device:disk' is not a place"},
		{NEEDED "applies_to: kernel:6.1\n" BODY, "f:7: 'kernel:6.1' is not a place"},
		{NEEDED "applies_to: kernel:>=\n" BODY, "f:7: 'kernel:>=' is not a place"},
		{NEEDED "applies_to: kernel:<=6.1\n" BODY, "f:7: 'kernel:<=6.1' is not a place"},
		{NEEDED "applies_to: kernel:>=6.1x\n" BODY, "f:7: 'kernel:>=6.1x' is not a place"},
		{NEEDED "applies_to: kernel:>=6.1<5.4\n" BODY,
		 "f:7: 'kernel:>=6.1<5.4' is not a place"},
		{NEEDED "applies_to: kernel:>=99999.1\n" BODY,
		 "f:7: 'kernel:>=99999.1' is not a place"},
		{NEEDED "applies_to: cgroup:v3\n" BODY, "f:7: 'cgroup:v3' is not a place"},
		{NEEDED "actoin: Do.\n" BODY, "f:7: unknown key 'actoin'; did you mean 'action'?"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct arena a = {0};
		struct errtext err = {0};
		struct note n;

		assert_int_equal(note_parse(&a, "f", "n", table[i].text, &n, &err), -EINVAL);
		if (strncmp(err.text, table[i].begins, strlen(table[i].begins)) != 0)
			fail_msg("%zu: '%s' instead of '%s'", i, err.text, table[i].begins);
		arena_free(&a);
	}
}

static struct span of(const char *text)
{
	return (struct span){text, strlen(text)};
}

static void test_terms(void **state)
{
	struct span list = of(" [fs:9p,device:ssd , kernel:>=5.4<6.1,kernel:<4, cgroup:v1] ");
	const enum applies_kind kinds[] = {APPLIES_FS, APPLIES_DEVICE, APPLIES_KERNEL,
					   APPLIES_KERNEL, APPLIES_CGROUP};
	struct applies_term t;
	const char *wrong = NULL;
	uint64_t v54 = 0, v61 = 0, v4 = 0;

	assert_true(applies_version(of("5.4"), &v54) && applies_version(of("6.1"), &v61) &&
		    applies_version(of("4"), &v4));
	for (int i = 0; i < 5; i++) {
		assert_int_equal(applies_next(&list, &t, &wrong), 1);
		assert_int_equal(t.kind, kinds[i]);
		if (i == 0)
			assert_true(span_is(t.value, "9p"));
		if (i == 2)
			assert_true(t.from == v54 && t.below == v61);
		if (i == 3)
			assert_true(t.from == 0 && t.below == v4);
	}
	assert_int_equal(applies_next(&list, &t, &wrong), 0);
	list = of("any");
	assert_int_equal(applies_next(&list, &t, &wrong), 0);
	list = of("");
	assert_int_equal(applies_next(&list, &t, &wrong), 0);
}

/* In chronological order. */
static void test_versions(void **state)
{
	static const char *const order[] = {
		"2.6.32", "4",	     "4.19.0-27-amd64", "5.4",		"5.15.0-91-generic",
		"6.1",	  "6.1.148", "6.6.1+",		"6.12.9-amd64", "6.18-rc3",
		"10.0"};
	uint64_t last = 0, version = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_true(applies_version(of(order[i]), &version));
		if (version <= last)
			fail_msg("%s is not later", order[i]);
		last = version;
	}
	assert_true(applies_version(of("6.18"), &last) &&
		    applies_version(of("6.18.0-x"), &version));
	assert_true(last == version);
	assert_false(applies_version(of(""), &version));
	assert_false(applies_version(of("linux"), &version));
	assert_false(applies_version(of("6.99999999999999999999"), &version));
}

static void test_lenient(void **state)
{
	static const struct {
		const char *text, *action; /* NULL: only the beginning of the message */
		const char *begins;
	} table[] = {
		{"---\ntitle: t\ntags: [a]\n- b\n---\n# Heading\n\nFirst\nwords.\n\nMore.\n",
		 "First words.", NULL},
		{"---\r\ntitle: t\r\nid: another\r\n---\r\nx\r\n", "x", NULL},
		{"---\ntitle: t\n---\nz\n## What to do\ny\n", "y", NULL},
		{"---\ntitle: t\naction: w\n---\n", "w", NULL},
		{"---\ntags: a\n---\nx\n", NULL, "f:1: no 'title'"},
		{"---\ntitle: t\napplies: any\n---\nx\n", NULL,
		 "f:3: unknown key 'applies'; did you"},
		{"---\ntitle: t\napplies_to: ssd\n---\nx\n", NULL, "f:3: 'ssd' is not a place"},
		{"---\ntitle: t\n---\n# Only a heading\n", NULL, "f:4: no text"},
		{"only text\n", NULL, "f:1: no front matter"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct arena a = {0};
		struct errtext err = {0};
		struct note n;
		int e = note_parse_lenient(&a, "f", "mine", table[i].text, &n, &err);

		assert_int_equal(e, table[i].action ? 0 : -EINVAL);
		if (table[i].action) {
			assert_string_equal(n.id, "mine");
			assert_string_equal(n.action, table[i].action);
		} else if (strncmp(err.text, table[i].begins, strlen(table[i].begins)) != 0) {
			fail_msg("%zu: '%s' instead of '%s'", i, err.text, table[i].begins);
		}
		arena_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),	 cmocka_unit_test(test_action),
		cmocka_unit_test(test_mistakes), cmocka_unit_test(test_terms),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_lenient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
