/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The row in which an event of the running task counts: a cell of its CPU, which may be taken from
 * another file. Owns which file has a cell.
 */
#ifndef FULL_LIVE_ROWS_BPF_H
#define FULL_LIVE_ROWS_BPF_H

#include "bpf/state/live.bpf.h"

/* Gives a cell to this file; the previous file's counts go to its row. */
GLOBAL int cell_take(struct live *l, __u64 inode_addr, __u64 hint, __u32 slot)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct file_row *row;
	bool made = false;
	struct cell *c;

	if (!l)
		return 0;
	c = cell_of_ino(l->epoch, READ(inode, i_ino), slot);
	if (!c)
		return 0;
	cell_flush(c, l->epoch);
	file_key_of(inode, &c->file);
	c->inode = inode_addr;
	c->slot = slot;
	row = shared_row(&c->file, slot, l->epoch, &made);
	c->row.flags = row ? row->flags : 0;
	c->row.size_since = 0;
	row_refresh(l, &c->row, inode, hint, !made);
	if (row)
		__sync_fetch_and_or(&row->flags, c->row.flags);
	/*
	 * Another process has an event on a file of the job, or on one with the same inode number.
	 * It does not choose the file for tracing; when the job takes the cell again, its first
	 * event does. Kernel threads evict what the job brought in earlier.
	 */
	if (l->s.job != JOB_OTHERS) {
		if (shared.tracing.on)
			trace_choose(l, inode_addr);
	} else if (!(READ(CAST(task_struct, l->task), flags) & PF_KTHREAD)) {
		c->inode = 0;
	}
	return 0;
}

/* The row for an event of the running task on this inode. */
static __always_inline struct file_row *live_row(struct live *l, struct inode *inode, __u64 hint,
						 __u32 job)
{
	__u64 ino = READ(inode, i_ino);
	__u32 slot = own_slot(job);
	struct cell *c;

	if (job == JOB_OTHERS) {
		c = cell_slot(l->epoch, CELL_OTHERS);
		return c ? &c->row : NULL;
	}
	c = cell_of_ino(l->epoch, ino, slot);
	if (!c)
		return NULL;
	if (cell_is_of(c, inode, ino, slot))
		row_refresh(l, &c->row, inode, hint, true);
	else
		cell_take(l, addr_of(l, inode), hint, slot);
	return &c->row;
}

/* The row in which this read and later ones like it count. */
static __always_inline struct file_row *call_row(struct live *l, struct inode *inode)
{
	__u32 slot = own_slot(l->s.job);
	__u64 ino;
	struct cell *c;

	if (l->s.job == JOB_OTHERS) {
		c = cell_slot(l->epoch, CELL_OTHERS);
		return c ? &c->row : NULL;
	}
	ino = READ(inode, i_ino);
	c = cell_of_ino(l->epoch, ino, slot);
	if (!c)
		return NULL;
	if (!cell_is_of(c, inode, ino, slot))
		cell_take(l, addr_of(l, inode), HINT_OWN, slot);
	else if (!(c->row.flags & ROW_NAMED))
		row_refresh(l, &c->row, inode, HINT_OWN, true);
	/* Takes tallied reads only once the name was checked by a descriptor, because plain reads
	 * do not check. */
	if (c->row.flags & ROW_NAMED)
		tally_take(c, l->epoch);
	return &c->row;
}

/*
 * An event with a file but without a descriptor of the call. The path of a file that an overlay
 * opened is the job's path, which the inode does not lead to.
 */
GLOBAL int row_name(struct live *l, __u64 inode_addr, __u64 file)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct file_row *row;

	if (!l || !file || l->s.job == JOB_OTHERS)
		return 0;
	row = live_row(l, inode, file, l->s.job);
	if (!row || row->flags & ROW_NAMED)
		return 0;
	name_send(l, inode_addr, file, 0);
	row->flags |= ROW_NAMED;
	return 0;
}

static __always_inline struct counts_at counts_of(struct live *l, const struct file_key *file)
{
	bool own = l->s.job != JOB_OTHERS, made = false;
	struct file_key nobody = {};
	__u32 slot = job_slot(l->s.job);
	struct cell *c =
		own ? cell_of_ino(l->epoch, file->ino, slot) : cell_slot(l->epoch, CELL_OTHERS);

	if (!c)
		return (struct counts_at){};
	if (!own || cell_has_key(c, file, slot))
		return (struct counts_at){&c->row, true};
	return (struct counts_at){shared_row(own ? file : &nobody, slot, l->epoch, &made), false};
}

#endif
