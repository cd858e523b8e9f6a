/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures for people, rounded for reading; text output only. Values are returned, so that a call
 * can be an argument: printf("%s", human_bytes(n).text).
 */
#ifndef HUMAN_H
#define HUMAN_H

#include <stddef.h>
#include <stdint.h>

struct human {
	char text[32];
};

/* 17 B, 1.5 KiB, 312 MiB: three digits. */
struct human human_bytes(uint64_t bytes);
/* 850 ns, 1.25 us, 43.0 ms, 12.5 s, 3m 07s, 2h 05m. */
struct human human_duration(uint64_t ns);
/* 999, 12.3k, 4.56M: three digits. */
struct human human_count(uint64_t n);
/* 1,234,567: every digit. */
struct human human_exact(int64_t n);
/* The length of the unit that text begins with, as above, of a rate too, or of a percentage; 0:
 * none, or the beginning of another word. */
size_t human_unit(const char *text);
/* Adds separators to all whole numbers of a sentence if there is room; not to digits after a
 * point, nor within a name. */
void human_group(char *text, size_t size);

#endif
