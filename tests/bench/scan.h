/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracing programs in the kernel, and their owners. Guards every benchmark: a block counts only
 * if exactly the expected programs existed from its start to its end, and the kernel's run-time
 * statistics, which slow down each program, were off.
 */
#ifndef BENCH_SCAN_H
#define BENCH_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCAN_MAX 1024

struct scan_prog {
	uint32_t id;
	uint32_t btf_id; /* the type of its target in the kernel's BTF; 0: not a BTF program */
	bool tp_btf;	 /* the target is a tracepoint */
	char name[16];
	uint64_t run_ns, run_cnt; /* changes only while statistics are on */
};

struct scan {
	struct scan_prog progs[SCAN_MAX];
	int nr;
};

/* All programs of types that can be on the measured path. Exits if the kernel refuses. */
void scan_progs(struct scan *ret);

const struct scan_prog *scan_find(const struct scan *s, const char *name);

/* Selects the programs that this process holds open. */
void scan_of_process(const struct scan *all, pid_t pid, struct scan *ret);

/* The same programs, whatever their counts. */
bool scan_same(const struct scan *a, const struct scan *b);

/* Both have the same programs, and none of them ran with statistics on in between. */
bool scan_silent(const struct scan *a, const struct scan *b);

/* Waits until these programs and no others exist, and returns their present state; exits after
 * patience_s, naming one that should not exist. */
void scan_wait(const struct scan *expected, int patience_s, struct scan *ret);

#endif
