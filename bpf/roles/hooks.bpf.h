/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs on a function's entry, once for fentry (name_fn) and once for kprobe (name_kp), from
 * which the plan chooses. Owns the macros that make both.
 */
#ifndef HOOKS_BPF_H
#define HOOKS_BPF_H

#include "bpf/state/live.bpf.h"

/* A pointer argument as an address, because the verifier types it for fentry. */
#define ADDR(l, arg) (ARGS_ARE_TYPED ? addr_of(l, arg) : (__u64)(arg))

/* Runs call with the state that get returns as l. The arguments after call are those of the
 * function. */
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
