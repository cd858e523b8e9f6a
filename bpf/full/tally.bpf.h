/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tallies count whole reads of cached pages with as few instructions as possible. Owns the contents
 * of a tally and when it may be used; plain.bpf.h decides which reads qualify. Only the per-read
 * hook sets the mapping of a tally, when the next read of the running task may be counted without
 * its state. The mapping becomes 0 after everything that may change that: a switch, a window, a
 * call of another kind, a new epoch. The file's word of outstanding[] covers the rest: it changes
 * when a page is prefetched or evicted, or the file is truncated.
 */
#ifndef FULL_TALLY_BPF_H
#define FULL_TALLY_BPF_H

#include "bpf/full/cells.bpf.h"
#include "bpf/full/tasks.bpf.h"

#define TALLY_WORDS ((NR_OUTSTANDING - 1) * sizeof(__u64)) /* a mask */

static __always_inline __u32 tally_generation(__u32 at_epoch)
{
	return at_epoch & 1 ? TALLY_B : TALLY_A;
}

/* Masked instead of compared, which saves an instruction; if there are more CPUs, the code that
 * opens a tally checks. The asm keeps the compiler from repeating the mask later, at the cost of
 * reads, and from masking another copy of the number than it uses (clang 19, if the number is in
 * memory). */
static __always_inline struct tally *tally_of(__u64 cpu)
{
	struct tally *t;

	barrier_var(cpu);
	cpu &= NR_TALLY_CPUS - 1;
	barrier_var(cpu);
	t = &tallies[cpu];
	barrier_var(t);
	__builtin_assume(t);
	return t;
}

/* Returned unchanged: libbpf's declaration would add an instruction that truncates it to 32
 * bits. */
static __u64 (*const cpu_here)(void) = (void *)8; /* bpf_get_smp_processor_id() */

static __always_inline struct tally *tally_here(void)
{
	return tally_of(cpu_here());
}

/* The tally that takes reads of this mapping now, or NULL. */
static __always_inline struct tally *tally_for(const __u64 *mapping)
{
	struct tally *t = tally_here();

	if (t->mapping != *mapping ||
	    *(__u64 *)((char *)shared.outstanding + (t->word & TALLY_WORDS)) != t->quiet)
		return NULL;
	return t;
}

/* Added directly to the row: another file may have the cell, and a sweep runs on another CPU. */
static __noinline void tally_flush(struct tally *t, __u32 at_epoch)
{
	struct file_row *row;
	bool made = false;

	t->mapping = 0;
	t->inode = 0;
	if (!t->read_calls)
		return;
	row = shared_row(&t->file, t->slot, at_epoch, &made);
	shared_row_add(row, C_read_calls, t->read_calls);
	shared_row_add(row, C_read_bytes, t->read_bytes);
	shared_row_add(row, C_lookups, t->read_calls + t->lookups);
	t->runs += t->read_calls;
	t->read_calls = t->read_bytes = t->lookups = 0;
}

/* Gives the tally to this cell's file: its next plain read counts there. */
static __always_inline void tally_take(const struct cell *c, __u32 at_epoch)
{
	__u32 word = outstanding_slot(c->file.ino), generation = tally_generation(at_epoch);
	struct tally *t = tally_here();

	if ((t->generation != TALLY_FREE && t->generation != generation))
		return;
	/* The sweep emptied it before giving it back. */
	order_reads(&t->pad);
	t->generation = generation;
	t->word = word * sizeof(__u64);
	t->quiet = shared.outstanding[word] & ~(OUTSTANDING_ADD - 1);
	if (t->inode == c->inode && t->slot == c->slot && file_key_same(&t->file, &c->file))
		return;
	tally_flush(t, at_epoch);
	t->file = c->file;
	t->seed = reference_seed(&t->file);
	t->inode = c->inode;
	t->slot = c->slot;
}

/* From now on the tally takes the running task's reads of the mapping, unless the epoch moved:
 * user space closes all tallies after it moves the epoch. */
static __always_inline void tally_open(struct tally *t, __u64 mapping, __u32 at_epoch)
{
	t->bound = shared.references.bound;
	__sync_lock_test_and_set(&t->mapping, mapping);
	if (shared.epoch != at_epoch)
		t->mapping = 0;
}

/* The state of a task whose last call the tally took. */
static __always_inline void call_was_plain(struct task_state *s, __u64 id, __u64 begin, __u64 next,
					   __u64 last)
{
	s->flags |= TASK_DIRTY;
	s->read_id = id;
	s->read_begin = begin;
	s->read_last = last;
	s->read_next = next;
	s->read_settled = begin;
	s->miss_first = ~0ull;
	s->miss_last = 0;
}

/* If the hook is a function, a plain read does not update the task's state; it is updated here
 * before other code reads it. */
static __always_inline void tally_settle(struct task_state *s)
{
	struct tally *t = config.reads_by_call ? tally_here() : NULL;
	__u64 begin;

	if (!t || !t->call_end)
		return;
	begin = t->call_pos >> page_shift;
	call_was_plain(s, t->call_id, begin, begin + 1, (t->call_end - 1) >> page_shift);
	s->read_at = t->call_pos;
	s->read_upto = t->call_end;
	s->read_iocb = 0;
	s->read_wait = 0;
	t->call_end = 0;
}

/* The next read takes the full path; the last one's values are invalid. */
static __always_inline void tally_close(void)
{
	struct tally *t = tally_here();

	t->mapping = 0;
	t->call_end = 0;
}

static long tally_close_step(__u32 cpu, void *x)
{
	tally_of(cpu)->mapping = 0;
	tally_of(cpu)->loaded = 1;
	return 0;
}

/* Closes the tallies of all CPUs. Called after the epoch was moved, when the owner of each running
 * task must be checked. */
static __always_inline void tallies_close(void)
{
	bpf_loop(config.nr_cpus, tally_close_step, NULL, 0);
}

/* Sets whether the CPU has the state of its running task, and whether the task may belong to the
 * job. If several CPUs share a tally, both are assumed true, because the state of a CPU without
 * its own tally is unknown. */
static __always_inline void tally_loaded(bool loaded, bool own)
{
	struct tally *t = tally_here();
	bool several = config.nr_cpus > NR_TALLY_CPUS;

	t->loaded = loaded || several;
	t->own = own || several;
}

/* Whether the running task may belong to the job. */
static __always_inline bool tally_may_be_own(void)
{
	return tally_here()->own;
}

/* Whether this is a switch between two tasks outside the job, the first of which had no event: then
 * nothing needs to be stored. Most switches of a machine are like this. An io_uring worker may
 * belong to the job without a visible fork. */
static __always_inline bool tally_passes_switch(const __u64 *ctx)
{
	struct tally *t = tally_here();
	struct task_struct *next;

	if (t->loaded)
		return false;
	next = (struct task_struct *)ctx[2];
	*(volatile __u64 *)&t->scratch = (__u64)next;
	if (member_may(*(volatile __u64 *)&t->scratch) || TYPED(next, flags) & PF_IO_WORKER)
		return false;
	t->switches++;
	return true;
}

#endif
