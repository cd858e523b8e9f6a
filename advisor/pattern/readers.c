/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/accesses.h"

#include <errno.h>
#include <stdlib.h>

/* Of the file: less is a part of it, as of who shares the work with others. */
static const double WHOLE = 0.8;

static int by_task_and_place(const void *a, const void *b)
{
	const struct access *x = a;
	const struct access *y = b;

	if (x->actor != y->actor)
		return x->actor < y->actor ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* Bytes that the task at i read, each once; *ret_next: the first access of another. */
static double distinct_bytes(const struct access *a, size_t nr, size_t i, size_t *ret_next)
{
	uint32_t actor = a[i].actor;
	uint64_t reached = 0;
	double bytes = 0;

	for (; i < nr && a[i].actor == actor; i++) {
		uint64_t from = a[i].pos > reached ? a[i].pos : reached;
		uint64_t end = a[i].pos + a[i].len;

		if (end <= from)
			continue;
		bytes += (double)(end - from);
		reached = end;
	}
	*ret_next = i;
	return bytes;
}

int readers_features(const struct access *a, size_t nr, uint64_t size_bytes, struct features *f)
{
	struct access *sorted;
	size_t readers = 0;

	if (!nr || !size_bytes)
		return 0;
	sorted = malloc(nr * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = a[i];
	qsort(sorted, nr, sizeof(*sorted), by_task_and_place);
	for (size_t i = 0; i < nr;)
		readers += distinct_bytes(sorted, nr, i, &i) >= WHOLE * (double)size_bytes;
	features_set(f, F_readers, (double)readers);
	free(sorted);
	return 0;
}
