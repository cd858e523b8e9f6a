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

static const struct rule rules[] = {
	{.id = "a", .lever = LEVER_CAUSE},  {.id = "b", .lever = LEVER_CAUSE},
	{.id = "c", .lever = LEVER_CAUSE},  {.id = "d", .lever = LEVER_CAUSE},
	{.id = "e", .lever = LEVER_CAUSE},  {.id = "f", .lever = LEVER_CAUSE},
	{.id = "g", .lever = LEVER_DIRECT}, {.id = "h", .lever = LEVER_SYMPTOM}};

enum { A, B, C, D, E, F, DIRECT, SYMPTOM };

static const struct gain_scale scale = {
	{.bytes_per_s = 100, .method = "as a test has it"}, {100, true}, 0.01};

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

/* If the gain is unknown, the severity stands for one: 20 s and 5 s of 100, times 0.5. */
static void test_order(void **state)
{
	struct finding list[] = {
		make(A, SEVERITY_MEDIUM, -1, GAIN_SECONDS, NULL),
		make(B, SEVERITY_LOW, 2, GAIN_SECONDS, NULL),
		make(C, SEVERITY_LOW, 300, GAIN_BYTES, NULL), /* 3 s */
		make(D, SEVERITY_INFO, 100, GAIN_SECONDS, NULL),
		make(E, SEVERITY_MEDIUM, 2, GAIN_SECONDS, NULL),
		make(F, SEVERITY_LOW, -1, GAIN_SECONDS, NULL),
	};

	assert_order(list, findings_rank(list, 6, &scale), "aecbfd");
	assert_true(list[0].order_s == 2.5);
	assert_true(list[2].order_s == 1);
	assert_true(list[4].order_s < 0);
}

/* Severity first: a bound of 2.2 s stands above a measured 54 ms. Then a fifth of a bound, two
 * thirds of a measured gain; a gain with low confidence counts less. */
static void test_order_of_methods(void **state)
{
	struct finding list[] = {
		make(A, SEVERITY_MEDIUM, 2.2, GAIN_SECONDS, NULL),
		make(B, SEVERITY_LOW, 0.054, GAIN_SECONDS, NULL),
		make(C, SEVERITY_LOW, 3, GAIN_SECONDS, NULL),
		make(D, SEVERITY_HIGH, 8, GAIN_SECONDS, NULL),
		make(E, SEVERITY_HIGH, 4, GAIN_SECONDS, NULL),
	};

	list[0].gain.method = list[3].gain.method = GAIN_BOUND;
	list[1].gain.method = list[2].gain.method = GAIN_MEASURED;
	list[4].confidence = 0.1;
	assert_order(list, findings_rank(list, 5, &scale), "deacb");
}

static void test_merge(void **state)
{
	struct finding list[] = {
		make(A, SEVERITY_HIGH, 1, GAIN_SECONDS, "x"),
		make(B, SEVERITY_LOW, 5, GAIN_SECONDS, "x"),
		make(C, SEVERITY_LOW, 3, GAIN_SECONDS, "y"),
		make(D, SEVERITY_LOW, -1, GAIN_SECONDS, "x"),
		make(E, SEVERITY_LOW, 4, GAIN_SECONDS, NULL),
		make(F, SEVERITY_LOW, 2, GAIN_SECONDS, NULL),
	};

	assert_order(list, findings_rank(list, 6, &scale), "aecf");
	assert_string_equal(list[0].merged->rule->id, "b");
	assert_string_equal(list[0].merged->merged->rule->id, "d");
	assert_null(list[0].merged->merged->merged);
	assert_null(list[1].merged);
	assert_null(list[2].merged);
	/* Merged findings come last, and name the one they are merged into. */
	assert_string_equal(list[4].rule->id, "b");
	assert_string_equal(list[5].rule->id, "d");
	assert_ptr_equal(list[4].merged_into, &list[0]);
	assert_ptr_equal(list[5].merged_into, &list[0]);
	assert_null(list[0].merged_into);
}

/* The most direct remedy stays, whatever it gains; an info finding hides nothing. */
static void test_merge_towards_the_lever(void **state)
{
	struct finding list[] = {
		make(SYMPTOM, SEVERITY_HIGH, 9, GAIN_SECONDS, "x"),
		make(B, SEVERITY_HIGH, 8, GAIN_SECONDS, "x"),
		make(DIRECT, SEVERITY_LOW, 2, GAIN_SECONDS, "x"),
		make(SYMPTOM, SEVERITY_LOW, 3, GAIN_SECONDS, "y"),
		make(DIRECT, SEVERITY_INFO, 0.1, GAIN_SECONDS, "y"),
	};

	assert_order(list, findings_rank(list, 5, &scale), "hg");
	assert_string_equal(list[1].merged->rule->id, "h");
	assert_string_equal(list[1].merged->merged->rule->id, "b");
	assert_string_equal(list[0].merged->rule->id, "g");
}

/* A gain below a hundredth of the 100 s becomes info; others, and unknown ones, keep their
 * severity. */
static void test_floor(void **state)
{
	struct gain_scale measured = scale;
	struct finding below = make(A, SEVERITY_HIGH, 0.99, GAIN_SECONDS, NULL);
	struct finding at = make(A, SEVERITY_LOW, 1, GAIN_SECONDS, NULL);
	struct finding unknown = make(A, SEVERITY_HIGH, -1, GAIN_SECONDS, NULL);
	struct finding bytes = make(A, SEVERITY_LOW, 99, GAIN_BYTES, NULL);

	finding_apply_floor(&below, &scale);
	finding_apply_floor(&at, &scale);
	finding_apply_floor(&unknown, &scale);
	finding_apply_floor(&bytes, &scale);
	assert_int_equal(below.severity, SEVERITY_INFO);
	assert_int_equal(at.severity, SEVERITY_LOW);
	assert_int_equal(unknown.severity, SEVERITY_HIGH);
	/* Bytes at an assumed rate: the seconds are not known. */
	assert_int_equal(bytes.severity, SEVERITY_LOW);
	measured.rate.measured = true;
	finding_apply_floor(&bytes, &measured);
	assert_int_equal(bytes.severity, SEVERITY_INFO);
}

static void test_causes_are_a_jobs_own(void **state)
{
	struct finding list[] = {make(0, SEVERITY_LOW, 1, GAIN_SECONDS, "x"),
				 make(1, SEVERITY_LOW, 5, GAIN_SECONDS, "x")};

	list[1].job_id = 2;
	assert_order(list, findings_rank(list, 2, &scale), "ab");
}

static void test_rate(void **state)
{
	assert_true(gain_rate_of(true, 4e9, 2).bytes_per_s == 2e9);
	assert_non_null(strstr(gain_rate_of(true, 4e9, 2).method, "per second of waiting"));
	/* Such values do not measure a device. */
	assert_true(gain_rate_of(false, 4e9, 2).bytes_per_s == 200e6);
	assert_true(gain_rate_of(true, 4e9, 0).bytes_per_s == 200e6);
	assert_true(gain_rate_of(true, 4096, 2).bytes_per_s == 200e6);
	assert_non_null(strstr(gain_rate_of(true, 0, 0).method, "200 MB/s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_order_of_methods),
		cmocka_unit_test(test_merge), cmocka_unit_test(test_merge_towards_the_lever),
		cmocka_unit_test(test_floor), cmocka_unit_test(test_causes_are_a_jobs_own),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
