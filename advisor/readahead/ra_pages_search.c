/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk over the kernel's tree of pages (lib/xarray.c: xas_next, xas_prev). Nodes have 64 slots;
 * a folio of 64 pages and more is an entry one level up. The walk begins with a load, which goes to
 * the slot of the folio's first page and leaves the index where it was: from there both advance by
 * one, so that the slot looked at lags behind the index, until a node ends and the slot is taken
 * from the index again.
 */
#include "advisor/readahead/ra_pages.h"

enum { SLOTS = 64, SHIFT = 6 };

struct walk {
	const struct ra_pages *pages;
	uint64_t index;
	uint64_t slot; /* in pages, or one level up in nodes */
	bool upper;
};

static bool large(const struct ra_pages *p, uint64_t page)
{
	return ra_pages_cached(p, page) && ra_pages_order(p, page) >= SHIFT;
}

static bool load(struct walk *w, bool lags)
{
	uint64_t head = w->index;

	if (!ra_pages_cached(w->pages, w->index))
		return false;
	if (lags)
		head = ra_pages_head(w->pages, w->index);
	w->upper = large(w->pages, w->index);
	w->slot = w->upper ? head >> SHIFT : head;
	return true;
}

static bool any_in(const struct ra_pages *p, uint64_t node)
{
	for (uint64_t i = 0; i < SLOTS; i++)
		if (ra_pages_cached(p, (node << SHIFT) + i))
			return true;
	return false;
}

/* The entry at a slot of the upper level, and down from there by the index. */
static bool descend(struct walk *w)
{
	w->upper = true;
	if (large(w->pages, w->slot << SHIFT))
		return true;
	if (!any_in(w->pages, w->slot))
		return false;
	w->upper = false;
	w->slot = (w->slot << SHIFT) + w->index % SLOTS;
	return ra_pages_cached(w->pages, w->slot);
}

static bool step_up(struct walk *w)
{
	w->index++;
	if (!w->upper && w->slot % SLOTS != SLOTS - 1)
		return ra_pages_cached(w->pages, ++w->slot);
	if (!w->upper) {
		if (w->index % SLOTS == SLOTS - 1)
			return ra_pages_cached(w->pages, w->slot);
		w->slot = (w->slot >> SHIFT) + 1;
	} else if (w->slot % SLOTS != (w->index >> SHIFT) % SLOTS) {
		w->slot++;
	} else {
		return descend(w);
	}
	/* Past the last slot of the upper node the way down is by the index all along. */
	if (w->slot % SLOTS == 0)
		w->slot = w->index >> SHIFT;
	return descend(w);
}

static bool step_down(struct walk *w)
{
	w->index--;
	if (!w->upper && w->slot % SLOTS)
		return ra_pages_cached(w->pages, --w->slot);
	if (!w->upper) {
		if (w->index % SLOTS == 0)
			return ra_pages_cached(w->pages, w->slot);
		if (w->slot == 0)
			return false;
		w->slot = (w->slot >> SHIFT) - 1;
	} else if (w->slot % SLOTS != (w->index >> SHIFT) % SLOTS) {
		if (w->slot == 0)
			return false;
		w->slot--;
	} else {
		return descend(w);
	}
	if (w->slot % SLOTS == SLOTS - 1)
		w->slot = w->index >> SHIFT;
	return descend(w);
}

uint64_t ra_pages_next_hole(const struct ra_pages *p, uint64_t page, uint64_t scan,
			    struct ra_search how)
{
	struct walk w = {.pages = p, .index = page};

	for (uint64_t i = 0; i < scan; i++) {
		if (!(i ? step_up(&w) : load(&w, how.lags)))
			return w.index;
	}
	return how.full_is_last ? w.index : page + scan;
}

uint64_t ra_pages_run_before(const struct ra_pages *p, uint64_t page, uint64_t scan,
			     struct ra_search how, bool *ret_from_start)
{
	struct walk w = {.pages = p, .index = page};

	*ret_from_start = false;
	for (uint64_t i = 0; i < scan; i++) {
		if (i && w.index == 0) {
			*ret_from_start = true;
			return page + 1;
		}
		if (!(i ? step_down(&w) : load(&w, how.lags)))
			return page - w.index;
	}
	return how.full_is_last ? page - w.index : scan;
}
