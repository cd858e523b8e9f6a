/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The known reads of the self test. Owns what each does and what the kernel itself reports: pages
 * by selftest_look.h before and after each call, faults by getrusage(2).
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "cachemon/selftest/selftest_look.h"

#define SELFTEST_BYTES (16 * 1024 * 1024 + 1) /* ends inside a page */

/* The expected value; < 0: this case does not cover it. */
struct selftest_truth {
	int64_t read_calls, read_bytes, lookups, misses, added, major_faults;
	bool disturbed; /* other processes moved pages of the file meanwhile */
};

struct selftest_case {
	const char *name;
	const char *what;
	/* Runs in the watched process; -errno if a call failed. */
	int (*run)(struct selftest_look *l, struct selftest_truth *ret);
};

const struct selftest_case *selftest_cases(int *ret_nr);

#endif
