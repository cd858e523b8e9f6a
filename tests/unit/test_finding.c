/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* The order of findings, and merging by cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/rules/finding.h"

static const struct rule rules[] = {{.id = "a"}, {.id = "b"}, {.id = "c"},
				    {.id = "d"}, {.id = "e"}, {.id = "f"}};
static const struct gain_rate rate = {100, "as a test has it"};

static struct finding make(size_t rule, enum severity severity, double gain, enum gain_unit unit,
			   const char *cause)
{
	return (struct finding){
		.job_id = 1,
		.rule = &rules[rule],
		.severity = severity,
		.confidence = 0.5,
		.gain = {gain >= 0, gain, unit, GAIN_MODEL},
		.cause = cause,
	};
}

static void assert_order(const struct finding *list, size_t nr, const char *ids)
{
	assert_int_equal(nr, strlen(ids));
	for (size_t i = 0; i < nr; i++)
		if (list[i].rule->id[0] != ids[i])
			fail_msg("%zu: %s, not %c", i, list[i].rule->id, ids[i]);
}

static void test_order(void **state)
{
	struct finding list[] = {
		make(0, SEVERITY_HIGH, -1, GAIN_SECONDS, NULL), /* no gain known */
		make(1, SEVERITY_LOW, 2, GAIN_SECONDS, NULL),
		make(2, SEVERITY_LOW, 300, GAIN_BYTES, NULL), /* 3 s */
		make(3, SEVERITY_INFO, 100, GAIN_SECONDS, NULL),
		make(4, SEVERITY_MEDIUM, 2, GAIN_SECONDS, NULL),
		make(5, SEVERITY_LOW, -1, GAIN_SECONDS, NULL),
	};

	assert_order(list, findings_rank(list, 6, &rate), "cebafd");
	assert_true(list[0].order_s == 1.5);
	assert_true(list[3].order_s < 0);
}

/* 3 s for sure before 9 s at most; bounds by severity; a gain that is hardly sure counts less. */
static void test_order_of_methods(void **state)
{
	struct finding list[] = {
		make(0, SEVERITY_MEDIUM, 9, GAIN_SECONDS, NULL),
		make(1, SEVERITY_HIGH, 8, GAIN_SECONDS, NULL),
		make(2, SEVERITY_LOW, 3, GAIN_SECONDS, NULL),
		make(3, SEVERITY_HIGH, 4, GAIN_SECONDS, NULL),
		make(4, SEVERITY_HIGH, -1, GAIN_SECONDS, NULL),
		make(5, SEVERITY_LOW, 2, GAIN_SECONDS, NULL),
	};

	list[0].gain.method = list[1].gain.method = GAIN_BOUND;
	list[2].gain.method = GAIN_MEASURED;
	list[3].confidence = 0.3;
	assert_order(list, findings_rank(list, 6, &rate), "cdfbae");
}

static void test_merge(void **state)
{
	struct finding list[] = {
		make(0, SEVERITY_HIGH, 1, GAIN_SECONDS, "x"),
		make(1, SEVERITY_LOW, 5, GAIN_SECONDS, "x"),
		make(2, SEVERITY_LOW, 3, GAIN_SECONDS, "y"),
		make(3, SEVERITY_LOW, -1, GAIN_SECONDS, "x"),
		make(4, SEVERITY_LOW, 4, GAIN_SECONDS, NULL),
		make(5, SEVERITY_LOW, 2, GAIN_SECONDS, NULL),
	};

	assert_order(list, findings_rank(list, 6, &rate), "becf");
	assert_string_equal(list[0].merged->rule->id, "a");
	assert_string_equal(list[0].merged->merged->rule->id, "d");
	assert_null(list[0].merged->merged->merged);
	assert_null(list[1].merged);
	assert_null(list[2].merged);
}

static void test_causes_are_a_jobs_own(void **state)
{
	struct finding list[] = {make(0, SEVERITY_LOW, 1, GAIN_SECONDS, "x"),
				 make(1, SEVERITY_LOW, 5, GAIN_SECONDS, "x")};

	list[1].job_id = 2;
	assert_order(list, findings_rank(list, 2, &rate), "ab");
}

static void test_rate(void **state)
{
	assert_true(gain_rate_of(true, 4e9, 2).bytes_per_s == 2e9);
	assert_non_null(strstr(gain_rate_of(true, 4e9, 2).method, "slept"));
	/* What says nothing of a device. */
	assert_true(gain_rate_of(false, 4e9, 2).bytes_per_s == 200e6);
	assert_true(gain_rate_of(true, 4e9, 0).bytes_per_s == 200e6);
	assert_true(gain_rate_of(true, 4096, 2).bytes_per_s == 200e6);
	assert_non_null(strstr(gain_rate_of(true, 0, 0).method, "200 MB/s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_order_of_methods),
		cmocka_unit_test(test_merge), cmocka_unit_test(test_causes_are_a_jobs_own),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
