/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_LEAST = 16 };

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = hash_mix(seed ^ len);

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		h = hash_mix(h ^ word) + 0x9e3779b97f4a7c15ULL;
	}
	if (len) {
		uint64_t word = 0;

		memcpy(&word, p, len);
		h = hash_mix(h ^ word);
	}
	return hash_mix(h);
}

int hash_index_reserve(struct hash_index *x, size_t rows)
{
	struct hash_index larger = {.mask = SLOTS_LEAST - 1};

	while (larger.mask + 1 < rows * 2)
		larger.mask = larger.mask * 2 + 1;
	if (x->slots && larger.mask <= x->mask)
		return 0;
	larger.slots = calloc(larger.mask + 1, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; x->nr && i <= x->mask; i++)
		if (x->slots[i].row)
			hash_index_put(&larger, x->slots[i].hash, x->slots[i].row - 1);
	free(x->slots);
	*x = larger;
	return 0;
}

void hash_index_put(struct hash_index *x, uint64_t hash, size_t row)
{
	size_t at = (uint32_t)hash;

	while (x->slots[at & x->mask].row)
		at++;
	x->slots[at & x->mask] = (struct hash_slot){(uint32_t)hash, (uint32_t)row + 1};
	x->nr++;
}

void hash_index_clear(struct hash_index *x)
{
	if (x->slots)
		memset(x->slots, 0, (x->mask + 1) * sizeof(*x->slots));
	x->nr = 0;
}

void hash_index_free(struct hash_index *x)
{
	free(x->slots);
	*x = (struct hash_index){0};
}
