// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs of full/sweep.bpf.c as iterators over the elements of a map. Their arguments are in
 * sweep_arg, their result in sweep_sum. There are no cells, and a running task's open charges wait
 * for its switch. Code that changes a block holds its lock.
 */
#include "bpf/basic/page_state.bpf.h"
#include "bpf/roles/sweep.bpf.h"

static __always_inline bool block_key_at(struct bpf_iter__bpf_map_elem *ctx, struct block_key *key)
{
	const struct block_key *at = ctx->key;

	if (!at)
		return false;
	*key = *at;
	return true;
}

/* The first sweep marks a block; the second drops it unless it was touched meanwhile. */
static __noinline int ghosts_sweep(struct block_key *key)
{
	struct block *b = bpf_map_lookup_elem(&blocks, key);
	int ghosts = 0;

	if (!b)
		return 0;
	if (!block_is_ghosts(b)) {
		b->going = BLOCK_STAYS;
		return 0;
	}
	if (!shared.sweep_arg) {
		b->going = BLOCK_MAY_GO;
		return 0;
	}
	if (b->going != BLOCK_MAY_GO)
		return 0;
	for (int i = 0; i < BLOCK_CHUNKS; i++)
		ghosts += popcount64(b->chunks[i].mark);
	if (bpf_map_delete_elem(&blocks, key))
		return 0;
	__sync_fetch_and_add(&shared.losses.ghosts_dropped, ghosts);
	__sync_fetch_and_add(&shared.blocks_used, -1);
	return 0;
}

SEC("?iter/bpf_map_elem")
int sweep_ghosts(struct bpf_iter__bpf_map_elem *ctx)
{
	struct block_key key;
	__u64 lock;

	if (!block_key_at(ctx, &key))
		return 0;
	lock = block_lock_of(&key);
	/* Otherwise a later sweep tries again. */
	if (lock_take(lock)) {
		ghosts_sweep(&key);
		lock_drop(lock);
	}
	return 0;
}

/* As giveup_step(). */
static __noinline int fates_sweep(struct block_key *key)
{
	struct block *b = bpf_map_lookup_elem(&blocks, key);
	int n = 0;

	for (int i = 0; i < BLOCK_CHUNKS && b; i++) {
		n += popcount64(b->chunks[i].outstanding);
		b->chunks[i].outstanding = 0;
	}
	return n;
}

SEC("?iter/bpf_map_elem")
int sweep_fates(struct bpf_iter__bpf_map_elem *ctx)
{
	struct block_key key;
	struct file_row *row;
	bool made = false;
	__u64 lock;
	int n;

	if (!block_key_at(ctx, &key))
		return 0;
	lock = block_lock_of(&key);
	if (!lock_take(lock)) {
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
		return 0;
	}
	n = fates_sweep(&key);
	lock_drop(lock);
	if (!n)
		return 0;
	row = shared_row(&key.file, JOB_WATCHED, shared.epoch, &made);
	shared_row_add(row, C_resident_unused, -n);
	shared_row_add(row, C_untracked, n);
	return 0;
}

SEC("?iter/bpf_map_elem")
int sweep_count(struct bpf_iter__bpf_map_elem *ctx)
{
	struct block_key key;
	struct block *b;
	__u64 sum = 0;

	if (!block_key_at(ctx, &key))
		return 0;
	b = bpf_map_lookup_elem(&blocks, &key);
	if (!b)
		return 0;
	count_step(NULL, &key, b, &sum);
	__sync_fetch_and_add(&shared.sweep_sum, sum);
	return 0;
}

SEC("?iter/bpf_map_elem")
int sweep_cells(struct bpf_iter__bpf_map_elem *ctx)
{
	return 0;
}

SEC("?iter/bpf_map_elem")
int sweep_ended(struct bpf_iter__bpf_map_elem *ctx)
{
	return 0;
}

SEC("?iter/bpf_map_elem")
int sweep_charges(struct bpf_iter__bpf_map_elem *ctx)
{
	return 0;
}

/* The name to check; NULL: none. */
static __always_inline struct name_work *name_at(struct bpf_iter__bpf_map_elem *ctx)
{
	__u32 scratch = SCRATCH_SWEEP;
	struct name_work *w = bpf_map_lookup_elem(&name_scratch, &scratch);
	struct file_row_key key = {};
	struct name_seen *seen;
	bool all = shared.sweep_arg == NAMES_OF_ALL;

	/* Copied with a helper: for loads from a key the kernel checks the size of each map. */
	if (!w || !ctx->key ||
	    bpf_probe_read_kernel(&key, all ? sizeof(key.file) : sizeof(key), ctx->key))
		return NULL;
	if (!all && key.job != JOB_WATCHED)
		return NULL;
	w->key = key.file;
	seen = bpf_map_lookup_elem(&named, &w->key);
	if (!seen)
		return NULL;
	w->seen = *seen;
	return w;
}

static __noinline int name_row(struct name_work *w)
{
	struct file_row_key key = {.file = w->key, .job = JOB_WATCHED};
	struct file_row *row = shared.sweep_arg == NAMES_OF_ROWS_A
				       ? bpf_map_lookup_elem(&rows_a, &key)
				       : bpf_map_lookup_elem(&rows_b, &key);

	if (row)
		row_at_end(row, &w->key, &w->seen);
	return 0;
}

/* name_step_row() and name_step_all() in one. */
SEC("?iter/bpf_map_elem")
int sweep_names(struct bpf_iter__bpf_map_elem *ctx)
{
	struct name_work *w = name_at(ctx);

	if (!w)
		return 0;
	name_check(&w->key, &w->seen);
	if (shared.sweep_arg != NAMES_OF_ALL)
		name_row(w);
	return 0;
}
