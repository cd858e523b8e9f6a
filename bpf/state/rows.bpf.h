/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of counters. Owns the rows of a generation, one a file (made on demand; when the map is full
 * the counts go to the rest row, so that totals stay exact), and what is in front of them: events
 * count into a cell of their CPU, which is added to the row when another file takes its place, and
 * whole reads of cached pages into a tally in front of the cell (tally.bpf.h). When a generation
 * has ended, a sweep moves what is left there to the rows.
 *
 * A cell is written without atomic steps, by a program that is alone on its CPU: alone.bpf.h says
 * what makes it so. Rows are shared.
 */
#ifndef ROWS_BPF_H
#define ROWS_BPF_H

#include "bpf/state/maps.bpf.h"

static const struct file_row zero_row;

/*
 * Of a file of btrfs: that of its subvolume, for a snapshot has all inode numbers and generations
 * of what it is of. Where the types of its module are not known it is dev, as for the trees that no
 * user sees. By offsets: programs can be given the kernel's own types, not those of modules.
 */
static __noinline __u32 subvolume_dev(struct inode *inode, __u32 dev)
{
	__u64 at = (__u64)inode, root;
	__u32 anon;

	if (!bpf_core_field_exists(struct btrfs_root, anon_dev))
		return dev;
	at -= bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	root = load_ptr(at + bpf_core_field_offset(struct btrfs_inode, root));
	anon = load_ptr(root + bpf_core_field_offset(struct btrfs_root, anon_dev));
	return anon ? anon : dev;
}

static __always_inline bool subvolumes_are_one(struct super_block *sb)
{
	return !bpf_core_field_exists(struct btrfs_root, anon_dev) &&
	       READ(sb, s_magic) == BTRFS_SUPER_MAGIC;
}

/* The device of a file, as stat(2) has it. Devices that are disks have a major number. */
static __always_inline __u32 file_dev(struct inode *inode)
{
	struct super_block *sb = READ(inode, i_sb);
	__u32 dev = READ(sb, s_dev);

	if (dev >> 20 || READ(sb, s_magic) != BTRFS_SUPER_MAGIC)
		return dev;
	return subvolume_dev(inode, dev);
}

static __always_inline void file_key_of(struct inode *inode, struct file_key *key)
{
	key->ino = READ(inode, i_ino);
	key->dev = file_dev(inode);
	key->gen = READ(inode, i_generation);
}

static __always_inline bool file_key_same(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen;
}

/* Of an inode whose address was this file's: its memory may have become another's, and a copy of a
 * filesystem has all of the file but the device. */
static __always_inline bool file_key_is_of(const struct file_key *key, struct inode *inode,
					   __u64 ino)
{
	return key->ino == ino && key->gen == READ(inode, i_generation) &&
	       key->dev == file_dev(inode);
}

/* *ret_new is set when it was made now: the caller may send the file's name. NULL
 * only when even the rest row is missing, which user space makes before each flip. */
static __noinline struct file_row *shared_row(const struct file_key *file, __u32 job,
					      __u32 at_epoch, bool *ret_new)
{
	struct file_row_key key = {.file = *file, .job = job};
	struct file_row *row;
	bool b = at_epoch & 1;
	long refused;

	row = b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
	if (row)
		return row;
	refused = b ? bpf_map_update_elem(&rows_b, &key, &zero_row, BPF_NOEXIST)
		    : bpf_map_update_elem(&rows_a, &key, &zero_row, BPF_NOEXIST);
	row = b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
	if (row && refused) /* another CPU was first */
		return row;
	if (row) {
		__sync_fetch_and_add(&shared.rows_used, 1);
		*ret_new = true;
		return row;
	}
	__sync_fetch_and_add(&shared.losses.map_full, 1);
	key.file = (struct file_key){};
	return b ? bpf_map_lookup_elem(&rows_b, &key) : bpf_map_lookup_elem(&rows_a, &key);
}

static __always_inline void shared_row_add(struct file_row *row, enum counter c, __s64 n)
{
#ifdef CACHEMON_BASIC
	/* clang 19 would compare the lower half of it and mask the whole: the verifier of 5.10 then
	 * does not know that it is small. */
	__u64 i = c;

	if (!__builtin_constant_p(c))
		barrier_var(i);
#else
	__u32 i = c;
#endif

	if (row && n && i < C_NR)
		__sync_fetch_and_add(&row->c[i], n);
}

#ifdef CACHEMON_BASIC
/* Cells are emptied by a program that looks into all CPUs': without it rows are counted in. */
static __always_inline void row_add(struct file_row *row, enum counter c, __s64 n)
{
	shared_row_add(row, c, n);
}
#else
/* Of a cell's row. Where the counter is in memory, that copy of it is used that was checked: of two
 * loads of it the verifier of 6.1 does not know that they are alike. */
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

/* The slot this file may have; whose it is now is for the caller to see. */
static __always_inline struct cell *cell_of_ino(__u32 at_epoch, __u64 ino)
{
	return cell_slot(at_epoch, ino & (CELLS_FILES - 1));
}

static __always_inline bool cell_is_of(const struct cell *c, struct inode *inode, __u64 ino)
{
	return c->inode == (__u64)inode && file_key_is_of(&c->file, inode, ino);
}

static __always_inline bool cell_has_key(const struct cell *c, const struct file_key *file)
{
	return c->inode && file_key_same(&c->file, file);
}

struct cell_flush {
	struct cell *c;
	struct file_row *row; /* NULL: none */
};

/* Eight counters that may have moved. */
STEP cell_flush_step(__u32 group, struct cell_flush *x)
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
GLOBAL int cell_flush(struct cell *c, __u32 job, __u32 at_epoch)
{
	struct cell_flush x = {.c = c};
	bool made = false;

	if (!c || (!c->row.touched && !c->inode))
		return 0;
	x.row = shared_row(&c->file, job, at_epoch, &made);
	if (x.row) {
		/* Another CPU may have seen more; a link that came back the sweep of names sees. */
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

#endif
