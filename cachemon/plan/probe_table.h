/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The roles probes play and the programs that can play them. Owns the table: a row is a program
 * that exists in the BPF object, the hook it sits on and every prototype it is known to fit.
 * A role needs nothing else: which row is used on a kernel is plan/probe_plan's pure decision.
 */
#ifndef PROBE_TABLE_H
#define PROBE_TABLE_H

#include <stddef.h>

#include "cachemon/plan/kernel_caps.h"

/* Append only: names of roles are on disk. */
enum probe_role {
	ROLE_PAGE_ADD,
	ROLE_PAGE_DELETE,
	ROLE_READ,
	ROLE_WINDOW_SYNC,
	ROLE_WINDOW_ASYNC,
	ROLE_WINDOW_ORDER,
	ROLE_WINDOW_UNBOUNDED,
	ROLE_FAULT,
	ROLE_MAP_PAGES,
	ROLE_SWITCH,
	ROLE_FORK,
	ROLE_EXIT,
	ROLE_RECLAIM_DIRECT_BEGIN,
	ROLE_RECLAIM_DIRECT_END,
	ROLE_RECLAIM_MEMCG_BEGIN,
	ROLE_RECLAIM_MEMCG_END,
	ROLE_DIRECT_READ,
	ROLE_URING,
	ROLE_CGROUP_MOVE,
	ROLE_ADVICE_CALLS,
	ROLE_SEED,
	ROLE_FADVISE_BEGIN,
	ROLE_FADVISE_END,
	ROLE_INVALIDATE_BEGIN,
	ROLE_INVALIDATE_END,
	ROLE_DROP_CACHES_BEGIN,
	ROLE_DROP_CACHES_END,
	ROLE_TRUNCATE_BEGIN,
	ROLE_TRUNCATE_END,
	ROLE_TASK_FREE,
	ROLE_DIRECT_DONE,
	ROLE_DIRECT_QUEUED,
	ROLE_DIRECT_BLOCK,
	ROLE_DIRECT_BLOCK_END,
	ROLE_DIRECT_NFS,
	ROLE_DIRECT_NFS_END,
	ROLE_DIRECT_FUSE,
	ROLE_DIRECT_FUSE_END,
	ROLE_FAULT_ADDRESS,
	ROLE_NR,
};

#define PROBE_PROTOS_MAX 4

/* On which machines a row stands: where a task may be switched out inside of a program
 * (plan/preempt_trial), where it may not, where addresses of functions can be read, or on all. */
enum probe_when { WHEN_ANY, WHEN_PREEMPTIBLE, WHEN_NOT_PREEMPTIBLE, WHEN_SYMBOLS };

struct probe_candidate {
	enum probe_role role;
	enum hook_kind kind;
	const char *target;
	const char *program; /* name in the object, <= 15 characters: the kernel cuts the rest */
	/* Prototypes the program fits, as plan/btf_proto writes them. None: it has no arguments of
	 * the hook's own (iterators). */
	const char *protos[PROBE_PROTOS_MAX];
	const char *module; /* where the target is when it is not the kernel's own; NULL: nowhere */
	enum probe_when when;
};

/* Rows of one role stand in order of preference. */
struct probe_table {
	const struct probe_candidate *rows;
	size_t nr;
};

/* The programs of this release. */
const struct probe_table *probe_table_own(void);

/* "page_add", ... as in reports and on disk. */
const char *probe_role_name(enum probe_role role);
/* What cannot be told without the role, a few words. */
const char *probe_role_loss(enum probe_role role);

/* The distinct hooks of a table, to ask the kernel about. -E2BIG: more than max. */
int probe_table_hooks(const struct probe_table *table, struct kernel_hook *ret_hooks, size_t max,
		      size_t *ret_nr);
/* 1 << enum hook_kind of the kinds a table uses. */
unsigned int probe_table_kinds(const struct probe_table *table);

#endif
