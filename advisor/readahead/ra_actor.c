/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_actor.h"

#include <errno.h>
#include <stdlib.h>

#include "cachemon/base/vec.h"

int ra_adds_push(struct ra_adds *a, struct ra_add add)
{
	if (vec_reserve(a->v, a->room, a->nr + 1))
		return -ENOMEM;
	a->v[a->nr++] = add;
	return 0;
}

int ra_actor_take(struct ra_actor *a, const struct ra_file *f)
{
	int r = 0;

	for (size_t i = 0; !r && i < f->nr_adds; i++)
		r = ra_adds_push(&a->model, f->adds[i]);
	return r;
}

void ra_actor_free(struct ra_actor *a)
{
	free(a->model.v);
	free(a->trace.v);
}

static bool is_same(const struct ra_adds *a, const struct ra_adds *b)
{
	if (a->nr != b->nr)
		return false;
	for (size_t i = 0; i < a->nr; i++)
		if (a->v[i].first != b->v[i].first || a->v[i].order != b->v[i].order)
			return false;
	return true;
}

/* Removes pages that only the model brought in: the kernel brings them in later. Requested ones
 * stay, because they were cached after all. */
static void take_back(const struct ra_actor *a, struct ra_file *f)
{
	for (size_t i = 0; i < a->model.nr; i++) {
		uint64_t first = a->model.v[i].first, end = first + (1ULL << a->model.v[i].order);

		for (uint64_t page = first; page < end; page++) {
			if (page >= a->asked_first && page < a->asked_end)
				continue;
			ra_pages_remove(&f->pages, page);
		}
	}
}

static void bring_traced(const struct ra_actor *a, struct ra_file *f)
{
	uint64_t mark = UINT64_MAX;

	if (a->has_window && a->window.async_size)
		mark = a->window.start + a->window.size - a->window.async_size;
	for (size_t i = 0; i < a->trace.nr; i++) {
		const struct ra_add *add = &a->trace.v[i];
		uint64_t end = add->first + (1ULL << add->order);

		for (uint64_t page = add->first; page < end; page++)
			ra_pages_remove(&f->pages, page);
		ra_pages_add(&f->pages, add->first, add->order, mark >= add->first && mark < end);
		for (uint64_t page = add->first; page < end; page++)
			if (page < a->asked_first || page >= a->asked_end)
				ra_pages_set_unused(&f->pages, page);
	}
}

void ra_actor_judge(struct ra_actor *a, struct ra_file *f, struct ra_replay_result *result)
{
	if (a->model.nr || a->trace.nr) {
		result->windows++;
		if (is_same(&a->model, &a->trace)) {
			result->exact_windows++;
		} else {
			take_back(a, f);
			bring_traced(a, f);
		}
	}
	a->model.nr = a->trace.nr = 0;
	a->asked_first = a->asked_end = 0;
	a->has_window = false;
}
