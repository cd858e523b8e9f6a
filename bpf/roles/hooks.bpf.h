/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs on a function's entry: one by fentry (name_fn) and the same by kprobe (name_kp), for the
 * plan to choose from. Owns what makes two of one.
 */
#ifndef HOOKS_BPF_H
#define HOOKS_BPF_H

#include "bpf/state/live.bpf.h"

/* The address that a pointer argument is: of fentry the verifier gives it a type. */
#define ADDR(l, arg) (ARGS_ARE_TYPED ? addr_of(l, arg) : (__u64)(arg))

/* With the state that get finds as l; what follows call are the function's arguments. */
#define ON_ENTRY_OF(function, name, get, call, ...)                                                \
	SEC("?fentry/" #function)                                                                  \
	int BPF_PROG(name##_fn, __VA_ARGS__)                                                       \
	{                                                                                          \
		enum { ARGS_ARE_TYPED = true };                                                    \
                                                                                                   \
		return WITH_LIVE_OF(l, get, call);                                                 \
	}                                                                                          \
	SEC("?kprobe/" #function)                                                                  \
	int BPF_KPROBE(name##_kp, __VA_ARGS__)                                                     \
	{                                                                                          \
		enum { ARGS_ARE_TYPED = false };                                                   \
                                                                                                   \
		return WITH_LIVE_OF(l, get, call);                                                 \
	}
#define ON_ENTRY(function, name, ev, call, ...)                                                    \
	ON_ENTRY_OF(function, name, live_get(ev), call, __VA_ARGS__)

#endif
