/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* Announcements are kept until the job appears, for ten minutes, and of 1,024 jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/daemon/announced.h"

#define NOW UINT64_C(5000000000)

static struct node_request begin(unsigned int number, const char *name)
{
	struct node_request q = {.verb = NODE_BEGIN, .uid = 1000 + number};

	snprintf(q.job, sizeof(q.job), "slurm:%u", number);
	strcpy(q.name, name);
	return q;
}

static void put(struct announced *a, unsigned int number, const char *name, uint64_t now)
{
	struct node_request q = begin(number, name);

	assert_int_equal(announced_put(a, &q, now), 0);
}

static void test_taken_once(void **state)
{
	struct announced *a = announced_new();
	struct node_request got;

	(void)state;
	put(a, 1, "one", NOW);
	put(a, 2, "two", NOW);
	put(a, 1, "again", NOW);
	assert_false(announced_take(a, "slurm:3", NOW, &got));
	assert_true(announced_take(a, "slurm:1", NOW, &got));
	assert_string_equal(got.name, "again");
	assert_int_equal(got.uid, 1001);
	assert_false(announced_take(a, "slurm:1", NOW, &got));
	assert_true(announced_take(a, "slurm:2", NOW, &got));
	announced_free(a);
}

/* Slurm's prolog knows the partition, and the step the name. */
static void test_said_in_parts(void **state)
{
	struct node_request first = {.verb = NODE_BEGIN, .uid = 7, .job = "slurm:1"}, got;
	struct node_request second = {.verb = NODE_BEGIN, .uid = -1, .job = "slurm:1"};
	struct announced *a = announced_new();

	(void)state;
	strcpy(first.partition, "gpu");
	strcpy(second.name, "train");
	assert_int_equal(announced_put(a, &first, NOW), 0);
	assert_int_equal(announced_put(a, &second, NOW), 0);
	assert_true(announced_take(a, "slurm:1", NOW, &got));
	assert_string_equal(got.name, "train");
	assert_string_equal(got.partition, "gpu");
	assert_int_equal(got.uid, 7);
	announced_free(a);
}

static void test_forgotten(void **state)
{
	struct announced *a = announced_new();
	struct node_request got;

	(void)state;
	put(a, 1, "one", NOW);
	put(a, 2, "two", NOW);
	assert_true(announced_take(a, "slurm:1", NOW + ANNOUNCED_NS - 1, &got));
	assert_false(announced_take(a, "slurm:2", NOW + ANNOUNCED_NS, &got));
	announced_free(a);
}

static void test_bounded(void **state)
{
	struct announced *a = announced_new();
	struct node_request q = begin(ANNOUNCED_MAX, "late"), got;

	(void)state;
	for (unsigned int i = 0; i < ANNOUNCED_MAX; i++)
		put(a, i, "job", NOW);
	assert_int_equal(announced_put(a, &q, NOW), -ENOSPC);
	put(a, 7, "the same", NOW);
	assert_true(announced_take(a, "slurm:1023", NOW, &got));
	assert_int_equal(announced_put(a, &q, NOW), 0);
	assert_int_equal(announced_put(a, &q, NOW + ANNOUNCED_NS), 0);
	put(a, 5000, "after all others", NOW + ANNOUNCED_NS);
	announced_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_once),
		cmocka_unit_test(test_said_in_parts),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
