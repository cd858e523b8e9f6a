/* SPDX-License-Identifier: BSD-2-Clause */
/* One bit per page: plain helpers over an array of words. */
#ifndef BITMAP_H
#define BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t bitmap_words(uint64_t bits)
{
	return (bits + 63) / 64;
}

static inline bool bitmap_test(const uint64_t *map, uint64_t bit)
{
	return map[bit / 64] >> (bit % 64) & 1;
}

static inline void bitmap_put(uint64_t *map, uint64_t bit, bool value)
{
	uint64_t mask = 1ULL << (bit % 64);

	if (value)
		map[bit / 64] |= mask;
	else
		map[bit / 64] &= ~mask;
}

/* Bits set in [first, first + nr). */
static inline uint64_t bitmap_count(const uint64_t *map, uint64_t first, uint64_t nr)
{
	uint64_t end = first + nr, sum = 0;

	while (first < end) {
		uint64_t shift = first % 64;
		uint64_t take = 64 - shift < end - first ? 64 - shift : end - first;
		uint64_t word = map[first / 64] >> shift;

		if (take < 64)
			word &= (1ULL << take) - 1;
		sum += (uint64_t)__builtin_popcountll(word);
		first += take;
	}
	return sum;
}

#endif
