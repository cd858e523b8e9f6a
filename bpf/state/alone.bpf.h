/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nobody else on this CPU while a program counts. The state of the running task, the cells and the
 * scratch memory are each CPU's own; a kernel that may switch tasks inside of a program
 * (tracepoints from 7.0 on) would let another program in between. Owns how that is kept out.
 *
 * Programs by fentry and fexit are held by nobody on older kernels either: where those switch tasks
 * inside of the kernel, the plan takes kprobes, which hold preemption off themselves.
 */
#ifndef ALONE_BPF_H
#define ALONE_BPF_H

#include "bpf/state/maps.bpf.h"

/* 6.10 on. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void alone_begin(void)
{
	if (MAY_BE_PREEMPTED && config.preemptible)
		bpf_preempt_disable();
}

static __always_inline void alone_end(void)
{
	if (MAY_BE_PREEMPTED && config.preemptible)
		bpf_preempt_enable();
}

#endif
