/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a task may be switched out inside of a tracepoint's program: then another program may run
 * on that CPU before it has ended, and what is each CPU's own is not safe. Up to 6.18 the
 * tracepoint itself held preemption off; no version is asked, a program looks.
 */
#ifndef PREEMPT_TRIAL_H
#define PREEMPT_TRIAL_H

struct btf;

/*
 * 1: it may; 0: it may not, or there is no tracepoint to try it on. -errno: the trial failed. Reads
 * a byte of the running program's file to have the tracepoint fire. btf: the running kernel's.
 * Needs CAP_BPF and CAP_PERFMON. root: where /proc is below ("" for /).
 */
int preempt_trial_run(const struct btf *btf, const char *root);

#endif
