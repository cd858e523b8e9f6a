/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/fileset.h"

#include <stdlib.h>
#include <string.h>

/*
 * A tag is the upper 56 bits of the hash. Segment and slot derive from the tag alone, so that a
 * segment can grow without the keys; having many segments keeps each growth step short. Two of 1.5
 * million files share 56 bits with a probability of 2e-5.
 */
enum { TAG_BITS = 56, SEGMENT_BITS = 6, FIRST_ORDER = 4 };
#define SEGMENTS (1U << SEGMENT_BITS)

_Static_assert(sizeof(struct fileset_entry) == 10, "fileset_entry: no holes");

/* Code c represents (1.1^c - 1) / 0.1; 255 is beyond 10^11 misses. */
static const double WEIGHT_BASE = 1.1;
enum { WEIGHT_MAX = 255 };

struct segment {
	struct fileset_entry *slots; /* NULL: none */
	unsigned int order;	     /* log2 of the number of slots */
	size_t count;
};

struct fileset {
	struct segment segments[SEGMENTS];
	size_t count;
	size_t max;
	uint64_t random;
	double weights[WEIGHT_MAX + 1];
};

struct fileset *fileset_new(size_t max)
{
	struct fileset *s = calloc(1, sizeof(*s));
	double power = 1;

	if (!s)
		return NULL;
	s->max = max;
	s->random = 88172645463325252ULL;
	for (int i = 0; i <= WEIGHT_MAX; i++, power *= WEIGHT_BASE)
		s->weights[i] = (power - 1) / (WEIGHT_BASE - 1);
	return s;
}

void fileset_free(struct fileset *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < SEGMENTS; i++)
		free(s->segments[i].slots);
	free(s);
}

static uint64_t tag_of(uint64_t hash)
{
	uint64_t tag = hash >> (64 - TAG_BITS);

	return tag ? tag : 1;
}

static uint64_t entry_tag(const struct fileset_entry *e)
{
	uint64_t tag = 0;

	memcpy(&tag, e->tag, sizeof(e->tag));
	return tag;
}

/* The slot of the tag, or the empty slot where it belongs. */
static struct fileset_entry *find_slot(const struct segment *g, uint64_t tag)
{
	size_t mask = (1UL << g->order) - 1;
	size_t i = tag >> (TAG_BITS - SEGMENT_BITS - g->order);
	uint64_t there;

	for (i &= mask; (there = entry_tag(&g->slots[i])) && there != tag;)
		i = (i + 1) & mask;
	return &g->slots[i];
}

/* Makes room for one more at a load of at most 3/4. */
static bool grow_segment(struct segment *g)
{
	size_t nr = g->slots ? 1UL << g->order : 0;
	struct segment larger = {.order = g->slots ? g->order + 1 : FIRST_ORDER, .count = g->count};

	if ((g->count + 1) * 4 <= nr * 3)
		return true;
	larger.slots = calloc(1UL << larger.order, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < nr; i++) {
		uint64_t tag = entry_tag(&g->slots[i]);

		if (tag)
			*find_slot(&larger, tag) = g->slots[i];
	}
	free(g->slots);
	*g = larger;
	return true;
}

struct fileset_entry *fileset_find(const struct fileset *s, uint64_t hash)
{
	uint64_t tag = tag_of(hash);
	const struct segment *g = &s->segments[tag >> (TAG_BITS - SEGMENT_BITS)];
	struct fileset_entry *entry = g->slots ? find_slot(g, tag) : NULL;

	return entry && entry_tag(entry) ? entry : NULL;
}

struct fileset_entry *fileset_get(struct fileset *s, uint64_t hash, bool *ret_added)
{
	uint64_t tag = tag_of(hash);
	struct segment *g = &s->segments[tag >> (TAG_BITS - SEGMENT_BITS)];
	struct fileset_entry *entry = fileset_find(s, hash);

	*ret_added = false;
	if (entry)
		return entry;
	if (s->count >= s->max || !grow_segment(g))
		return NULL;
	entry = find_slot(g, tag);
	memcpy(entry->tag, &tag, sizeof(entry->tag));
	g->count++;
	s->count++;
	*ret_added = true;
	return entry;
}

int64_t fileset_weight(const struct fileset *s, const struct fileset_entry *entry)
{
	return (int64_t)(s->weights[entry->weight] + 0.5);
}

static double random_unit(struct fileset *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (double)(s->random >> 11) / (double)(1ULL << 53);
}

/* Rounds up or down at random, so that many small additions do not all vanish. */
void fileset_add_weight(struct fileset *s, struct fileset_entry *entry, int64_t delta)
{
	double w = s->weights[entry->weight] + (delta < 0 ? 0 : (double)delta);
	int low = 0;
	int high = WEIGHT_MAX;

	while (low < high) {
		int mid = (low + high + 1) / 2;

		if (s->weights[mid] <= w)
			low = mid;
		else
			high = mid - 1;
	}
	if (low < WEIGHT_MAX) {
		double step = s->weights[low + 1] - s->weights[low];

		if (random_unit(s) * step < w - s->weights[low])
			low++;
	}
	entry->weight = (uint8_t)low;
}
