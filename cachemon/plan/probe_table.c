/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/probe_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ROW_OF(when, module, role, kind, target, program, ...)                                     \
	{                                                                                          \
		role, kind, target, program, {__VA_ARGS__}, module, when                           \
	}
#define ROW_IN(...)			   ROW_OF(WHEN_ANY, __VA_ARGS__)
#define ROW(...)			   ROW_IN(NULL, __VA_ARGS__)
#define TP(role, target, program, ...)	   ROW(role, HOOK_TP_BTF, target, program, __VA_ARGS__)
#define FENTRY(role, target, program, ...) ROW(role, HOOK_FENTRY, target, program, __VA_ARGS__)
#define FEXIT(role, target, program, ...)  ROW(role, HOOK_FEXIT, target, program, __VA_ARGS__)
#define KPROBE(role, target, program, ...) ROW(role, HOOK_KPROBE, target, program, __VA_ARGS__)
/* One function, with the better kind of hook first. */
#define FUNCTION(role, target, program, ...)                                                       \
	FENTRY(role, target, program "_fn", __VA_ARGS__),                                          \
		KPROBE(role, target, program "_kp", __VA_ARGS__)
/* The same for functions of a module, if the kernel itself does not have them. */
#define FUNCTION_IN(module, role, target, program, ...)                                            \
	ROW_IN(module, role, HOOK_FENTRY, target, program "_fn", __VA_ARGS__),                     \
		ROW_IN(module, role, HOOK_KPROBE, target, program "_kp", __VA_ARGS__)
#define FEXIT_IN(module, role, target, program, ...)                                               \
	ROW_IN(module, role, HOOK_FEXIT, target, program, __VA_ARGS__)

/* The per-read hook, without a guard; kprobes are never preempted inside. */
#define READ(kind, target, program, ...)                                                           \
	ROW_OF(WHEN_NOT_PREEMPTIBLE, NULL, ROLE_READ, kind, target, program, __VA_ARGS__)

#define READ_PAGES    "void(address_space*,unsigned long,unsigned long)"
#define READ_COUNT    "int(kiocb*,size_t,folio_batch*,bool)"
#define READ_BATCH    "int(kiocb*,iov_iter*,folio_batch*)"
#define READ_WHOLE    "ssize_t(kiocb*,iov_iter*,ssize_t)"
#define READAHEAD     "void(inode*,unsigned long,file_ra_state*,unsigned long)"
#define RECLAIM_BEGIN "void(int,gfp_t)"
#define RECLAIM_END   "void(unsigned long)"
/* From 7.2; the programs of these two read no argument, so both prototypes fit. */
#define RECLAIM_BEGIN_MEMCG "void(gfp_t,int,mem_cgroup*)"
#define RECLAIM_END_MEMCG   "void(unsigned long,mem_cgroup*)"
#define CONTROL_STEP	    "void(readahead_control*,unsigned long,unsigned long)"
#define DIRECT_5	    "iomap_dio*(kiocb*,iov_iter*,iomap_ops*,iomap_dio_ops*,bool)"
#define DIRECT_7	    "iomap_dio*(kiocb*,iov_iter*,iomap_ops*,iomap_dio_ops*,unsigned int,void*,size_t)"
#define READ_ITER	    "ssize_t(kiocb*,iov_iter*)"
#define NFS_DIRECT	    "ssize_t(kiocb*,iov_iter*,bool)"
#define FUSE_DIRECT	    "ssize_t(fuse_io_priv*,iov_iter*,loff_t*,int)"

#define VECTORS	   "ssize_t(file*,iovec*,unsigned long,loff_t*,rwf_t)"
#define NAMED	   "int(int,filename*)"
#define NAMED_MODE "int(int,filename*,umode_t)"

#define FADVISE	    "int(file*,loff_t,loff_t,int)"
#define INVALIDATE  "int(address_space*,unsigned long,unsigned long)"
#define DROP_CACHES "void(super_block*,void*)"
#define TRUNCATE    "void(address_space*,loff_t,loff_t)", "void(address_space*,loff_t,uoff_t)"

/* Program names contain the argument if kernels differ in it: see bpf/. */
static const struct probe_candidate own[] = {
	TP(ROLE_PAGE_ADD, "mm_filemap_add_to_page_cache", "page_add_tp", "void(folio*)",
	   "void(page*)"),
	TP(ROLE_PAGE_DELETE, "mm_filemap_delete_from_page_cache", "page_delete_tp", "void(folio*)",
	   "void(page*)"),
	READ(HOOK_TP_BTF, "mm_filemap_get_pages", "read_tp", READ_PAGES),
	ROW_OF(WHEN_PREEMPTIBLE, NULL, ROLE_READ, HOOK_TP_BTF, "mm_filemap_get_pages",
	       "read_alone_tp", READ_PAGES),
	READ(HOOK_FENTRY, "filemap_get_pages", "read_count_fn", READ_COUNT),
	KPROBE(ROLE_READ, "filemap_get_pages", "read_count_kp", READ_COUNT),
	READ(HOOK_FENTRY, "filemap_get_pages", "read_iter_fn", READ_BATCH),
	KPROBE(ROLE_READ, "filemap_get_pages", "read_iter_kp", READ_BATCH),
	READ(HOOK_FENTRY, "generic_file_buffered_read", "read_whole_fn", READ_WHOLE),
	KPROBE(ROLE_READ, "generic_file_buffered_read", "read_whole_kp", READ_WHOLE),
	TP(ROLE_WINDOW_SYNC, "page_cache_sync_ra", "sync_ra_tp", READAHEAD),
	FUNCTION(ROLE_WINDOW_SYNC, "page_cache_sync_ra", "sync_ra",
		 "void(readahead_control*,unsigned long)"),
	FUNCTION(ROLE_WINDOW_SYNC, "page_cache_sync_ra", "sync_ra3",
		 "void(readahead_control*,file_ra_state*,unsigned long)"),
	TP(ROLE_WINDOW_ASYNC, "page_cache_async_ra", "async_ra_tp", READAHEAD),
	FUNCTION(ROLE_WINDOW_ASYNC, "page_cache_async_ra", "async_ra",
		 "void(readahead_control*,folio*,unsigned long)"),
	FUNCTION(ROLE_WINDOW_ASYNC, "page_cache_async_ra", "async_ra4",
		 "void(readahead_control*,file_ra_state*,page*,unsigned long)"),
	TP(ROLE_WINDOW_ORDER, "page_cache_ra_order", "ra_order_tp",
	   "void(inode*,unsigned long,file_ra_state*)"),
	FUNCTION(ROLE_WINDOW_ORDER, "page_cache_ra_order", "ra_order",
		 "void(readahead_control*,file_ra_state*)",
		 "void(readahead_control*,file_ra_state*,unsigned int)"),
	/* Without large folios, the step below read-around of mappings. */
	FUNCTION(ROLE_WINDOW_ORDER, "do_page_cache_ra", "do_ra", CONTROL_STEP),
	TP(ROLE_WINDOW_UNBOUNDED, "page_cache_ra_unbounded", "ra_unbound_tp",
	   "void(inode*,unsigned long,unsigned long,unsigned long)"),
	FUNCTION(ROLE_WINDOW_UNBOUNDED, "page_cache_ra_unbounded", "ra_unbound", CONTROL_STEP),
	TP(ROLE_FAULT, "mm_filemap_fault", "fault_tp", "void(address_space*,unsigned long)"),
	FUNCTION(ROLE_FAULT, "filemap_fault", "fault", "vm_fault_t(vm_fault*)"),
	TP(ROLE_MAP_PAGES, "mm_filemap_map_pages", "map_pages_tp",
	   "void(address_space*,unsigned long,unsigned long)"),
	FUNCTION(ROLE_MAP_PAGES, "filemap_map_pages", "map_pages",
		 "vm_fault_t(vm_fault*,unsigned long,unsigned long)",
		 "void(vm_fault*,unsigned long,unsigned long)"),
	TP(ROLE_SWITCH, "sched_switch", "switch_tp",
	   "void(bool,task_struct*,task_struct*,unsigned int)"),
	TP(ROLE_SWITCH, "sched_switch", "switch3_tp", "void(bool,task_struct*,task_struct*)"),
	TP(ROLE_FORK, "sched_process_fork", "fork_tp", "void(task_struct*,task_struct*)"),
	TP(ROLE_EXIT, "sched_process_exit", "exit_tp", "void(task_struct*,bool)"),
	TP(ROLE_EXIT, "sched_process_exit", "exit1_tp", "void(task_struct*)"),
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
	FUNCTION(ROLE_DIRECT_READ, "__iomap_dio_rw", "direct_read", DIRECT_5, DIRECT_7),
	TP(ROLE_DIRECT_DONE, "iomap_dio_complete", "direct_done_tp", "void(kiocb*,int,ssize_t)"),
	FUNCTION(ROLE_DIRECT_DONE, "iomap_dio_complete", "direct_done", "ssize_t(iomap_dio*)"),
	TP(ROLE_DIRECT_QUEUED, "iomap_dio_rw_queued", "direct_queue_tp", "void(inode*,loff_t,u64)"),
	FENTRY(ROLE_DIRECT_BLOCK, "blkdev_direct_IO", "dio_block_fn", READ_ITER),
	ROW_OF(WHEN_SYMBOLS, NULL, ROLE_DIRECT_BLOCK, HOOK_TP_BTF, "block_bio_queue",
	       "dio_block_tp", "void(bio*)"),
	/* This hook shows the request; the end needs fexit. */
	KPROBE(ROLE_DIRECT_BLOCK, "blkdev_direct_IO", "dio_block_kp", READ_ITER),
	FEXIT(ROLE_DIRECT_BLOCK_END, "blkdev_direct_IO", "dio_block_x", READ_ITER),
	FUNCTION_IN("nfs", ROLE_DIRECT_NFS, "nfs_file_direct_read", "dio_nfs", NFS_DIRECT,
		    READ_ITER),
	FEXIT_IN("nfs", ROLE_DIRECT_NFS_END, "nfs_file_direct_read", "dio_nfs_x", NFS_DIRECT),
	FUNCTION_IN("fuse", ROLE_DIRECT_FUSE, "fuse_direct_io", "dio_fuse", FUSE_DIRECT),
	FEXIT_IN("fuse", ROLE_DIRECT_FUSE_END, "fuse_direct_io", "dio_fuse_x", FUSE_DIRECT),
	TP(ROLE_URING, "io_uring_submit_req", "uring_tp", "void(io_kiocb*)"),
	TP(ROLE_CGROUP_MOVE, "cgroup_attach_task", "cgroup_move_tp",
	   "void(cgroup*,char*,task_struct*,bool)"),
	TP(ROLE_ADVICE_CALLS, "sys_enter", "advice_call_tp", "void(pt_regs*,long)"),
	ROW(ROLE_SEED, HOOK_ITER, "task", "seed_task", NULL),
	FENTRY(ROLE_FADVISE_BEGIN, "generic_fadvise", "fadvise_in_fn", FADVISE),
	FEXIT(ROLE_FADVISE_END, "generic_fadvise", "fadvise_out_fn", FADVISE),
	FENTRY(ROLE_INVALIDATE_BEGIN, "invalidate_inode_pages2_range", "inval_in_fn", INVALIDATE),
	FEXIT(ROLE_INVALIDATE_END, "invalidate_inode_pages2_range", "inval_out_fn", INVALIDATE),
	FENTRY(ROLE_DROP_CACHES_BEGIN, "drop_pagecache_sb", "drop_in_fn", DROP_CACHES),
	FEXIT(ROLE_DROP_CACHES_END, "drop_pagecache_sb", "drop_out_fn", DROP_CACHES),
	FENTRY(ROLE_TRUNCATE_BEGIN, "truncate_inode_pages_range", "truncate_in_fn", TRUNCATE),
	FEXIT(ROLE_TRUNCATE_END, "truncate_inode_pages_range", "truncate_out_fn", TRUNCATE),
	TP(ROLE_TASK_FREE, "sched_process_free", "task_free_tp", "void(task_struct*)"),
	TP(ROLE_FAULT_ADDRESS, "page_fault_user", "fault_addr_tp",
	   "void(unsigned long,pt_regs*,unsigned long)"),
	TP(ROLE_CGROUP_MKDIR, "cgroup_mkdir", "cgroup_mkdir_tp", "void(cgroup*,char*)"),
	TP(ROLE_CGROUP_RMDIR, "cgroup_rmdir", "cgroup_rmdir_tp", "void(cgroup*,char*)"),
	TP(ROLE_EXEC, "sched_process_exec", "exec_tp", "void(task_struct*,pid_t,linux_binprm*)"),
	TP(ROLE_SOCKET_SEND, "sock_send_length", "sock_send_tp", "void(sock*,int,int)"),
	TP(ROLE_SOCKET_RECEIVE, "sock_recv_length", "sock_recv_tp", "void(sock*,int,int)"),
	TP(ROLE_VFS_CALLS, "sys_exit", "vfs_call_tp", "void(pt_regs*,long)"),
	FEXIT(ROLE_VFS_READ, "vfs_read", "vfs_read_x", "ssize_t(file*,char*,size_t,loff_t*)"),
	FEXIT(ROLE_VFS_READV, "vfs_readv", "vfs_readv_x", VECTORS),
	FEXIT(ROLE_VFS_WRITE, "vfs_write", "vfs_write_x", "ssize_t(file*,char*,size_t,loff_t*)"),
	FEXIT(ROLE_VFS_WRITEV, "vfs_writev", "vfs_writev_x", VECTORS),
	FEXIT(ROLE_VFS_OPEN, "do_sys_openat2", "vfs_open_x", "int(int,char*,open_how*)",
	      "long(int,char*,open_how*)"),
	FEXIT(ROLE_VFS_MKDIR, "do_mkdirat", "vfs_mkdir_x", NAMED_MODE),
	FEXIT(ROLE_VFS_MKDIR, "filename_mkdirat", "name_mkdir_x", NAMED_MODE),
	FEXIT(ROLE_VFS_RMDIR, "do_rmdir", "vfs_rmdir_x", NAMED),
	FEXIT(ROLE_VFS_RMDIR, "filename_rmdir", "name_rmdir_x", NAMED),
	FEXIT(ROLE_VFS_UNLINK, "do_unlinkat", "vfs_unlink_x", NAMED),
	FEXIT(ROLE_VFS_UNLINK, "filename_unlinkat", "name_unlink_x", NAMED),
};

static const struct {
	const char *name;
	const char *loss;
} roles[ROLE_NR] = {
#define X(role, name, loss) [ROLE_##role] = {#name, loss},
	PROBE_ROLES(X)
#undef X
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
		ret_hooks[nr++] = (struct kernel_hook){
			.kind = c->kind, .target = c->target, .module = c->module};
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
