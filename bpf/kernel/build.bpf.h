/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builds of the programs. There are three, from one source, with the same programs, maps and
 * variables; plan/probe_build.c takes the first that the kernel can run:
 *
 *   direct  loads through any kernel address, where the kernel has bpf_rdonly_cast()
 *   probe   reads by bpf_probe_read_kernel(), loads only through arguments (CACHEMON_PROBE)
 *   basic   as probe, and without what came after 5.10: task storage, loops by helper, atomic
 *           operations that return what was there, global functions that take pointers
 *           (CACHEMON_BASIC)
 *
 * Owns the one choice between basic and the others. Where 5.10 needs other code, basic/ and full/
 * each have a file of the same name, which gives the same functions: OF_BUILD(tasks.bpf.h) is the
 * one of this build.
 */
#ifndef BUILD_BPF_H
#define BUILD_BPF_H

/* clang-format off: a space would become a part of the path. */
#ifdef CACHEMON_BASIC
#define CACHEMON_PROBE
#define OF_BUILD(file) <bpf/basic/file>
#else
#define OF_BUILD(file) <bpf/full/file>
#endif
/* clang-format on */

/* Files are traced only if memory is loaded directly. Values read by helpers go through the
 * stack, and the recording programs have no room left in their frames. */
#ifndef CACHEMON_PROBE
#define CACHEMON_TRACES
#endif

/* Many jobs at once need more room in the frames too. */
#ifdef CACHEMON_PROBE
enum { MANY_JOBS = 0 };
#else
enum { MANY_JOBS = 1 };
#endif

#endif
