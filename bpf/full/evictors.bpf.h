/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Evictors: the task that runs when a page of the job is evicted, and what it was doing. For
 * kswapd, which works for everybody, also the pages that other processes added meanwhile. Owns the
 * maps of evictors and adders. Only counts: user space finds the paths and divides kswapd's pages.
 */
#ifndef FULL_EVICTORS_BPF_H
#define FULL_EVICTORS_BPF_H

#include "bpf/state/live.bpf.h"

/* The effect of a system call on files, and the argument that is the file; 0: no effect. */
static __always_inline __u32 call_does(long nr, __u32 *ret_arg)
{
	*ret_arg = 1;
	switch (nr) {
	case NR_read:
	case NR_pread64:
	case NR_readv:
	case NR_preadv:
	case NR_preadv2:
	case NR_fadvise64:
	case NR_readahead:
		return DOES_READ;
	case NR_sendfile:
		*ret_arg = 2;
		return DOES_READ;
	case NR_write:
	case NR_pwrite64:
	case NR_writev:
	case NR_pwritev:
	case NR_pwritev2:
	case NR_fallocate:
		return DOES_WRITE;
	default:
		*ret_arg = 0;
		return DOES_NEITHER;
	}
}

/* The action of the running task, and its file (without a file its key is unchanged). */
GLOBAL int task_does(struct live *l, struct file_key *reached)
{
	struct task_struct *t;
	__u64 regs;
	struct inode *inode;
	struct file *file;
	__u32 does, arg;

	if (!l || !reached)
		return DOES_NEITHER;
	t = CAST(task_struct, l->task);
	regs = l->regs;
	if (!l->regs)
		return DOES_NEITHER;
	if (l->s.fault_inode && l->s.fault_id == fault_clock(t)) {
		*reached = l->s.fault_file;
		return DOES_READ;
	}
	does = call_does(REGS_NR(regs), &arg);
	if (!arg)
		return does;
	file = file_of_fd(t, (__u32)(arg == 2 ? REGS_ARG2(regs) : REGS_ARG1(regs)));
	if (!file)
		return DOES_NEITHER;
	inode = READ(file, f_mapping, host);
	if (!inode_counts(inode))
		return DOES_NEITHER;
	file_key_of(inode, reached);
	return does;
}

static __always_inline __u64 memory_cgroup_id(struct task_struct *t)
{
	return READ(memory_cgroup(READ(t, cgroups)), kn, id);
}

static __noinline __u64 *evictor_entry(const struct evictor_key *key, __u32 at_epoch)
{
	bool b = at_epoch & 1;
	__u64 *pages, zero = 0;
	long refused;

	pages = b ? bpf_map_lookup_elem(&evictors_b, key) : bpf_map_lookup_elem(&evictors_a, key);
	if (pages)
		return pages;
	refused = b ? bpf_map_update_elem(&evictors_b, key, &zero, BPF_NOEXIST)
		    : bpf_map_update_elem(&evictors_a, key, &zero, BPF_NOEXIST);
	if (!refused)
		__sync_fetch_and_add(&shared.evictors_used, 1);
	return b ? bpf_map_lookup_elem(&evictors_b, key) : bpf_map_lookup_elem(&evictors_a, key);
}

static __always_inline bool evictor_same(const struct evictor_key *a, const struct evictor_key *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;
	__u64 other = 0;

	_Static_assert(sizeof(*a) % sizeof(*x) == 0, "words");
	for (__u32 i = 0; i < sizeof(*a) / sizeof(*x); i++)
		other |= x[i] ^ y[i];
	return !other;
}

static __always_inline void evictor_run_end(struct evictor_run *run, __u32 at_epoch)
{
	__u32 cause = run->key.cause;
	__u64 *count;

	if (!run->pages || cause >= EVICT_NR)
		return;
	count = evictor_entry(&run->key, at_epoch);
	__sync_fetch_and_add(count ?: &shared.evictors_full[cause], run->pages);
}

/* The task that evicts: its name, and its owner. Numbers in names of kernel threads would make
 * an entry for each. */
static __always_inline void evictor_who(struct live *l, struct evictor_key *key)
{
	struct task_struct *t = CAST(task_struct, l->task);
	__u32 flags = READ(t, flags);

	bpf_get_current_comm(key->comm, sizeof(key->comm));
	if (flags & PF_KTHREAD && !(flags & PF_IO_WORKER)) {
		key->kind = EVICTOR_KERNEL;
		__builtin_memset(key->comm + 7, 0, sizeof(key->comm) - 7);
	} else if (l->s.job != JOB_OTHERS) {
		key->kind = EVICTOR_OWN;
	} else {
		key->kind = EVICTOR_OTHERS;
		key->cgroup = memory_cgroup_id(t);
	}
}

/* Pages of the job were evicted. */
GLOBAL int evictor_note(struct live *l, struct file_key *owner, enum evict_cause cause, __u64 pages)
{
	struct evictor_key key = {.cause = cause, .does = DOES_NEITHER};
	struct evictor_run *run;
	__u32 slot;

	if (!l || !owner || cause >= EVICT_NR)
		return 0;
	if (shared.evictors_shed) {
		__sync_fetch_and_add(&shared.evictors_full[cause], pages);
		return 0;
	}
	key.owner = *owner;
	evictor_who(l, &key);
	if (key.kind != EVICTOR_KERNEL &&
	    (cause == EVICT_RECLAIM_DIRECT || cause == EVICT_RECLAIM_MEMCG ||
	     cause == EVICT_DIRECT_IO))
		key.does = task_does(l, &key.reached);
	/* The names of other processes' files are unknown. */
	if (key.kind != EVICTOR_OWN)
		key.reached = (struct file_key){};
	slot = l->epoch & 1;
	run = bpf_map_lookup_elem(&evictor_runs, &slot);
	if (!run) {
		__sync_fetch_and_add(&shared.evictors_full[cause], pages);
		return 0;
	}
	if (!evictor_same(&run->key, &key)) {
		evictor_run_end(run, l->epoch);
		run->key = key;
		run->pages = 0;
	}
	run->pages += pages;
	return 0;
}

/* Another process added pages to the cache. */
GLOBAL int adder_note(struct live *l, __u64 pages, __u32 does)
{
	struct adder_key key = {.does = does};
	__u64 *count, zero = 0;

	if (!l || shared.evictors_shed)
		return 0;
	key.generation = l->epoch & 1;
	key.cgroup = memory_cgroup_id(CAST(task_struct, l->task));
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	count = bpf_map_lookup_elem(&adders, &key);
	if (!count) {
		bpf_map_update_elem(&adders, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&adders, &key);
	}
	__sync_fetch_and_add(count ?: &shared.adders_full, pages);
	return 0;
}

#endif
