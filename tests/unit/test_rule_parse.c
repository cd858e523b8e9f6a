/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Front matters of rules and notes: their values, and the line and the words of each error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/rules/rule.h"

#define HEAD "-- id: r\n-- title: t\n-- version: 1\n-- severity: low\n"

static void test_rule(void **state)
{
	static const char text[] = "-- SPDX-License-Identifier: BSD-2-Clause\n"
				   "-- id: some-rule\n"
				   "-- title: a title\n"
				   "-- version: 3\n"
				   "-- severity: high when much,\n"
				   "--           else low\n"
				   "-- order: last\n"
				   "-- needs counters: lookups misses\n"
				   "-- needs tables: interference\n"
				   "-- needs facts: v_advice.redundant_pages\n"
				   "-- param min_pages = 4096 pages -- 16 MiB\n"
				   "-- param share = 0.25 ratio -- a quarter\n"
				   "-- param low = -2\n"
				   "\n"
				   "SELECT 1\n";
	struct arena a = {0};
	struct errtext err = {0};
	struct rule r;

	if (rule_parse(&a, "f", "some-rule", text, &r, &err))
		fail_msg("%s", err.text);
	assert_string_equal(r.title, "a title");
	assert_string_equal(r.severity, "high when much, else low");
	assert_string_equal(r.version, "3");
	assert_int_equal(r.order, ORDER_LAST);
	assert_int_equal(r.counters.nr, 2);
	assert_string_equal(r.counters.word[1], "misses");
	assert_int_equal(r.counters.line, 8);
	assert_string_equal(r.tables.word[0], "interference");
	assert_string_equal(r.facts.word[0], "v_advice.redundant_pages");
	assert_int_equal(r.nr_params, 3);
	assert_true(r.params[0].is_integer);
	assert_int_equal(r.params[0].integer, 4096);
	assert_string_equal(r.params[0].unit, "pages");
	assert_string_equal(r.params[0].why, "16 MiB");
	assert_false(r.params[1].is_integer);
	assert_true(r.params[1].real == 0.25);
	assert_int_equal(r.params[2].integer, -2);
	assert_string_equal(r.params[2].unit, "");
	assert_string_equal(r.sql, "SELECT 1\n");
	assert_int_equal(r.sql_line, 15);
	arena_free(&a);
}

static void test_thresholds_only(void **state)
{
	struct arena a = {0};
	struct errtext err = {0};
	struct rule r;

	assert_int_equal(rule_parse(&a, "f", "r", "-- id: r\n-- param x = 1\n", &r, &err), 0);
	assert_null(r.sql);
	arena_free(&a);
}

static void test_rule_mistakes(void **state)
{
	static const struct {
		const char *text, *begins;
	} table[] = {
		{"", "f:1: the id differs from the name of the file; write '-- id: r'"},
		{"-- id: other\nSELECT 1", "f:1: the id differs"},
		{"-- id: r\n", "f:1: neither a query nor a param"},
		{"-- id: r\n-- version: 1\n-- severity: x\nSELECT 1", "f:4: no 'title'"},
		{"-- id: r\n-- title: t\n-- version: 1\nSELECT 1", "f:4: no 'severity'"},
		{"-- id: r\n-- id: r\n", "f:2: a second 'id'"},
		{"-- id: r\n-- titel: t\n", "f:2: unknown key 'titel'; did you mean 'title'?"},
		{"-- id: r\nxyz", "f:2: no 'title'"},
		{"-- id: r\n-- some words\n", "f:2: unknown key 'some words'; see"},
		{HEAD "-- order: first\nSELECT 1", "f:5: order can only be 'late' or 'last'"},
		{HEAD "-- lever: long\nSELECT 1",
		 "f:5: lever can only be 'direct', 'cause' or 'symptom'"},
		{HEAD "-- needs counters: a;b\nSELECT 1", "f:5: 'a;b' is not a name"},
		{HEAD "-- needs facts: view\nSELECT 1",
		 "f:5: 'view' is not a fact; write VIEW.COLUMN"},
		{"-- id: r\n-- param x\n", "f:2: no value; write NAME = VALUE UNIT -- why"},
		{"-- id: r\n-- param x = \n", "f:2: no value"},
		{"-- id: r\n-- param x = 1e3\n", "f:2: '1e3' is not a number"},
		{"-- id: r\n-- param x = 0x10\n", "f:2: '0x10' is not a number"},
		{"-- id: r\n-- param x = 4K\n", "f:2: '4K' is not a number"},
		{"-- id: r\n-- param x = 99999999999999999999\n", "f:2: '99999999999999999999' is"},
		{"-- id: r\n-- param x = 1.2.3\n", "f:2: '1.2.3' is not a number"},
		{"-- id: r\n-- param X = 1\n", "f:2: 'X' is not a parameter name"},
		{"-- id: r\n-- param a-b = 1\n", "f:2: the name of a parameter may contain"},
		{"-- id: r\n-- param x = 1 a unit\n", "f:2: the unit 'a unit' is more than one"},
		{"-- id: r\n-- param x = 1\n-- param x = 2\n", "f:3: a second param x"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct arena a = {0};
		struct errtext err = {0};
		struct rule r;

		assert_int_equal(rule_parse(&a, "f", "r", table[i].text, &r, &err), -EINVAL);
		if (strncmp(err.text, table[i].begins, strlen(table[i].begins)) != 0)
			fail_msg("%zu: '%s' instead of '%s'", i, err.text, table[i].begins);
		arena_free(&a);
	}
}

#define NOTE "---\nid: n\ntitle: t\nrisk: some risk\nundo: take it back\nverify: look again\n---\n"

static void test_note(void **state)
{
	static const char text[] = NOTE "## What it means\nIt means.\n\n## What to do\nDo this\n"
					"and that.\n\nThen more.\n\n```c\nint x;\n\ty();\n```\n"
					"\n```sh\nls\n```\n```text\nno\n```\n```python\nz()\n```\n";
	struct arena a = {0};
	struct errtext err = {0};
	struct note n;

	if (note_parse(&a, "f", "n", text, &n, &err))
		fail_msg("%s", err.text);
	assert_string_equal(n.risk, "some risk");
	assert_string_equal(n.action, "Do this and that.");
	assert_int_equal(n.nr_snippets, 3);
	assert_string_equal(n.snippets[0].language, "c");
	assert_string_equal(n.snippets[0].code, "int x;\n\ty();\n");
	assert_string_equal(n.snippets[1].language, "shell");
	assert_string_equal(n.snippets[2].code, "z()\n");
	arena_free(&a);
}

static void test_note_mistakes(void **state)
{
	static const struct {
		const char *text, *begins;
	} table[] = {
		{"", "f:1: no front matter"},
		{"# title\n", "f:1: no front matter"},
		{"---\nid: n\n", "f:2: the front matter has no end"},
		{"---\nid: n\ntitel: t\n---\n", "f:3: unknown key 'titel'; did you mean 'title'?"},
		{"---\nid\n---\n", "f:2: no 'key: value'"},
		{"---\nid: n\ntitle: t\nundo: u\nverify: v\n---\n", "f:1: no 'risk'"},
		{"---\nid: m\ntitle: t\nrisk: r\nundo: u\nverify: v\n---\n", "f:1: the id is 'm'"},
		{NOTE "## What it means\nx\n", "f:9: no text in '## What to do'"},
		{NOTE "## What to do\nx\n```c\n", "f:10: a block of code has no end"},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule),	      cmocka_unit_test(test_thresholds_only),
		cmocka_unit_test(test_rule_mistakes), cmocka_unit_test(test_note),
		cmocka_unit_test(test_note_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
