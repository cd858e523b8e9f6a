/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a build of the programs reaches the kernel. There are three, from one source, with the same
 * programs, maps and variables; plan/probe_build.c takes the first that the kernel can run:
 *
 *   direct  loads through any kernel address, where the kernel has bpf_rdonly_cast()
 *   probe   reads by bpf_probe_read_kernel(), loads only through arguments (CACHEMON_PROBE)
 *   basic   does without what came after 5.10: task storage, loops by helper, atomic operations
 *           that return what was there, global functions that take pointers (CACHEMON_BASIC)
 *
 * Owns these differences: no other file asks which build it is in but where a program has no use
 * in one of them.
 */
#ifndef REACH_BPF_H
#define REACH_BPF_H

#include "bpf/kernel/kernel.bpf.h"
#define __VMLINUX_H__ /* the registers have the kernel's names */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#if defined(CACHEMON_BASIC) && !defined(CACHEMON_PROBE)
#define CACHEMON_PROBE
#endif

/* References are recorded: what is recorded is in a loop, which only a helper makes. */
#ifndef CACHEMON_BASIC
#define CACHEMON_REFERENCES
#endif
/* Traces of files are recorded: only where memory is loaded. What helpers read passes over the
 * stack, and frames of the programs that would record them have no room left. */
#ifndef CACHEMON_PROBE
#define CACHEMON_TRACES
#endif

/*
 * CAST: a kernel address as a pointer to read through. READ(p, a, b.c): p->a->b.c of such a pointer
 * or of an argument; a bad address reads as 0. READ_NOW: again each time. TYPED: of arguments and
 * of the running task, and what they lead to; the result is still good for helpers that want a
 * task.
 */
#ifdef CACHEMON_PROBE
#define CAST(type, addr) ((struct type *)(addr))
/* In a variable first: what is of ours in p must not be looked for in the kernel. */
#define READ(p, ...)                                                                               \
	({                                                                                         \
		typeof(p) at_ = (p);                                                               \
		BPF_CORE_READ(at_, __VA_ARGS__);                                                   \
	})
#define READ_NOW(p, ...)       READ(p, __VA_ARGS__)
#define READ_BITFIELD(p, bits) BPF_CORE_READ_BITFIELD_PROBED(p, bits)
#define PLAIN(type, arg)       (arg)
#else
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

/* Direct loads cost a tenth of bpf_probe_read_kernel(). */
#define CAST(type, addr)                                                                           \
	((struct type *)bpf_rdonly_cast((void *)(addr), bpf_core_type_id_kernel(struct type)))
#define READ(p, ...)	       ___arrow((p), __VA_ARGS__)
#define READ_NOW(p, ...)       (*(volatile typeof(READ(p, __VA_ARGS__)) *)&READ(p, __VA_ARGS__))
#define READ_BITFIELD(p, bits) BPF_CORE_READ_BITFIELD(p, bits)

/* An argument that the verifier trusts. For each pointer that is read through one it searches all
 * types of the kernel for a rule, about a millisecond each time; where a program is attached as
 * often as the per-read hook, that counts. */
#define PLAIN(type, arg)       CAST(type, arg)
#endif

#ifdef CACHEMON_BASIC
#define TYPED(p, ...) READ(p, __VA_ARGS__)
#else
#define TYPED(p, ...) ___arrow((p), __VA_ARGS__)
#endif

static __always_inline __u64 load_ptr(__u64 addr)
{
	return READ(CAST(timespec64, addr), tv_sec);
}

/*
 * Verified once, on its own, whoever calls it: the verifier walks static functions again on every
 * path to them. Arguments are plain numbers (kernel addresses, see addr_of) or pointers to our own
 * memory, which the verifier takes for possibly NULL.
 */
#ifdef CACHEMON_BASIC
#define GLOBAL static __noinline
#else
#define GLOBAL __attribute__((noinline))
#endif

/* step(i, x) for each i below nr, until it returns 1. A loop by helper is walked once by the
 * verifier, whatever its length; without it, all above max is left out: who cares checks. */
#ifdef CACHEMON_BASIC
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
#else
#define STEP		       static long
#define STEP_CALLED	       static long
#define LOOP(nr, max, step, x) bpf_loop(nr, step, x, 0)
#define LOOP_IS_CUT(nr, max)   false
#endif

#ifdef CACHEMON_BASIC
#define current_task() ((struct task_struct *)bpf_get_current_task())
#else
#define current_task() bpf_get_current_task_btf()
#endif

/* Bits of a word that CPUs change at once; what was there before is returned. Without operations
 * that do so the word is in what the lock is held of: see locks.bpf.h. */
#ifdef CACHEMON_BASIC
#define BITS_OP(word, expr)                                                                        \
	({                                                                                         \
		typeof(*(word)) was_ = *(word);                                                    \
		*(word) = (expr);                                                                  \
		was_;                                                                              \
	})
#define bits_set(word, mask)	  BITS_OP(word, was_ | (mask))
#define bits_clear(word, mask)	  BITS_OP(word, was_ & ~(mask))
#define word_swap(word, from, to) BITS_OP(word, was_ == (from) ? (to) : was_)
#else
#define bits_set(word, mask)	  __sync_fetch_and_or(word, mask)
#define bits_clear(word, mask)	  __sync_fetch_and_and(word, ~(mask))
#define word_swap(word, from, to) __sync_val_compare_and_swap(word, from, to)
#endif

#endif
