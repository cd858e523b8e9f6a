/* SPDX-License-Identifier: BSD-2-Clause */
/* From a hash to the number of a row. Owns nothing of the rows: the caller compares them. */
#ifndef ROW_INDEX_H
#define ROW_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hash to row number, open addressing at a load of at most 1/2. */
struct row_index {
	uint32_t *slots; /* row + 1; 0: empty */
	size_t mask;
};

int row_index_init(struct row_index *x, size_t rows);
void row_index_clear(struct row_index *x);
void row_index_put(struct row_index *x, uint64_t hash, size_t row);
/* for (s = row_index_first(x, h); row_index_row(x, s, &row); s = (s + 1) & x->mask) */
size_t row_index_first(const struct row_index *x, uint64_t hash);
bool row_index_row(const struct row_index *x, size_t slot, size_t *ret_row);

#endif
