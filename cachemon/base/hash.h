/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hashes, and an index from a hash to row numbers: open addressing, at most half full. Knows
 * nothing of the rows, which are in the caller's array: the caller compares them.
 */
#ifndef HASH_H
#define HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The finaliser of MurmurHash3: every bit of the input reaches every bit of the output. */
static inline uint64_t hash_mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

struct hash_slot {
	uint32_t hash; /* lower half of the hash */
	uint32_t row;  /* row + 1; 0: empty */
};

struct hash_index {
	struct hash_slot *slots;
	size_t mask; /* number of slots - 1 */
	size_t nr;   /* rows */
};

/* Makes room for that many rows, fewer than 2^31; the first call creates the index if it is all
 * 0. 0, or -ENOMEM and no change. */
int hash_index_reserve(struct hash_index *x, size_t rows);
/* Adds a row, for which there must be room. */
void hash_index_put(struct hash_index *x, uint64_t hash, size_t row);
/* All rows with that hash, and perhaps others: for (size_t at = 0, row; hash_index_next(x, hash,
 * &at, &row);) */
static inline bool hash_index_next(const struct hash_index *x, uint64_t hash, size_t *at,
				   size_t *ret_row)
{
	for (;;) {
		const struct hash_slot *s = &x->slots[((uint32_t)hash + (*at)++) & x->mask];

		if (!s->row)
			return false;
		if (s->hash == (uint32_t)hash) {
			*ret_row = s->row - 1;
			return true;
		}
	}
}
/* Removes all rows but keeps the room. */
void hash_index_clear(struct hash_index *x);
void hash_index_free(struct hash_index *x);

#endif
