/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing array: a pointer to its items, and its capacity. */
#ifndef VEC_H
#define VEC_H

#include <errno.h>
#include <stddef.h>

/*
 * Makes room for need items in the array, whose capacity is a size_t. 0, or -ENOMEM and no change.
 * The capacity at least doubles, so that repeated pushing is cheap.
 */
#define vec_reserve(array, room, need)                                                             \
	({                                                                                         \
		void *grown_ = vec_grown((array), &(room), (need), sizeof(typeof(*(array))));      \
		if (grown_)                                                                        \
			(array) = grown_;                                                          \
		grown_ ? 0 : -ENOMEM;                                                              \
	})

/* The array, perhaps moved; NULL: no memory, or the size overflows. */
void *vec_grown(void *array, size_t *room, size_t need, size_t item_bytes);

#endif
