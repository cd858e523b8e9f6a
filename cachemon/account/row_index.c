/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/row_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int row_index_init(struct row_index *x, size_t rows)
{
	size_t nr = 16;

	while (nr < rows * 2)
		nr *= 2;
	x->slots = calloc(nr, sizeof(*x->slots));
	if (!x->slots)
		return -ENOMEM;
	x->mask = nr - 1;
	return 0;
}

void row_index_clear(struct row_index *x)
{
	memset(x->slots, 0, (x->mask + 1) * sizeof(*x->slots));
}

size_t row_index_first(const struct row_index *x, uint64_t hash)
{
	return hash & x->mask;
}

bool row_index_row(const struct row_index *x, size_t slot, size_t *ret_row)
{
	if (!x->slots[slot])
		return false;
	*ret_row = x->slots[slot] - 1;
	return true;
}

void row_index_put(struct row_index *x, uint64_t hash, size_t row)
{
	size_t slot = hash & x->mask;

	while (x->slots[slot])
		slot = (slot + 1) & x->mask;
	x->slots[slot] = (uint32_t)row + 1;
}
