/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For preloaded libraries that inspect bpf(2). libbpf calls it by syscall(3), with each argument a
 * long. This header passes the call on; before_bpf() is defined by the library, and so is
 * bpf_returns() if the library defines BPF_RETURNS.
 */
#ifndef BPF_CALLS_H
#define BPF_CALLS_H

#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <sys/syscall.h>

static long (*next_syscall)(long nr, ...);

static void before_bpf(long command, union bpf_attr *attr);
#ifdef BPF_RETURNS
static void bpf_returns(long command);
#endif

long syscall(long nr, ...)
{
	long args[6], result;
	va_list rest;

	va_start(rest, nr);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(rest, long);
	va_end(rest);
	if (!next_syscall)
		next_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (nr == SYS_bpf)
		before_bpf(args[0], (union bpf_attr *)args[1]);
	result = next_syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
#ifdef BPF_RETURNS
	if (nr == SYS_bpf)
		bpf_returns(args[0]);
#endif
	return result;
}

#endif
