// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every advice call, whether it moves pages or not. It costs each system call of the machine while
 * attached, so it is optional (--advice calls), and its cost is shown separately.
 */
#include "bpf/roles/advice.bpf.h"
#include "bpf/roles/cached.bpf.h"

/* How much of the requested range is cached already. */
GLOBAL int advice_look(struct advice_row *row, __u64 inode_addr, __u64 kind, __u64 begin, __u64 end)
{
	struct inode *inode = CAST(inode, inode_addr);
	__u64 size = READ(inode, i_size), pages = 0;

	if (!row ||
	    (kind != ADVICE_WILLNEED && kind != ADVICE_READAHEAD && kind != ADVICE_DONTNEED))
		return 0;
	if (end > size)
		end = size;
	if (end > begin && !cached_count((__u64)READ(inode, i_mapping), begin >> page_shift,
					 (end - 1) >> page_shift, &pages))
		return 0;
	__sync_fetch_and_add(&row->looked, 1);
	if (pages)
		__sync_fetch_and_add(&row->pages_cached, pages);
	return 0;
}

static __noinline int advice_call(struct live *l)
{
	__u64 regs = l->regs;
	struct vma_seen x = {.l = l};
	struct advice_ask a;
	struct inode *inode;
	bool mapped;
	struct advice_row *row;

	if (l->s.job == JOB_OTHERS || !l->regs || !advice_find(l, &a) || !a.kind)
		return 0;
	mapped = REGS_NR(regs) == NR_madvise;
	if (mapped)
		vma_find(REGS_ARG1(regs), &x);
	else
		x.file = addr_of(l, file_of_fd(CAST(task_struct, l->task), (__u32)REGS_ARG1(regs)));
	if (!x.file)
		return 0;
	inode = READ(file_of_pages(CAST(file, x.file)), f_mapping, host);
	if (!inode_counts(inode))
		return 0;
	row = advice_row_of(l, inode, a.kind, a.call);
	if (row) {
		advice_count(row, inode, &a);
		advice_look(row, addr_of(l, inode), a.kind, a.begin, a.end);
	}
	live_row(l, inode, mapped ? x.file : HINT_OWN, l->s.job);
	if (trace_may(inode))
		trace_advice(l, inode, &a);
	l->s.advice_id = 0;
	return 0;
}

/* The kind of call and of program is determined later. */
static __always_inline bool nr_may_advise(long nr)
{
	return nr == NR_fadvise64 || nr == NR_madvise || nr == NR_readahead ||
	       ARCH_COMPAT_ADVISES(nr);
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(advice_call_tp, __u64 regs, long nr)
{
	if (!nr_may_advise(nr))
		return 0;
	return WITH_LIVE(l, EV_ADVICE_CALL, advice_call(l));
}
