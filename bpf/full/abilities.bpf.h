/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Abilities of verifiers and helpers after 5.10. basic/abilities.bpf.h has the same names without
 * them.
 */
#ifndef FULL_ABILITIES_BPF_H
#define FULL_ABILITIES_BPF_H

#include "bpf/kernel/kernel.bpf.h"

enum {
	LOOPS_BY_HELPER = true,
	/* Another program may interrupt this one (tracepoints since 7.0). */
	MAY_BE_PREEMPTED = true,
	/* The walk to a file's name fits into each program. */
	NAMES_AT_EVENTS = true,
	/* The registers of the system call show the range of a read. */
	RANGES_BY_REGISTERS = true,
};

/* p->a->b of an argument or of the running task, and pointers from it; helpers that need a task
 * accept the result. */
#define TYPED(p, ...) ___arrow((p), __VA_ARGS__)

#define current_task() bpf_get_current_task_btf()

/*
 * Verified once, separately from its callers; the verifier walks static functions again on every
 * path to them. Arguments are plain numbers (kernel addresses, see addr_of) or pointers to our own
 * memory, which the verifier assumes may be NULL.
 */
#define GLOBAL __attribute__((noinline))

/* step(i, x) for each i below nr, until it returns 1. The verifier walks a helper's loop once,
 * whatever its length. max is for basic/, which leaves out values above it. */
#define STEP		       static long
#define STEP_CALLED	       static long
#define LOOP(nr, max, step, x) bpf_loop(nr, step, x, 0)
#define LOOP_IS_CUT(nr, max)   false

/* Bits of a word that CPUs change concurrently; returns the old value. */
#define bits_set(word, mask)	  __sync_fetch_and_or(word, mask)
#define bits_clear(word, mask)	  __sync_fetch_and_and(word, ~(mask))
#define word_swap(word, from, to) __sync_val_compare_and_swap(word, from, to)

/*
 * Other CPUs see earlier accesses before later ones: loads (order_reads) or stores (order_writes).
 * word: an otherwise unused one; it becomes 0.
 */
#define order_reads(word)  ARCH_ORDER(word)
#define order_writes(word) ARCH_ORDER(word)

/* The flags of a task storage map: the kernel frees a value with its task. */
#define TASK_MAP                                                                                   \
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                                   \
	__uint(map_flags, BPF_F_NO_PREALLOC);                                                      \
	__type(key, int)

#endif
