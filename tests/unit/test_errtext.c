/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/base/errtext.h"

static void made(void **state)
{
	struct errtext e = {""};

	(void)state;
	assert_int_equal(errtext_set(&e, -5, "cannot read %s: %d", "a\nb\x7f\x1b[1m", 7), -5);
	assert_string_equal(e.text, "cannot read a?b??[1m: 7");
	assert_int_equal(errtext_set(NULL, -7, "nobody reads this"), -7);
}

static void quotes_itself(void **state)
{
	struct errtext e = {"no permission"};

	(void)state;
	assert_int_equal(errtext_set(&e, -13, "--report: %s (%s)", e.text, e.text), -13);
	assert_string_equal(e.text, "--report: no permission (no permission)");
}

static void longest(void **state)
{
	char name[2 * sizeof(struct errtext)];
	struct errtext e = {""};

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	errtext_set(&e, 0, "%s", name);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	errtext_end_sentence(&e);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void full_stop(void **state)
{
	static const char *const rows[][2] = {
		{"", "."}, {"no run", "no run."}, {"no run.", "no run."}};
	struct errtext e = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errtext_set(&e, 0, "%s", rows[i][0]);
		errtext_end_sentence(&e);
		assert_string_equal(e.text, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made),
		cmocka_unit_test(quotes_itself),
		cmocka_unit_test(longest),
		cmocka_unit_test(full_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
