/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a task may be switched out inside of a program: then another program may run on that CPU
 * before it has ended, and what is each CPU's own is not safe. A kprobe always holds others off, a
 * tracepoint up to 6.18, a program on a function never. No version is asked.
 */
#ifndef PREEMPT_H
#define PREEMPT_H

#include "cachemon/plan/kernel_caps.h"

/*
 * Whether tasks are switched out inside the kernel at all, by its own report, its command line and
 * its configuration. CAPS_YES: full, lazy or real-time; CAPS_NO: none or voluntary; CAPS_UNKNOWN:
 * it may have been chosen at boot, and there is no record. root: "" for the running machine;
 * release: as uname -r.
 */
enum caps_flag preempt_mode(const char *root, const char *release);

/*
 * Inside of a tracepoint's program, which looks: 1: it may; 0: it may not, or there is no
 * tracepoint to try it on. -errno: the trial failed. Reads a byte of the running program's file to
 * have the tracepoint fire. btf: the running kernel's. Needs CAP_BPF and CAP_PERFMON. root: where
 * /proc is below ("" for /).
 */
int preempt_trial(const struct btf *btf, const char *root);

#endif
