/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which tracing programs the kernel holds now, and whose they are. Owns the guard of every bench: a
 * block counts only if exactly the expected programs were there from its start to its end and the
 * kernel's run-time statistics, which make each program dearer, were off.
 */
#ifndef BENCH_SCAN_H
#define BENCH_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCAN_MAX 1024

struct scan_prog {
	uint32_t id;
	uint32_t btf_id; /* what it is attached to, in the kernel's BTF; 0: not a BTF program */
	bool tp_btf;	 /* that is a tracepoint */
	char name[16];
	uint64_t run_ns, run_cnt; /* move only while statistics are on */
};

struct scan {
	struct scan_prog progs[SCAN_MAX];
	int nr;
};

/* Programs of the types that can sit on the measured path. Exits where the kernel refuses. */
void scan_progs(struct scan *ret);

const struct scan_prog *scan_find(const struct scan *s, const char *name);

/* Of all programs those that this process holds open. */
void scan_of_process(const struct scan *all, pid_t pid, struct scan *ret);

/* The same programs, whatever they have counted. */
bool scan_same(const struct scan *a, const struct scan *b);

/* None of them has run with statistics on between the two, which are the same programs. */
bool scan_silent(const struct scan *a, const struct scan *b);

/* Waits until these programs and no others are there, and returns them as they are now; exits after
 * patience_s, naming one that should not be there. */
void scan_wait(const struct scan *expected, int patience_s, struct scan *ret);

#endif
