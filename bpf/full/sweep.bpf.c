// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs that user space runs over whole maps: they move a generation's counts from the CPUs to
 * its rows, find what running tasks are not charged with yet, drop ghosts when the page state
 * fills, give up fates when the per-read hook goes off, and look for changed names. They never run
 * in the job's tasks.
 */
#include "bpf/full/page_state.bpf.h"
#include "bpf/roles/sweep.bpf.h"

/* The first entry of a block stays while further ones need it. */
static __always_inline bool block_may_go(const struct block_key *key, struct block *b)
{
	return block_is_ghosts(b) &&
	       !(many_jobs() && !(key->block & JOB_SLOT) && b->owner & OWNER_MORES);
}

static __noinline void first_forgets(const struct block_key *key)
{
	struct block_key first = *key;
	struct block *b;

	first.block &= ~(__u64)JOB_SLOT;
	b = bpf_map_lookup_elem(&blocks, &first);
	if (b)
		__sync_fetch_and_add(&b->owner, -OWNER_MORE);
}

STEP ghost_mark_step(struct bpf_map *map, struct block_key *key, struct block *b, void *x)
{
	if (block_may_go(key, b))
		word_swap(&b->going, BLOCK_STAYS, BLOCK_MAY_GO);
	return 0;
}

/* Drops a marked entry, after a grace period. */
STEP ghost_drop_step(struct bpf_map *map, struct block_key *key, struct block *b, void *x)
{
	int ghosts = 0;

	/* A CPU that read the state before the mark may have added a page. */
	if (!block_may_go(key, b)) {
		word_swap(&b->going, BLOCK_MAY_GO, BLOCK_STAYS);
		return 0;
	}
	if (word_swap(&b->going, BLOCK_MAY_GO, BLOCK_GONE) != BLOCK_MAY_GO)
		return 0;
	for (int i = 0; i < BLOCK_CHUNKS; i++)
		ghosts += popcount64(b->chunks[i].mark);
	if (!bpf_map_delete_elem(&blocks, key)) {
		__sync_fetch_and_add(&shared.losses.ghosts_dropped, ghosts);
		__sync_fetch_and_add(&shared.blocks_used, -1);
		if (many_jobs() && key->block & JOB_SLOT)
			first_forgets(key);
	} else {
		word_swap(&b->going, BLOCK_GONE, BLOCK_STAYS);
	}
	return 0;
}

/* The per-read hook went off: the use of these pages can no longer be seen. User space zeroes
 * the counts in outstanding[] afterwards, because no page gets a fate while the hook is off. */
STEP giveup_step(struct bpf_map *map, struct block_key *key, struct block *b, __u32 *now)
{
	struct file_row *row;
	bool made = false;
	struct file_key file = key->file;
	int n = 0;

	for (int i = 0; i < BLOCK_CHUNKS; i++) {
		struct chunk *c = &b->chunks[i];
		__u64 out;

		if (!c->outstanding)
			continue;
		out = bits_clear(&c->outstanding, ~0ull);
		n += popcount64(out);
		if (!many_jobs() && out & c->advised)
			advice_fate(&file, b->advisers >> i * 8 & 7, C_untracked,
				    popcount64(out & c->advised), 0);
	}
	if (!n || (many_jobs() && !job_is_live(owner_of(b->owner))))
		return 0;
	row = shared_row(&file, many_jobs() ? b->owner & JOB_SLOT : JOB_WATCHED, *now, &made);
	shared_row_add(row, C_resident_unused, -n);
	shared_row_add(row, C_untracked, n);
	return 0;
}

/*
 * No event reports a rename. A name is read at its file's first event of an interval and here after
 * the interval; at the end of the run, every name is read again.
 */
/* Older verifiers do not accept a key or a value of a map from the caller's memory. */
GLOBAL int name_sweep(struct file_key *file, struct name_seen *seen)
{
	struct name_seen copy;
	struct file_key key;

	if (!file || !seen)
		return 0;
	key = *file;
	copy = *seen;
	name_check(&key, &copy);
	*seen = copy;
	return 0;
}

STEP name_step_row(struct bpf_map *map, struct file_row_key *key, struct file_row *row, void *x)
{
	struct file_key file = key->file;
	struct name_seen *seen, copy;

	if (key->job == JOB_OTHERS)
		return 0;
	seen = bpf_map_lookup_elem(&named, &file);
	if (!seen)
		return 0;
	copy = *seen;
	name_sweep(&file, &copy);
	row_at_end(row, &file, &copy);
	return 0;
}

STEP name_step_all(struct bpf_map *map, struct file_key *key, struct name_seen *seen, void *x)
{
	struct file_key file = *key;
	struct name_seen copy = *seen;

	name_sweep(&file, &copy);
	return 0;
}

/* Moves a CPU's counts of a generation that is now quiet to the rows. */
static long cells_step(__u32 cpu, struct sweep_cells_args **args)
{
	struct sweep_cells_args *x = *args;
	__u32 generation = x->generation & 1;
	struct tally *t = tally_of(cpu);

	if (t && t->generation == tally_generation(generation)) {
		tally_flush(t, generation);
		__sync_lock_test_and_set(&t->generation, TALLY_FREE);
	}
	for (__u32 slot = 0; slot < CELLS_NR; slot++) {
		__u32 key = generation * CELLS_NR + slot;
		struct cell *c = bpf_map_lookup_percpu_elem(&cells, &key, cpu);

		if (!c)
			continue;
		cell_flush(c, generation);
		c->inode = 0;
	}
	return 0;
}

/* Many jobs: empties the entries of jobs that have ended. No program uses their pages any more. */
STEP ended_step(struct bpf_map *map, struct block_key *key, struct block *b, void *x)
{
	__u32 owner = owner_of(b->owner);
	__u64 open = 0;

	if (!owner || job_is_live(owner))
		return 0;
	for (int i = 0; i < BLOCK_CHUNKS; i++) {
		struct chunk *c = &b->chunks[i];

		open += popcount64(c->outstanding);
		c->resident = c->outstanding = c->mark = c->advised = 0;
	}
	if (open)
		__sync_fetch_and_add(&shared.outstanding[outstanding_slot(key->file.ino)], -open);
	/* The next owner must not find the old pages, nor lose its own. */
	order_writes(&b->chunks[0].looked); /* no references are recorded */
	if (!(key->block & JOB_SLOT)) {
		__sync_fetch_and_and(&b->owner, OWNER_MORES);
	} else if (!bpf_map_delete_elem(&blocks, key)) {
		__sync_fetch_and_add(&shared.blocks_used, -1);
		first_forgets(key);
	}
	return 0;
}

/* Charges what a running task used and read since it was last charged, as its switch would. */
static long charge_step(__u32 cpu, struct sweep_charges_args **args)
{
	struct sweep_charges_args *x = *args;
	__u64 task, runtime, rchar, syscr;
	struct task_struct *t;
	struct activity now = {};
	struct live *l;
	__u32 zero = 0;

	if (cpu >= x->nr_cpus)
		return 1;
	l = bpf_map_lookup_percpu_elem(&lives, &zero, cpu);
	if (!l)
		return 0;
	task = *(volatile __u64 *)&l->task;
	order_reads(&l->pad);
	if (!task || l->s.job == JOB_OTHERS)
		return 0;
	/* Until its CPU has an event, it may have the job that had the slot before. */
	if (many_jobs() && (job_slot(l->s.job) != x->slot || !job_is_live(l->s.job)))
		return 0;
	t = CAST(task_struct, task);
	runtime = READ(t, se.sum_exec_runtime) - l->s.runtime_ns;
	rchar = READ(t, ioac.rchar) - l->s.rchar_bytes;
	syscr = READ(t, ioac.syscr) - l->s.syscr_calls;
	if (many_jobs()) {
		now.wchar_bytes = READ(t, ioac.wchar) - l->s.activity.wchar_bytes;
		if (bpf_core_field_exists(t->sched_info))
			now.runqueue_ns = READ(t, sched_info.run_delay) - l->s.activity.runqueue_ns;
	}
	order_reads(&l->pad);
	/* The task was switched meanwhile, and charged then. */
	if (*(volatile __u64 *)&l->task != task || (__s64)runtime < 0 || (__s64)rchar < 0 ||
	    (__s64)syscr < 0)
		return 0;
	x->cpu_ns += runtime;
	x->rchar_bytes += rchar;
	x->syscr_calls += syscr;
	x->activity.wchar_bytes += now.wchar_bytes;
	x->activity.runqueue_ns += now.runqueue_ns;
	return 0;
}

SEC("?syscall")
int sweep_ghosts(struct sweep_ghosts_args *args)
{
	if (args->drop)
		bpf_for_each_map_elem(&blocks, ghost_drop_step, NULL, 0);
	else
		bpf_for_each_map_elem(&blocks, ghost_mark_step, NULL, 0);
	return 0;
}

SEC("?syscall")
int sweep_fates(void *ctx)
{
	__u32 now = shared.epoch;

	bpf_for_each_map_elem(&blocks, giveup_step, &now, 0);
	return 0;
}

SEC("?syscall")
int sweep_ended(void *ctx)
{
	bpf_for_each_map_elem(&blocks, ended_step, NULL, 0);
	return 0;
}

SEC("?syscall")
int sweep_count(__u64 *ctx)
{
	__u64 sum = 0;

	bpf_for_each_map_elem(&blocks, count_step, &sum, 0);
	*ctx = sum;
	return 0;
}

SEC("?syscall")
int sweep_cells(struct sweep_cells_args *args)
{
	bpf_loop(args->nr_cpus, cells_step, &args, 0);
	return 0;
}

SEC("?syscall")
int sweep_charges(struct sweep_charges_args *args)
{
	bpf_loop(args->nr_cpus, charge_step, &args, 0);
	return 0;
}

/* Separate functions, because older verifiers require one map per call, and the compiler would
 * merge similar calls. */
static __noinline int names_of_rows_a(void)
{
	return bpf_for_each_map_elem(&rows_a, name_step_row, NULL, 0);
}

static __noinline int names_of_rows_b(void)
{
	return bpf_for_each_map_elem(&rows_b, name_step_row, NULL, 0);
}

static __noinline int names_of_all(void)
{
	return bpf_for_each_map_elem(&named, name_step_all, NULL, 0);
}

SEC("?syscall")
int sweep_names(struct sweep_names_args *args)
{
	if (args->which == NAMES_OF_ROWS_A)
		names_of_rows_a();
	else if (args->which == NAMES_OF_ROWS_B)
		names_of_rows_b();
	else
		names_of_all();
	return 0;
}
