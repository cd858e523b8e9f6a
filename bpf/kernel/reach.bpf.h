/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a build of the programs reads the kernel's memory. Owns the ways to read it; abilities.bpf.h
 * has the other differences between builds.
 */
#ifndef REACH_BPF_H
#define REACH_BPF_H

#include "bpf/kernel/kernel.bpf.h"
#define __VMLINUX_H__ /* the registers have the kernel's names */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "bpf/kernel/build.bpf.h"
#include OF_BUILD(abilities.bpf.h)
#include "bpf/live.h"

/*
 * CAST: a kernel address as a pointer to read through. READ(p, a, b.c): p->a->b.c of such a pointer
 * or of an argument; a bad address reads as 0. READ_NOW: loads again each time.
 */
#ifdef CACHEMON_PROBE
#define CAST(type, addr) ((struct type *)(addr))
/* Uses a variable first, because CO-RE must not relocate our own types in p. */
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

/* An argument that the verifier trusts. For each pointer read through one, it searches all types
 * of the kernel for a rule, about a millisecond each time; that matters if a program is attached
 * as often as the per-read hook. */
#define PLAIN(type, arg)       CAST(type, arg)
#endif

static __always_inline __u64 load_ptr(__u64 addr)
{
	return READ(CAST(timespec64, addr), tv_sec);
}

/* The verifier forbids arithmetic on typed pointers; after a store to memory they are plain
 * numbers. */
static __always_inline __u64 addr_of(struct live *l, const void *p)
{
	*(volatile __u64 *)&l->scratch = (__u64)p;
	return *(volatile __u64 *)&l->scratch;
}

#endif
