/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/fs_direct.h"

#include "cachemon/plan/fs_cover.h"

unsigned int fs_direct_of_plan(const struct probe_plan *plan)
{
	static const struct {
		enum fs_direct direct;
		enum probe_role begin, end;
	} ways[] = {
		{FS_DIRECT_GIVEN, ROLE_DIRECT_READ, ROLE_DIRECT_DONE},
		{FS_DIRECT_BLOCK, ROLE_DIRECT_BLOCK, ROLE_DIRECT_BLOCK_END},
		{FS_DIRECT_NFS, ROLE_DIRECT_NFS, ROLE_DIRECT_NFS_END},
		{FS_DIRECT_FUSE, ROLE_DIRECT_FUSE, ROLE_DIRECT_FUSE_END},
	};
	const struct probe_choice *block = &plan->choices[ROLE_DIRECT_BLOCK];
	unsigned int direct = 0;

	/* Counted by what is asked: a device gives all of it, or fails. */
	if (probe_plan_has(plan, ROLE_DIRECT_BLOCK) && block->kind == HOOK_TP_BTF)
		direct |= FS_DIRECT_BLOCK;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (probe_plan_has(plan, ways[i].begin) && probe_plan_has(plan, ways[i].end))
			direct |= ways[i].direct;
	if (probe_plan_by_function(plan, ROLE_READ))
		direct |= FS_READS_BY_CALL;
	return direct;
}
