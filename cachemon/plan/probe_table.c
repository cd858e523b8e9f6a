/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/probe_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define TP(role, target, program, ...)                                                             \
	{                                                                                          \
		role, HOOK_TP_BTF, target, program,                                                \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define READAHEAD     "void(inode*,unsigned long,file_ra_state*,unsigned long)"
#define RECLAIM_BEGIN "void(int,gfp_t)"
#define RECLAIM_END   "void(unsigned long)"
/* From 7.2; the programs of these two read no argument, so both forms fit. */
#define RECLAIM_BEGIN_MEMCG "void(gfp_t,int,mem_cgroup*)"
#define RECLAIM_END_MEMCG   "void(unsigned long,mem_cgroup*)"

static const struct probe_candidate own[] = {
	TP(ROLE_PAGE_ADD, "mm_filemap_add_to_page_cache", "page_add_tp", "void(folio*)"),
	TP(ROLE_PAGE_DELETE, "mm_filemap_delete_from_page_cache", "page_delete_tp", "void(folio*)"),
	TP(ROLE_READ, "mm_filemap_get_pages", "read_tp",
	   "void(address_space*,unsigned long,unsigned long)"),
	TP(ROLE_WINDOW_SYNC, "page_cache_sync_ra", "sync_ra_tp", READAHEAD),
	TP(ROLE_WINDOW_ASYNC, "page_cache_async_ra", "async_ra_tp", READAHEAD),
	TP(ROLE_WINDOW_ORDER, "page_cache_ra_order", "ra_order_tp",
	   "void(inode*,unsigned long,file_ra_state*)"),
	TP(ROLE_WINDOW_UNBOUNDED, "page_cache_ra_unbounded", "ra_unbound_tp",
	   "void(inode*,unsigned long,unsigned long,unsigned long)"),
	TP(ROLE_FAULT, "mm_filemap_fault", "fault_tp", "void(address_space*,unsigned long)"),
	TP(ROLE_MAP_PAGES, "mm_filemap_map_pages", "map_pages_tp",
	   "void(address_space*,unsigned long,unsigned long)"),
	TP(ROLE_SWITCH, "sched_switch", "switch_tp",
	   "void(bool,task_struct*,task_struct*,unsigned int)"),
	TP(ROLE_FORK, "sched_process_fork", "fork_tp", "void(task_struct*,task_struct*)"),
	/* Before 6.18 the second argument, which the program reads, does not exist. */
	TP(ROLE_EXIT, "sched_process_exit", "exit_tp", "void(task_struct*,bool)"),
	TP(ROLE_RECLAIM_DIRECT_BEGIN, "mm_vmscan_direct_reclaim_begin", "dreclaim_in_tp",
	   RECLAIM_BEGIN, RECLAIM_BEGIN_MEMCG),
	TP(ROLE_RECLAIM_DIRECT_END, "mm_vmscan_direct_reclaim_end", "dreclaim_out_tp", RECLAIM_END,
	   RECLAIM_END_MEMCG),
	TP(ROLE_RECLAIM_MEMCG_BEGIN, "mm_vmscan_memcg_reclaim_begin", "mreclaim_in_tp",
	   RECLAIM_BEGIN, RECLAIM_BEGIN_MEMCG),
	TP(ROLE_RECLAIM_MEMCG_END, "mm_vmscan_memcg_reclaim_end", "mreclaim_out_tp", RECLAIM_END,
	   RECLAIM_END_MEMCG),
	TP(ROLE_DIRECT_READ, "iomap_dio_rw_begin", "direct_read_tp",
	   "void(kiocb*,iov_iter*,unsigned int,size_t)"),
	TP(ROLE_URING, "io_uring_submit_req", "uring_tp", "void(io_kiocb*)"),
	TP(ROLE_CGROUP_MOVE, "cgroup_attach_task", "cgroup_move_tp",
	   "void(cgroup*,char*,task_struct*,bool)"),
	TP(ROLE_ADVICE_CALLS, "sys_enter", "advice_call_tp", "void(pt_regs*,long)"),
	{ROLE_SEED, HOOK_ITER, "task", "seed_task", {NULL}},
};

static const struct {
	const char *name;
	const char *loss;
} roles[ROLE_NR] = {
	[ROLE_PAGE_ADD] = {"page_add", "pages entering the cache: nothing can be counted"},
	[ROLE_PAGE_DELETE] = {"page_delete", "evictions, refaults and the fate of prefetch"},
	[ROLE_READ] = {"read", "lookups, hits, read calls, use of prefetched pages"},
	[ROLE_WINDOW_SYNC] = {"window_sync", "misses and prefetch cannot be told apart"},
	[ROLE_WINDOW_ASYNC] = {"window_async", "misses and prefetch cannot be told apart"},
	[ROLE_WINDOW_ORDER] = {"window_order", "windows of large folios and of mmap"},
	[ROLE_WINDOW_UNBOUNDED] = {"window_unbounded", "windows forced by advice"},
	[ROLE_FAULT] = {"fault", "faults; pages added for mmap cannot be told"},
	[ROLE_MAP_PAGES] = {"map_pages", "mapped pages, and so the fate of prefetch"},
	[ROLE_SWITCH] = {"switch", "who runs on a CPU: nothing can be attributed"},
	[ROLE_FORK] = {"fork", "children of the job"},
	[ROLE_EXIT] = {"exit", "the end of the job's tasks"},
	[ROLE_RECLAIM_DIRECT_BEGIN] = {"reclaim_direct_begin", "evictions by direct reclaim"},
	[ROLE_RECLAIM_DIRECT_END] = {"reclaim_direct_end", "evictions by direct reclaim"},
	[ROLE_RECLAIM_MEMCG_BEGIN] = {"reclaim_memcg_begin", "evictions by a memory limit"},
	[ROLE_RECLAIM_MEMCG_END] = {"reclaim_memcg_end", "evictions by a memory limit"},
	[ROLE_DIRECT_READ] = {"direct_read", "direct reads"},
	[ROLE_URING] = {"uring", "the range of io_uring reads that wait"},
	[ROLE_CGROUP_MOVE] = {"cgroup_move", "tasks that join or leave a watched cgroup"},
	[ROLE_ADVICE_CALLS] = {"advice_calls", "advice calls that move no page"},
	[ROLE_SEED] = {"seed", "tasks that ran before the watch"},
};

const struct probe_table *probe_table_own(void)
{
	static const struct probe_table table = {own, sizeof(own) / sizeof(own[0])};

	return &table;
}

const char *probe_role_name(enum probe_role role)
{
	return roles[role].name;
}

const char *probe_role_loss(enum probe_role role)
{
	return roles[role].loss;
}

int probe_table_hooks(const struct probe_table *table, struct kernel_hook *ret_hooks, size_t max,
		      size_t *ret_nr)
{
	size_t nr = 0;

	for (size_t i = 0; i < table->nr; i++) {
		const struct probe_candidate *c = &table->rows[i];
		size_t k = 0;

		while (k < nr &&
		       (ret_hooks[k].kind != c->kind || strcmp(ret_hooks[k].target, c->target)))
			k++;
		if (k < nr)
			continue;
		if (nr == max)
			return -E2BIG;
		ret_hooks[nr++] = (struct kernel_hook){.kind = c->kind, .target = c->target};
	}
	*ret_nr = nr;
	return 0;
}

unsigned int probe_table_kinds(const struct probe_table *table)
{
	unsigned int kinds = 0;

	for (size_t i = 0; i < table->nr; i++)
		kinds |= 1U << table->rows[i].kind;
	return kinds;
}
