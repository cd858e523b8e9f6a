/* SPDX-License-Identifier: BSD-2-Clause */
/* Address ranges of kernel functions, from /proc/kallsyms. Owns nothing else. */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsym {
	const char *name;
	/* First byte, and the next symbol's first byte; both 0 when addresses are hidden or there
	 * is no such function. */
	uint64_t start, end;
};

/* Fills in the ranges of functions of the kernel proper, whose symbols the file has in order of
 * address; returns how many were found. */
size_t kallsyms_find(const char *path, struct kallsym *syms, size_t nr);

#endif
