/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The roles of probes and the programs that can play them. Owns the table: a row is a program of
 * the BPF object, its hook and every prototype that it fits. plan/probe_plan alone decides which
 * row a kernel uses.
 */
#ifndef PROBE_TABLE_H
#define PROBE_TABLE_H

#include <stddef.h>

#include "cachemon/plan/kernel_caps.h"

/* Append only: names of roles are on disk. X(role, name, what is unknown without it). */
#define PROBE_ROLES(X)                                                                             \
	X(PAGE_ADD, page_add, "pages entering the cache: nothing can be counted")                  \
	X(PAGE_DELETE, page_delete, "evictions, refaults and the fate of prefetch")                \
	X(READ, read, "lookups, hits, read calls, use of prefetched pages")                        \
	X(WINDOW_SYNC, window_sync, "misses cannot be separated from prefetch")                    \
	X(WINDOW_ASYNC, window_async, "misses cannot be separated from prefetch")                  \
	X(WINDOW_ORDER, window_order, "windows of large folios and of mmap")                       \
	X(WINDOW_UNBOUNDED, window_unbounded, "windows forced by advice")                          \
	X(FAULT, fault, "faults, and which pages mmap added")                                      \
	X(MAP_PAGES, map_pages, "mapped pages, and so the fate of prefetch")                       \
	X(SWITCH, switch, "the running task: nothing can be attributed")                           \
	X(FORK, fork, "children of the job")                                                       \
	X(EXIT, exit, "the end of the job's tasks")                                                \
	X(RECLAIM_DIRECT_BEGIN, reclaim_direct_begin, "evictions by direct reclaim")               \
	X(RECLAIM_DIRECT_END, reclaim_direct_end, "evictions by direct reclaim")                   \
	X(RECLAIM_MEMCG_BEGIN, reclaim_memcg_begin, "evictions by a memory limit")                 \
	X(RECLAIM_MEMCG_END, reclaim_memcg_end, "evictions by a memory limit")                     \
	X(DIRECT_READ, direct_read, "direct reads")                                                \
	X(URING, uring, "the range of io_uring reads that wait")                                   \
	X(CGROUP_MOVE, cgroup_move, "tasks that join or leave a watched cgroup")                   \
	X(ADVICE_CALLS, advice_calls, "advice calls that move no page")                            \
	X(SEED, seed, "tasks that ran before the watch")                                           \
	X(FADVISE_BEGIN, fadvise_begin, "evictions by advice (falls back to stacks)")              \
	X(FADVISE_END, fadvise_end, "evictions by advice (falls back to stacks)")                  \
	X(INVALIDATE_BEGIN, invalidate_begin, "evictions by direct I/O (falls back to stacks)")    \
	X(INVALIDATE_END, invalidate_end, "evictions by direct I/O (falls back to stacks)")        \
	X(DROP_CACHES_BEGIN, drop_caches_begin, "evictions by drop_caches (falls back to stacks)") \
	X(DROP_CACHES_END, drop_caches_end, "evictions by drop_caches (falls back to stacks)")     \
	X(TRUNCATE_BEGIN, truncate_begin,                                                          \
	  "evictions by truncation (falls back to the file's size)")                               \
	X(TRUNCATE_END, truncate_end, "evictions by truncation (falls back to the file's size)")   \
	X(TASK_FREE, task_free, "memory of tasks that ended")                                      \
	X(DIRECT_DONE, direct_done,                                                                \
	  "bytes returned by direct reads (requested bytes are counted)")                          \
	X(DIRECT_QUEUED, direct_queued, "which asynchronous direct reads were restarted")          \
	X(DIRECT_BLOCK, direct_block,                                                              \
	  "direct reads of block devices (only total bytes are known)")                            \
	X(DIRECT_BLOCK_END, direct_block_end,                                                      \
	  "bytes returned by direct reads of block devices (requested bytes are counted)")         \
	X(DIRECT_NFS, direct_nfs, "direct reads over NFS (only total bytes are known)")            \
	X(DIRECT_NFS_END, direct_nfs_end,                                                          \
	  "bytes returned by direct reads over NFS (requested bytes are counted)")                 \
	X(DIRECT_FUSE, direct_fuse, "direct reads of FUSE (only total bytes are known)")           \
	X(DIRECT_FUSE_END, direct_fuse_end,                                                        \
	  "bytes returned by direct reads of FUSE (requested bytes are counted)")                  \
	X(FAULT_ADDRESS, fault_address, "the mapping in which a traced fault occurred")            \
	X(CGROUP_MKDIR, cgroup_mkdir, "new jobs (falls back to searching for them)")               \
	X(CGROUP_RMDIR, cgroup_rmdir, "the end of jobs (falls back to searching for them)")        \
	X(EXEC, exec, "commands of users without privileges (they are not counted)")               \
	X(SOCKET_SEND, socket_send, "bytes that each job sent over the network")                   \
	X(SOCKET_RECEIVE, socket_receive, "bytes that each job received over the network")         \
	X(VFS_CALLS, vfs_calls, "calls of files and directories by system call")                   \
	X(VFS_READ, vfs_read, "reads of any file by each job")                                     \
	X(VFS_READV, vfs_readv, "reads of any file by each job")                                   \
	X(VFS_WRITE, vfs_write, "writes to any file by each job")                                  \
	X(VFS_WRITEV, vfs_writev, "writes to any file by each job")                                \
	X(VFS_OPEN, vfs_open, "files that each job opened and created")                            \
	X(VFS_MKDIR, vfs_mkdir, "directories that each job made")                                  \
	X(VFS_RMDIR, vfs_rmdir, "directories that each job removed")                               \
	X(VFS_UNLINK, vfs_unlink, "files that each job removed")

enum probe_role {
#define X(role, name, loss) ROLE_##role,
	PROBE_ROLES(X) ROLE_NR,
#undef X
};

#define PROBE_PROTOS_MAX 4

/* The machines that a row is for: those whose kernel may switch tasks inside a program
 * (plan/preempt), those whose kernel may not, those where function addresses can be read, or
 * all. */
enum probe_when { WHEN_ANY, WHEN_PREEMPTIBLE, WHEN_NOT_PREEMPTIBLE, WHEN_SYMBOLS };

struct probe_candidate {
	enum probe_role role;
	enum hook_kind kind;
	const char *target;
	const char *program; /* name in the object, <= 15 characters: the kernel truncates it */
	/* Prototypes that the program fits, as from plan/btf_proto. None: it reads no arguments
	 * of the hook (iterators). */
	const char *protos[PROBE_PROTOS_MAX];
	const char *module; /* module of the target, if not the kernel itself; NULL: none */
	enum probe_when when;
};

/* Rows of one role stand in order of preference. */
struct probe_table {
	const struct probe_candidate *rows;
	size_t nr;
};

/* The programs of this release. */
const struct probe_table *probe_table_own(void);

/* "page_add", ...: as in reports and on disk. */
const char *probe_role_name(enum probe_role role);
/* The figures that are unknown without the role, in a few words. */
const char *probe_role_loss(enum probe_role role);

/* The distinct hooks of a table, for looking them up in the kernel. -E2BIG: more than max. */
int probe_table_hooks(const struct probe_table *table, struct kernel_hook *ret_hooks, size_t max,
		      size_t *ret_nr);
/* 1 << enum hook_kind of the kinds a table uses. */
unsigned int probe_table_kinds(const struct probe_table *table);

#endif
