/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Abilities of verifiers and helpers of 5.10; full/abilities.bpf.h describes each name. */
#ifndef BASIC_ABILITIES_BPF_H
#define BASIC_ABILITIES_BPF_H

#include "bpf/kernel/kernel.bpf.h"

enum {
	LOOPS_BY_HELPER = false,
	MAY_BE_PREEMPTED = false,
	/* Without global functions the verifier rejects the walk in event programs. So only the
	 * sweep of names walks, and a file that is gone by then has no name. */
	NAMES_AT_EVENTS = false,
	/* The hooked function or the window shows it. */
	RANGES_BY_REGISTERS = false,
};

#define TYPED(p, ...)  READ(p, __VA_ARGS__)
#define current_task() ((struct task_struct *)bpf_get_current_task())
#define GLOBAL	       static __noinline

/* Values above max are left out; callers for which that matters call LOOP_IS_CUT(). */
#define STEP static __always_inline long
/* A function call, so that values in registers do not add verifier states to the next step. */
#define STEP_CALLED static __noinline long
#define LOOP(nr, max, step, x)                                                                     \
	do {                                                                                       \
		for (__u32 _i = 0; _i < (max); _i++)                                               \
			if (_i >= (nr) || step(_i, x))                                             \
				break;                                                             \
	} while (0)
#define LOOP_IS_CUT(nr, max) ((nr) > (max))

/* Without atomic operations that return the old value, the word is protected by a lock: see
 * locks.bpf.h. */
#define BITS_OP(word, expr)                                                                        \
	({                                                                                         \
		typeof(*(word)) was_ = *(word);                                                    \
		*(word) = (expr);                                                                  \
		was_;                                                                              \
	})
#define bits_set(word, mask)	  BITS_OP(word, was_ | (mask))
#define bits_clear(word, mask)	  BITS_OP(word, was_ & ~(mask))
#define word_swap(word, from, to) BITS_OP(word, was_ == (from) ? (to) : was_)

/* No CPU reads what another one is writing. */
#define order_reads(word)  barrier()
#define order_writes(word) barrier()

/* Task states by the task's address; task_free_tp deletes them. */
#define TASK_MAP                                                                                   \
	__uint(type, BPF_MAP_TYPE_HASH);                                                           \
	__uint(max_entries, NR_TASKS);                                                             \
	__type(key, __u64)

#endif
