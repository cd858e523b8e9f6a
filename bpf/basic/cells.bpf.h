/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * No cells (see full/cells.bpf.h): emptying them needs a program that reads the data of all CPUs,
 * which these kernels lack. Events count directly in the rows.
 */
#ifndef BASIC_CELLS_BPF_H
#define BASIC_CELLS_BPF_H

#include "bpf/state/rows.bpf.h"

static __always_inline void shared_row_add(struct file_row *row, enum counter c, __s64 n)
{
	/* clang 19 would compare the lower half and mask the whole: the verifier of 5.10 then
	 * does not know that the value is small. */
	__u64 i = c;

	if (!__builtin_constant_p(c))
		barrier_var(i);
	if (row && n && i < C_NR)
		__sync_fetch_and_add(&row->c[i], n);
}

static __always_inline void row_add(struct file_row *row, enum counter c, __s64 n)
{
	shared_row_add(row, c, n);
}

#endif
