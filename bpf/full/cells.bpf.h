/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cells, in front of the rows: events count in a cell of their CPU, which is added to the row when
 * another file needs the cell. Whole reads of cached pages count in a tally in front of the cell
 * (tally.bpf.h). After a generation has ended, a sweep moves what is left to the rows. A cell is
 * written without atomic operations, because its program is the only one on its CPU; alone.bpf.h
 * ensures that. Rows are shared.
 */
#ifndef FULL_CELLS_BPF_H
#define FULL_CELLS_BPF_H

#include "bpf/state/rows.bpf.h"

static __always_inline bool file_key_same(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen;
}

/* The inode's address was this file's. The memory may belong to another inode now, and a copy of
 * a filesystem has the same file except for the device. */
static __always_inline bool file_key_is_of(const struct file_key *key, struct inode *inode,
					   __u64 ino)
{
	return key->ino == ino && key->gen == READ(inode, i_generation) &&
	       key->dev == file_dev(inode);
}

static __always_inline void shared_row_add(struct file_row *row, enum counter c, __s64 n)
{
	__u32 i = c;

	if (row && n && i < C_NR)
		__sync_fetch_and_add(&row->c[i], n);
}

/* A counter of a cell's row. If it is in memory, uses the copy that was checked: the verifier of
 * 6.1 does not know that two loads of it are equal. */
static __always_inline void row_add(struct file_row *row, enum counter c, __s64 n)
{
	__u64 i = c;

	if (!__builtin_constant_p(c))
		barrier_var(i);
	if (!row || i >= C_NR)
		return;
	if (!__builtin_constant_p(c))
		barrier_var(i);
	row->c[i] += n;
	row->touched |= 1u << (i / 8);
}

static __always_inline struct cell *cell_slot(__u32 at_epoch, __u32 slot)
{
	__u32 key = (at_epoch & 1) * CELLS_NR + slot;

	return bpf_map_lookup_elem(&cells, &key);
}

/* The cell that this file may have for a job; the caller checks whose it is. Jobs that share a file
 * have different cells. */
static __always_inline struct cell *cell_of_ino(__u32 at_epoch, __u64 ino, __u32 slot)
{
	return cell_slot(at_epoch, (ino + slot) & (CELLS_FILES - 1));
}

static __always_inline bool cell_is_of(const struct cell *c, struct inode *inode, __u64 ino,
				       __u32 slot)
{
	return c->inode == (__u64)inode && c->slot == slot && file_key_is_of(&c->file, inode, ino);
}

static __always_inline bool cell_has_key(const struct cell *c, const struct file_key *file,
					 __u32 slot)
{
	return c->inode && c->slot == slot && file_key_same(&c->file, file);
}

struct cell_to_row {
	struct cell *c;
	struct file_row *row; /* NULL: none */
};

/* Eight counters that may have changed. */
STEP cell_flush_step(__u32 group, struct cell_to_row *x)
{
	struct cell *c = x->c;

	if (!(c->row.touched >> (group & 31) & 1))
		return 0;
	for (__u32 i = 0; i < 8; i++) {
		__u32 counter = (group & 31) * 8 + i;

		if (counter >= C_NR)
			break;
		shared_row_add(x->row, counter, c->row.c[counter]);
		c->row.c[counter] = 0;
	}
	return 0;
}

/* Adds what the cell holds to its row. */
GLOBAL int cell_flush(struct cell *c, __u32 at_epoch)
{
	struct cell_to_row x = {.c = c};
	bool made = false;

	if (!c || (!c->row.touched && !c->inode))
		return 0;
	x.row = shared_row(&c->file, c->slot, at_epoch, &made);
	if (x.row) {
		/* Another CPU may have seen a newer state; the sweep of names notices a restored
		 * link. */
		__sync_fetch_and_or(&x.row->flags, c->row.flags);
		if (c->row.size_since >= x.row->size_since) {
			x.row->size_bytes = c->row.size_bytes;
			x.row->size_since = c->row.size_since;
		}
	}
	if (c->row.touched)
		LOOP((C_NR + 7) / 8, (C_NR + 7) / 8, cell_flush_step, &x);
	c->row.touched = 0;
	return 0;
}

#endif
