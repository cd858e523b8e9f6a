/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cachemon/plan/kallsyms.h"

static size_t find(const char *text, struct kallsym *syms, size_t nr)
{
	char path[] = "/tmp/kallsyms.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	size_t found;

	fputs(text, f);
	fclose(f);
	found = kallsyms_find(path, syms, nr);
	unlink(path);
	return found;
}

static void a_range_ends_at_the_next_address(void **state)
{
	struct kallsym syms[] = {{.name = "b"}, {.name = "d"}};

	/* Percpu symbols are listed first, at 0; aliases share an address; data is not a
	 * function. */
	assert_int_equal(find("0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T a\n"
			      "ffffffff81000100 D b\n"
			      "ffffffff81000200 T b\n"
			      "ffffffff81000200 T b_alias\n"
			      "ffffffff81000300 t c\n"
			      "ffffffff81000400 t d\n"
			      "ffffffff81000410 t e\n"
			      "ffffffffc0000000 t b\t[module]\n",
			      syms, 2),
			 2);
	assert_int_equal(syms[0].start, 0xffffffff81000200);
	assert_int_equal(syms[0].end, 0xffffffff81000300);
	assert_int_equal(syms[1].start, 0xffffffff81000400);
	assert_int_equal(syms[1].end, 0xffffffff81000410);
}

static void hidden_addresses_are_not_found(void **state)
{
	struct kallsym syms[] = {{.name = "b"}};

	assert_int_equal(
		find("0000000000000000 T a\n0000000000000000 T b\n0000000000000000 T c\n", syms, 1),
		0);
	assert_int_equal(syms[0].start, 0);
	assert_int_equal(syms[0].end, 0);
}

static void a_file_that_is_absent_or_broken(void **state)
{
	struct kallsym syms[] = {{.name = "b", .start = 1, .end = 2}};

	assert_int_equal(kallsyms_find("/nonexistent", syms, 1), 0);
	assert_int_equal(syms[0].start, 0);
	assert_int_equal(find("garbage\n\nffffffff81000200\nffffffff81000200 T\n", syms, 1), 0);
	assert_int_equal(find("ffffffff81000200 T b\n", syms, 1), 0);
	assert_int_equal(syms[0].start, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_ends_at_the_next_address),
		cmocka_unit_test(hidden_addresses_are_not_found),
		cmocka_unit_test(a_file_that_is_absent_or_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
