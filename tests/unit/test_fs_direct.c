/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
#include "cachemon/plan/fs_cover.h"
#include "plan_invent.h"

static unsigned int with(const enum probe_role *roles, size_t nr)
{
	struct probe_plan plan = {};

	for (int r = 0; r < ROLE_NR; r++)
		plan.choices[r].state = PROBE_ABSENT;
	for (size_t i = 0; i < nr; i++) {
		plan.choices[roles[i]].state = PROBE_LIVE;
		plan.choices[roles[i]].kind = HOOK_FENTRY;
	}
	return fs_cover_direct(&plan);
}

/* Block I/O shows what a read returns: its end need not be seen. */
static void test_what_is_queued(void **state)
{
	struct probe_plan plan = {};

	for (int r = 0; r < ROLE_NR; r++)
		plan.choices[r].state = PROBE_ABSENT;
	plan.choices[ROLE_DIRECT_BLOCK].kind = HOOK_TP_BTF;
	assert_int_equal(fs_cover_direct(&plan), 0);
	plan.choices[ROLE_DIRECT_BLOCK].state = PROBE_LIVE;
	assert_int_equal(fs_cover_direct(&plan), FS_DIRECT_BLOCK);
}

/* If only the beginning of a read is seen, it may have failed or returned less. */
static void test_both_ends(void **state)
{
	static const struct {
		enum probe_role roles[2];
		enum fs_direct direct;
	} ways[] = {
		{{ROLE_DIRECT_BLOCK, ROLE_DIRECT_BLOCK_END}, FS_DIRECT_BLOCK},
		{{ROLE_DIRECT_NFS, ROLE_DIRECT_NFS_END}, FS_DIRECT_NFS},
		{{ROLE_DIRECT_FUSE, ROLE_DIRECT_FUSE_END}, FS_DIRECT_FUSE},
		{{ROLE_DIRECT_READ, ROLE_DIRECT_DONE}, FS_DIRECT_GIVEN},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(with(ways[i].roles, 2), ways[i].direct);
		assert_int_equal(with(&ways[i].roles[0], 1), 0);
		assert_int_equal(with(&ways[i].roles[1], 1), 0);
	}
	assert_int_equal(with(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ends),
					   cmocka_unit_test(test_what_is_queued)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
