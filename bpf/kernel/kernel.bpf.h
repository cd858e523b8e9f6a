/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that the programs read, reduced to the fields they use and relocated by CO-RE.
 * Owns layouts and constants of the kernel, nothing of cachemon. Constants that BTF does not have
 * (macros) cite their source.
 */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef unsigned long size_t;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next, **pprev;
};
struct hlist_head {
	struct hlist_node *first;
};
struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};
struct timespec64 {
	long long tv_sec;
};

struct xarray {
	void *xa_head;
};
struct xa_node {
	unsigned char shift, count, nr_values;
	void *slots[64];
};

struct file_system_type {
	const char *name;
};
struct backing_dev_info {
	unsigned long ra_pages;
	unsigned long io_pages;
};
struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	struct backing_dev_info *s_bdi;
};
struct address_space;
struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	unsigned int i_nlink;
	__u32 i_rdev;
	long long i_size;
	__u32 i_generation;
	struct hlist_head i_dentry;
};
/* A subvolume: its device is what stat(2) shows for its files. */
struct btrfs_root {
	__u32 anon_dev;
};
struct btrfs_inode {
	struct btrfs_root *root;
	struct inode vfs_inode;
};
struct address_space {
	struct inode *host;
	struct xarray i_pages;
	unsigned long nrpages;
	unsigned long flags;
};
struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};
struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};
/* From 7.1 the union is anonymous. */
struct dentry___anon {
	struct hlist_node d_alias;
};
/* Since 6.14. */
struct dentry___short {
	union {
		unsigned long words;
	} d_shortname;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mnt_namespace;
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct file_ra_state {
	unsigned long start;
	unsigned int size;
	unsigned int async_size;
	unsigned int ra_pages;
	unsigned short order; /* since 6.16 */
	unsigned int mmap_miss;
	long long prev_pos;
};
struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	struct address_space *f_mapping;
	struct inode *f_inode;
	struct path f_path;
	long long f_pos;
	void *private_data;
	struct file_ra_state f_ra;
};
/* A layer's file that an overlay opened, since 6.6: the path that was opened. Earlier it is the
 * file's own path. */
struct backing_file {
	struct path user_path;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};

struct kernfs_node {
	__u64 id;
};
struct cgroup_root {
	int hierarchy_id;
};
struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup *ancestors[0];
};
/* Before 6.1. */
struct cgroup___ids {
	__u64 ancestor_ids[0];
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
};
struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};
enum cgroup_subsys_id {
	memory_cgrp_id,
	freezer_cgrp_id,
	cpuset_cgrp_id,
	cpuacct_cgrp_id,
	pids_cgrp_id,
};

struct pid_namespace;
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[0];
};
struct task_io_accounting {
	__u64 rchar, wchar, syscr, syscw;
};
struct sched_entity {
	__u64 sum_exec_runtime;
};
struct sched_info {
	unsigned long long run_delay;
};
typedef struct {
	int counter;
} atomic_t;
struct signal_struct {
	atomic_t live;
};
struct thread_info {
	__u32 status; /* of x86 */
};
struct linux_binprm {
	unsigned int secureexec : 1;
};
struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	void *stack;
	int pid, tgid;
	unsigned int __state;
	unsigned in_iowait : 1;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	struct signal_struct *signal;
	void *worker_private; /* since 5.12 */
	unsigned long min_flt, maj_flt, nvcsw, nivcsw;
	struct files_struct *files;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	struct sched_entity se;
	struct sched_info sched_info; /* with CONFIG_SCHED_INFO */
	char comm[16];
};
/* Before 5.14. */
struct task_struct___state {
	long state;
};

struct sock_common {
	unsigned short skc_family;
};
struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct bpf_map;
struct folio {
	unsigned long flags;
	struct address_space *mapping;
	unsigned long index;
	unsigned int _nr_pages;
};
/* 6.18 wrapped the flags in a struct (memdesc_flags_t); same place, same bits. */
struct memdesc_flags {
	unsigned long f;
};
struct folio___memdesc {
	struct memdesc_flags flags;
};

struct folio___nr {
	unsigned int _folio_nr_pages;
};
struct page {
	unsigned long flags;
	struct address_space *mapping;
	unsigned long index;
	unsigned char compound_order;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
	void *ki_complete;
	int ki_flags;
};
enum iter_type { ITER_IOVEC, ITER_UBUF };
struct iov_iter {
	__u8 iter_type;
	bool data_source;
	unsigned long iov_offset, count;
	const struct iovec *iov; /* also for other kinds: their elements have the same length. Up to
				  * 6.3 */
	unsigned long nr_segs;
};
/* Before 5.14 the direction is a bit of the type. */
struct iov_iter___type {
	unsigned int type;
};
struct iomap_dio {
	struct kiocb *iocb;
	long long i_size, size;
	int error;
	size_t done_before;
};
struct block_device {
	struct address_space *bd_mapping; /* since 6.11 */
};
struct block_device___inode {
	struct inode *bd_inode;
};
struct bvec_iter {
	unsigned int bi_size;
};
struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
};
struct blkdev_dio {
	struct kiocb *iocb; /* unless its reader waits for it */
	unsigned int flags;
	struct bio bio;
};
struct fuse_io_priv {
	struct kiocb *iocb;
};
struct io_rsrc_node {
	unsigned long file_ptr;
};
struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};
struct io_file_table {
	struct io_rsrc_data data;
};
struct io_ring_ctx {
	struct io_file_table file_table;
};
struct io_cqe {
	int fd;
};
struct io_wq_work {
	unsigned int flags;
};
struct io_worker {
	struct io_wq_work *cur_work;
};
struct io_kiocb {
	struct file *file;
	struct io_wq_work work;
	void *async_data;
	__u8 opcode;
	__u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};
struct io_rw {
	struct kiocb kiocb;
	__u64 addr;
	__u32 len;
};
struct io_splice {
	long long off_in;
	__u64 len;
	int splice_fd_in;
	unsigned int flags;
};
struct rb_node {
	struct rb_node *rb_right, *rb_left;
};
struct rb_root {
	struct rb_node *rb_node;
};
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
	struct rb_node vm_rb; /* before 6.1 */
};
struct mm_struct {
	struct rb_root mm_rb; /* before 6.1 */
};
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	unsigned long address;
};
struct readahead_control {
	struct file *file;
	struct address_space *mapping;
	unsigned long _index;
	struct file_ra_state *ra;
};
struct bpf_iter__task {
	struct task_struct *task;
};

struct bpf_iter__bpf_map_elem {
	void *key;
	void *value;
};

enum mapping_flags {
	AS_EXITING,
	/* Since 6.12; earlier, the second was a member of it. */
	AS_FOLIO_ORDER_MAX,
	AS_LARGE_FOLIO_SUPPORT,
};
enum pageflags {
	PG_uptodate,
	PG_head,
	PG_swapbacked,
};

#pragma clang attribute pop

struct iovec {
	void *iov_base;
	unsigned long iov_len;
};

/* include/uapi/linux/stat.h */
#define S_IFMT	0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000
/* include/linux/sched.h, unchanged from 5.10 to 7.2 except PF_IO_WORKER (0x10 since 5.12) */
#define PF_IO_WORKER 0x00000010
#define PF_KSWAPD    0x00020000
#define PF_KTHREAD   0x00200000
#define TASK_DEAD    0x00000080
/* include/linux/fs.h */
#define FMODE_RANDOM  (1u << 12)
#define FMODE_NOREUSE (1u << 23)
#define FMODE_CREATED (1u << 20)
/* include/linux/mm.h */
#define VM_EXEC	     0x00000004
#define VM_SEQ_READ  0x00008000
#define VM_RAND_READ 0x00010000
/* include/uapi/linux/fcntl.h */
#define AT_REMOVEDIR 0x200
/* include/uapi/asm-generic/errno-base.h, include/linux/errno.h */
#define EBADF		      9
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516
#define EIOCBQUEUED	      529
/* include/uapi/linux/magic.h */
#define PROC_SUPER_MAGIC      0x9fa0
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#define BTRFS_SUPER_MAGIC     0x9123683e
#define TMPFS_MAGIC	      0x01021994
/* include/linux/fs.h: flags of a single read or write */
#define MAX_RW_COUNT 0x7ffff000ul
/* include/uapi/linux/io_uring.h */
enum {
	IORING_OP_READV = 1,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_READ = 22,
	IORING_OP_FADVISE = 24,
	IORING_OP_MADVISE = 25,
	IORING_OP_SPLICE = 30,
	IORING_OP_READ_MULTISHOT = 49,
};
/* include/linux/io_uring_types.h: the same bit as IOSQE_FIXED_FILE of the uapi */
#define REQ_F_FIXED_FILE  1
#define REQ_F_FORCE_ASYNC (1 << 4) /* as IOSQE_ASYNC */
/* include/linux/fs.h, since 5.10 */
#define IOCB_NOWAIT 0x8 /* RWF_NOWAIT */
#define IOCB_WAITQ  (1 << 19)
/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
/* block/fops.c, since 5.15 */
#define DIO_IS_SYNC 2

#define MSG_PEEK    2
#define AF_INET	    2
#define AF_INET6    10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

#endif
