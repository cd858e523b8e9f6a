/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the kernel may switch tasks inside a program: then another program may run on that CPU
 * before the first one ends, and per-CPU data is not safe. Kprobes always prevent that, tracepoints
 * do up to 6.18, programs on functions never do. The kernel's version is not consulted. */
#ifndef PREEMPT_H
#define PREEMPT_H

#include "cachemon/plan/kernel_caps.h"

/*
 * Whether the kernel switches tasks inside itself at all, from its own report, its command line and
 * its configuration. CAPS_YES: full, lazy or real-time; CAPS_NO: none or voluntary; CAPS_UNKNOWN:
 * perhaps chosen at boot, without a record. root: "" for the running machine; release: as from
 * uname -r.
 */
enum caps_flag preempt_mode(const char *root, const char *release);

/*
 * Checks from inside a tracepoint's program: 1: it may switch; 0: it may not, or there is no
 * tracepoint to try. -errno: the trial failed. Reads a byte of the running program's file to fire
 * the tracepoint. btf: the running kernel's. Needs CAP_BPF and CAP_PERFMON. root: prefix of /proc
 * ("" for /).
 */
int preempt_trial(const struct btf *btf, const char *root);

#endif
