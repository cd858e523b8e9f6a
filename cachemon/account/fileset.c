/* SPDX-License-Identifier: BSD-2-Clause */
#include "account/fileset.h"

#include <stdlib.h>

/*
 * An entry is 55 bits of the hash, one flag and an 8-bit weight code; 0 is an empty slot. The slot
 * comes from the top bits of the entry alone, so that the table can grow without the keys. Two of
 * 1.5 million files share 55 bits with a probability of 3e-5.
 */
enum { WEIGHT_MASK = 0xff, UNNAMED = 0x100, TAG_SHIFT = 9 };
#define TAG_MASK (~0ULL << TAG_SHIFT)

enum { FIRST_ORDER = 10 };

/* Code c stands for (1.1^c - 1) / 0.1: 255 is beyond 10^11 misses. */
static const double WEIGHT_BASE = 1.1;

struct fileset {
	uint64_t *slots;
	unsigned int order; /* log2 of the number of slots */
	size_t count;
	size_t max;
	uint64_t random;
	double weights[256];
};

struct fileset *fileset_new(size_t max)
{
	struct fileset *s = calloc(1, sizeof(*s));
	double power = 1;

	if (!s)
		return NULL;
	s->order = FIRST_ORDER;
	s->max = max;
	s->random = 88172645463325252ULL;
	for (int i = 0; i < 256; i++, power *= WEIGHT_BASE)
		s->weights[i] = (power - 1) / (WEIGHT_BASE - 1);
	s->slots = calloc(1UL << s->order, sizeof(*s->slots));
	if (!s->slots) {
		free(s);
		return NULL;
	}
	return s;
}

void fileset_free(struct fileset *s)
{
	if (!s)
		return;
	free(s->slots);
	free(s);
}

size_t fileset_count(const struct fileset *s)
{
	return s->count;
}

size_t fileset_bytes(const struct fileset *s)
{
	return sizeof(*s) + sizeof(*s->slots) * (1UL << s->order);
}

static uint64_t *find_slot(uint64_t *slots, unsigned int order, uint64_t tag)
{
	size_t mask = (1UL << order) - 1;
	size_t i = tag >> (64 - order);

	while (slots[i] && (slots[i] & TAG_MASK) != tag)
		i = (i + 1) & mask;
	return &slots[i];
}

/* Room for one more at a load of at most 3/4. */
static bool make_room(struct fileset *s)
{
	size_t nr = 1UL << s->order;
	uint64_t *slots;

	if (s->count >= s->max)
		return false;
	if ((s->count + 1) * 4 <= nr * 3)
		return true;
	slots = calloc(nr * 2, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (s->slots[i])
			*find_slot(slots, s->order + 1, s->slots[i] & TAG_MASK) = s->slots[i];
	free(s->slots);
	s->slots = slots;
	s->order++;
	return true;
}

static uint64_t tag_of(uint64_t hash)
{
	uint64_t tag = hash & TAG_MASK;

	return tag ? tag : 1ULL << TAG_SHIFT;
}

uint64_t *fileset_find(const struct fileset *s, uint64_t hash)
{
	uint64_t *entry = find_slot(s->slots, s->order, tag_of(hash));

	return *entry ? entry : NULL;
}

uint64_t *fileset_get(struct fileset *s, uint64_t hash, bool *ret_added)
{
	uint64_t tag = tag_of(hash);
	uint64_t *entry;

	entry = find_slot(s->slots, s->order, tag);
	if (*entry) {
		*ret_added = false;
		return entry;
	}
	if (!make_room(s))
		return NULL;
	entry = find_slot(s->slots, s->order, tag);
	*entry = tag;
	s->count++;
	*ret_added = true;
	return entry;
}

bool fileset_unnamed(const uint64_t *entry)
{
	return *entry & UNNAMED;
}

void fileset_set_unnamed(uint64_t *entry, bool unnamed)
{
	*entry = unnamed ? *entry | UNNAMED : *entry & ~(uint64_t)UNNAMED;
}

int64_t fileset_weight(const struct fileset *s, const uint64_t *entry)
{
	return (int64_t)(s->weights[*entry & WEIGHT_MASK] + 0.5);
}

static double random_unit(struct fileset *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (double)(s->random >> 11) / (double)(1ULL << 53);
}

/* Rounds up or down by chance, so that many small additions are not all rounded away. */
void fileset_add_weight(struct fileset *s, uint64_t *entry, int64_t delta)
{
	double w = s->weights[*entry & WEIGHT_MASK] + (delta < 0 ? 0 : (double)delta);
	int low = 0;
	int high = WEIGHT_MASK;

	while (low < high) {
		int mid = (low + high + 1) / 2;

		if (s->weights[mid] <= w)
			low = mid;
		else
			high = mid - 1;
	}
	if (low < WEIGHT_MASK) {
		double step = s->weights[low + 1] - s->weights[low];

		if (random_unit(s) * step < w - s->weights[low])
			low++;
	}
	*entry = (*entry & ~(uint64_t)WEIGHT_MASK) | (uint64_t)low;
}
