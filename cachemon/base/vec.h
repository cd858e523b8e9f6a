/* SPDX-License-Identifier: BSD-2-Clause */
/* An array that grows: a pointer to its items, and for how many of them it has room. */
#ifndef VEC_H
#define VEC_H

#include <errno.h>
#include <stddef.h>

/*
 * Room for need items in the array, whose room is a size_t. 0, or -ENOMEM: then the array is as it
 * was. The room at least doubles, so that pushing one after the other is cheap.
 */
#define vec_reserve(array, room, need)                                                             \
	({                                                                                         \
		void *grown_ = vec_grown((array), &(room), (need), sizeof(*(array)));              \
		if (grown_)                                                                        \
			(array) = grown_;                                                          \
		grown_ ? 0 : -ENOMEM;                                                              \
	})

/* The array, at its new place when it had to grow; NULL: no memory, or more than can be counted. */
void *vec_grown(void *array, size_t *room, size_t need, size_t item_bytes);

#endif
