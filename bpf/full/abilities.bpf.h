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
	/* Another program may interrupt this one: tracepoints since 7.0. */
	MAY_BE_PREEMPTED = true,
	/* The walk to a file's name fits into each program. */
	NAMES_AT_EVENTS = true,
	/* The range of a read is looked for in the registers of its system call. */
	RANGES_BY_REGISTERS = true,
};

/* p->a->b of an argument, of the running task, and what they lead to; the result is still good for
 * helpers that want a task. */
#define TYPED(p, ...) ___arrow((p), __VA_ARGS__)

#define current_task() bpf_get_current_task_btf()

/*
 * Verified once, on its own, whoever calls it: the verifier walks static functions again on every
 * path to them. Arguments are plain numbers (kernel addresses, see addr_of) or pointers to our own
 * memory, which the verifier takes for possibly NULL.
 */
#define GLOBAL __attribute__((noinline))

/* step(i, x) for each i below nr, until it returns 1. A loop by helper is walked once by the
 * verifier, whatever its length. max is for basic/, which leaves out what lies above it. */
#define STEP		       static long
#define STEP_CALLED	       static long
#define LOOP(nr, max, step, x) bpf_loop(nr, step, x, 0)
#define LOOP_IS_CUT(nr, max)   false

/* Bits of a word that CPUs change at once; what was there before is returned. */
#define bits_set(word, mask)	  __sync_fetch_and_or(word, mask)
#define bits_clear(word, mask)	  __sync_fetch_and_and(word, ~(mask))
#define word_swap(word, from, to) __sync_val_compare_and_swap(word, from, to)

/*
 * Other CPUs see earlier accesses before later ones: loads (order_reads) or stores (order_writes).
 * word: any that nothing else uses; it becomes 0.
 */
#define order_reads(word)  ARCH_ORDER(word)
#define order_writes(word) ARCH_ORDER(word)

/* The flags of a map that keeps a value for each task: the kernel frees it with the task. */
#define TASK_MAP                                                                                   \
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                                   \
	__uint(map_flags, BPF_F_NO_PREALLOC);                                                      \
	__type(key, int)

#endif
