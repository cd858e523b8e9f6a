/* SPDX-License-Identifier: BSD-2-Clause */
/* Address ranges of kernel functions, from /proc/kallsyms. */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsym {
	const char *name;
	/* The function's first byte, and that of the next symbol; both 0 if addresses are hidden or
	 * the function does not exist. */
	uint64_t start, end;
};

/* Fills in the ranges of functions of the kernel itself, whose symbols the file lists in address
 * order; returns how many were found. */
size_t kallsyms_find(const char *path, struct kallsym *syms, size_t nr);

#endif
