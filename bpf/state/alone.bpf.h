/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps other programs off this CPU while a program counts. The state of the running task, the
 * cells and the scratch memory belong to one CPU. A kernel that may switch tasks inside a program
 * (tracepoints since 7.0) would let another program run in between. Owns the protection. On older
 * kernels nothing disables preemption for fentry and fexit programs either; if such a kernel
 * switches tasks inside itself, the plan chooses kprobes, which disable preemption themselves.
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
