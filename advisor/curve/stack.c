/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/stack.h"

#include <errno.h>
#include <string.h>

#include "cachemon/base/arena.h"

/*
 * The stack is a line of slots in the order of last use, the latest last. A distance is a count of
 * taken slots, which a Fenwick tree gives. When the line is full it is compacted, so that its
 * length depends on the number of pages, not of references.
 */
enum { SLACK = 1024 };

#define SLOT_FREE UINT32_MAX
#define SLOT_HOLE (UINT32_MAX - 1)

#define PAGE_UNSEEN UINT32_MAX
#define PAGE_GONE   (UINT32_MAX - 1)

struct stack {
	struct arena arena; /* of the arrays */
	uint32_t nr_slots;  /* a power of two */
	uint32_t next;
	uint32_t taken;
	uint32_t *tree;	 /* Fenwick tree over slots, which begin at 1 */
	uint32_t *owner; /* page, or SLOT_* */
	uint32_t *slot;	 /* by page, or PAGE_* */
	uint32_t *holes; /* heap, the latest slot first */
	uint32_t nr_holes;
};

static int stack_new(uint32_t nr_pages, struct stack *ret)
{
	struct stack st = {.nr_slots = 1};

	while (st.nr_slots < 2 * (uint64_t)nr_pages + SLACK)
		st.nr_slots *= 2;
	st.tree = arena_alloc(&st.arena, (st.nr_slots + 1) * sizeof(*st.tree));
	st.owner = arena_alloc(&st.arena, st.nr_slots * sizeof(*st.owner));
	st.slot = arena_alloc(&st.arena, ((size_t)nr_pages + 1) * sizeof(*st.slot));
	st.holes = arena_alloc(&st.arena, ((size_t)nr_pages + 1) * sizeof(*st.holes));
	if (st.arena.failed) {
		arena_free(&st.arena);
		return -ENOMEM;
	}
	memset(st.owner, 0xff, st.nr_slots * sizeof(*st.owner));
	memset(st.slot, 0xff, nr_pages * sizeof(*st.slot));
	*ret = st;
	return 0;
}

static void tree_add(struct stack *st, uint32_t slot, uint32_t n)
{
	for (uint32_t i = slot + 1; i <= st->nr_slots; i += i & -i)
		st->tree[i] += n;
}

/* Taken slots before this one. */
static uint32_t tree_before(const struct stack *st, uint32_t slot)
{
	uint32_t sum = 0;

	for (uint32_t i = slot; i; i -= i & -i)
		sum += st->tree[i];
	return sum;
}

static void hole_push(struct stack *st, uint32_t slot)
{
	uint32_t i = st->nr_holes++;

	while (i && st->holes[(i - 1) / 2] < slot) {
		st->holes[i] = st->holes[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	st->holes[i] = slot;
}

static uint32_t hole_pop(struct stack *st)
{
	uint32_t top = st->holes[0];
	uint32_t last = st->holes[--st->nr_holes];
	uint32_t i = 0;

	for (uint32_t child = 1; child < st->nr_holes; child = 2 * i + 1) {
		if (child + 1 < st->nr_holes && st->holes[child + 1] > st->holes[child])
			child++;
		if (st->holes[child] <= last)
			break;
		st->holes[i] = st->holes[child];
		i = child;
	}
	st->holes[i] = last;
	return top;
}

/* Moves all taken slots to the front. */
static void squeeze_slots(struct stack *st)
{
	uint32_t n = 0;

	st->nr_holes = 0;
	for (uint32_t i = 0; i < st->next; i++) {
		uint32_t owner = st->owner[i];

		if (owner == SLOT_FREE)
			continue;
		if (owner == SLOT_HOLE)
			hole_push(st, n);
		else
			st->slot[owner] = n;
		st->owner[n++] = owner;
	}
	memset(st->owner + n, 0xff, (st->nr_slots - n) * sizeof(*st->owner));
	memset(st->tree, 0, (st->nr_slots + 1) * sizeof(*st->tree));
	for (uint32_t i = 1; i <= st->nr_slots; i++) {
		uint32_t above = i + (i & -i);

		st->tree[i] += i <= n;
		if (above <= st->nr_slots)
			st->tree[above] += st->tree[i];
	}
	st->next = n;
}

static void slot_give(struct stack *st, uint32_t slot)
{
	st->owner[slot] = SLOT_FREE;
	tree_add(st, slot, UINT32_MAX);
	st->taken--;
}

static void put_on_top(struct stack *st, uint32_t page)
{
	if (st->next == st->nr_slots)
		squeeze_slots(st);
	st->slot[page] = st->next;
	st->owner[st->next] = page;
	tree_add(st, st->next++, 1);
	st->taken++;
}

static uint32_t look_up_in_stack(struct stack *st, uint32_t page)
{
	uint32_t slot = st->slot[page];
	bool there = slot < PAGE_GONE;
	uint32_t distance = slot == PAGE_UNSEEN ? STACK_FIRST : STACK_AGAIN;

	if (there)
		distance = st->taken - tree_before(st, slot);
	/*
	 * The entries above fill the highest hole. Caches that hold the page do not change: in them
	 * the page's own place becomes the hole.
	 */
	if (st->nr_holes && (!there || st->holes[0] > slot)) {
		slot_give(st, hole_pop(st));
		if (there) {
			st->owner[slot] = SLOT_HOLE;
			hole_push(st, slot);
		}
	} else if (there) {
		slot_give(st, slot);
	}
	put_on_top(st, page);
	return distance;
}

static void take_out(struct stack *st, uint32_t page)
{
	uint32_t slot = st->slot[page];

	if (slot >= PAGE_GONE)
		return;
	st->owner[slot] = SLOT_HOLE;
	hole_push(st, slot);
	st->slot[page] = PAGE_GONE;
}

int stack_distances(const struct curve_sample *s, uint32_t ret_distances[])
{
	struct stack st;
	int ret = stack_new(s->nr_pages, &st);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < s->nr_entries; i++) {
		uint32_t page = curve_entry_page(s->entries[i]);

		if (curve_entry_removed(s->entries[i])) {
			take_out(&st, page);
			ret_distances[i] = STACK_REMOVED;
		} else {
			ret_distances[i] = look_up_in_stack(&st, page);
		}
	}
	arena_free(&st.arena);
	return 0;
}
