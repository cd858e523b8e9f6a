/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of counters: find or make the row of a (job, file), add to it. Owns row creation and what
 * happens when the map is full: the counts go to the job's rest row, so totals stay exact.
 */
#ifndef ROWS_BPF_H
#define ROWS_BPF_H

#include "maps.bpf.h"

static const struct file_row zero_row;

static __always_inline void file_key_of(struct inode *inode, struct file_key *key)
{
	key->ino = inode->i_ino;
	key->dev = inode->i_sb->s_dev;
	key->gen = inode->i_generation;
}

/* *ret_new is set when the row was made now: the caller may send the file's name. NULL only when
 * even the rest row is missing, which user space makes before each flip. */
static __noinline struct file_row *row_of_key(struct file_key *file, __u32 job, __u32 at_epoch,
					      bool *ret_new)
{
	struct file_row_key key = {.file = *file, .job = job};
	struct file_row *row;
	bool b = at_epoch & 1;

	/* Everybody else is one row. */
	if (job == JOB_OTHERS)
		key.file = (struct file_key){};
	row = b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
	if (row)
		return row;
	if (b)
		bpf_map_update_elem(&rows_b, &key, &zero_row, BPF_NOEXIST);
	else
		bpf_map_update_elem(&rows_a, &key, &zero_row, BPF_NOEXIST);
	row = b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
	if (row) {
		__sync_fetch_and_add(&rows_used, 1);
		*ret_new = true;
		return row;
	}
	__sync_fetch_and_add(&losses.map_full, 1);
	key.file = (struct file_key){};
	return b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
}

static __always_inline void row_add(struct file_row *row, enum counter c, __s64 n)
{
	__u32 i = c;

	if (row && n && i < C_NR)
		__sync_fetch_and_add(&row->c[i], n);
}

#endif
