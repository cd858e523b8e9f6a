/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What verifiers and helpers of 5.10 can do; full/abilities.bpf.h says what each name is for.
 */
#ifndef BASIC_ABILITIES_BPF_H
#define BASIC_ABILITIES_BPF_H

#include "bpf/kernel/kernel.bpf.h"

enum {
	LOOPS_BY_HELPER = false,
	MAY_BE_PREEMPTED = false,
	/* Without global functions the walk is more than the verifier follows from each event: the
	 * sweep of names alone does it, and who is gone by then has none. */
	NAMES_AT_EVENTS = false,
	/* The function that is the hook tells it, or the window. */
	RANGES_BY_REGISTERS = false,
};

#define TYPED(p, ...)  READ(p, __VA_ARGS__)
#define current_task() ((struct task_struct *)bpf_get_current_task())
#define GLOBAL	       static __noinline

/* Values above max are left out; callers that mind call LOOP_IS_CUT(). */
#define STEP static __always_inline long
/* Called: what a compiler keeps in registers of one step makes no state of its own for the next. */
#define STEP_CALLED static __noinline long
#define LOOP(nr, max, step, x)                                                                     \
	do {                                                                                       \
		for (__u32 _i = 0; _i < (max); _i++)                                               \
			if (_i >= (nr) || step(_i, x))                                             \
				break;                                                             \
	} while (0)
#define LOOP_IS_CUT(nr, max) ((nr) > (max))

/* Without operations that do so at once the word is in what a lock is held of: see locks.bpf.h. */
#define BITS_OP(word, expr)                                                                        \
	({                                                                                         \
		typeof(*(word)) was_ = *(word);                                                    \
		*(word) = (expr);                                                                  \
		was_;                                                                              \
	})
#define bits_set(word, mask)	  BITS_OP(word, was_ | (mask))
#define bits_clear(word, mask)	  BITS_OP(word, was_ & ~(mask))
#define word_swap(word, from, to) BITS_OP(word, was_ == (from) ? (to) : was_)

/* Nothing is read that another CPU is in the middle of writing. */
#define order_reads(word)  barrier()
#define order_writes(word) barrier()

/* By the task's address, until task_free_tp. */
#define TASK_MAP                                                                                   \
	__uint(type, BPF_MAP_TYPE_HASH);                                                           \
	__uint(max_entries, NR_TASKS);                                                             \
	__type(key, __u64)

#endif
