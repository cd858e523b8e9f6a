/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* The sums of a job as a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/daemon/node_totals.h"

static void expect(const char *answer, const char *line, bool ended, int64_t duration_ns)
{
	struct node_totals got;

	memset(&got, 0x5a, sizeof(got));
	got.ended = !ended;
	if (node_totals_parse(answer, &got))
		fail_msg("refused: %s", answer);
	assert_string_equal(got.line, line);
	assert_int_equal(got.ended, ended);
	assert_int_equal(got.duration_ns, duration_ns);
}

#define NUMBERS                                                                                    \
	"\"hits\":915,\"misses\":85,\"lookups\":1000,\"read_calls\":70,\"read_bytes\":4194304,"    \
	"\"stall_ns\":1500000000,\"duration_ns\":12000000000,\"page_size_bytes\":4096}"

static void test_lines(void **state)
{
	expect("{\"run\":1,\"state\":\"complete\"," NUMBERS,
	       "read 4.00 MiB; 91.5 % of 1,000 page lookups hit the page cache, 85 missed "
	       "(340 KiB); its tasks waited 1.50 s for it in 12.0 s",
	       true, 12000000000);
	expect("{\"run\":1,\"state\":\"running\"," NUMBERS,
	       "read 4.00 MiB; 91.5 % of 1,000 page lookups hit the page cache, 85 missed "
	       "(340 KiB); its tasks waited 1.50 s for it in 12.0 s",
	       false, 12000000000);
	expect("{\"state\":\"cut\",\"lookups\":0,\"hits\":0,\"misses\":0,\"read_bytes\":0,"
	       "\"stall_ns\":0,\"duration_ns\":1000}",
	       "read 0 B; no page was looked up in the page cache; its tasks waited 0 s for it in "
	       "1.00 us",
	       true, 1000);
}

/* Unknown values are not numbers. */
static void test_unknown(void **state)
{
	expect("{\"state\":\"complete\",\"lookups\":10,\"hits\":null,\"misses\":-1,"
	       "\"read_bytes\":1e300,\"duration_ns\":\"1\"}",
	       "read -; - of 10 page lookups hit the page cache, - missed (-); its tasks waited - "
	       "for it in -",
	       true, -1);
}

static void test_no_totals(void **state)
{
	static const char *const wrong[] = {"", "[]", "{}", "{\"state\":1}", "{\"error\":\"x\"}"};
	struct node_totals ret;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(node_totals_parse(wrong[i], &ret), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_no_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
