/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether tasks may be switched out inside of the kernel, without asking for it: then they may be
 * so inside of a program on a function, which holds nobody off (a tracepoint does up to 6.18, and a
 * kprobe always). No version is asked: the kernel's own word, its command line, its configuration.
 */
#ifndef PREEMPT_MODE_H
#define PREEMPT_MODE_H

#include "cachemon/plan/kernel_caps.h"

/* CAPS_YES: full, lazy or real-time; CAPS_NO: none or voluntary; CAPS_UNKNOWN: it may have been
 * chosen at boot, and nothing tells. root: "" for the running machine; release: as uname -r. */
enum caps_flag preempt_mode_read(const char *root, const char *release);

#endif
