/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The row in which an event of the running task counts, as in full/live_rows.bpf.h: one that all
 * CPUs share. Events do not check names.
 */
#ifndef BASIC_LIVE_ROWS_BPF_H
#define BASIC_LIVE_ROWS_BPF_H

#include "bpf/state/live.bpf.h"

static __noinline struct file_row *live_row(struct live *l, struct inode *inode, __u64 hint,
					    __u32 job)
{
	struct file_key key = {};
	struct file_row *row;
	bool made = false;

	if (job == JOB_WATCHED)
		file_key_of(inode, &key);
	row = shared_row(&key, job, l->epoch, &made);
	if (row && job == JOB_WATCHED)
		row_refresh(l, row, inode, hint, !made);
	return row;
}

static __always_inline struct file_row *call_row(struct live *l, struct inode *inode)
{
	return live_row(l, inode, HINT_OWN, l->s.job);
}

static __always_inline int row_name(struct live *l, __u64 inode_addr, __u64 file)
{
	return 0;
}

static __always_inline struct counts_at counts_of(struct live *l, const struct file_key *file)
{
	bool own = l->s.job == JOB_WATCHED, made = false;
	struct file_key nobody = {};

	return (struct counts_at){shared_row(own ? file : &nobody, l->s.job, l->epoch, &made),
				  false};
}

#endif
