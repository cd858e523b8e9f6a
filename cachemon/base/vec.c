/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/vec.h"

#include <stdlib.h>

enum { ROOM_MIN = 16 };

void *vec_grown(void *array, size_t *room, size_t need, size_t item_bytes)
{
	size_t more, bytes;
	void *grown;

	if (array && need <= *room)
		return array;
	if (__builtin_mul_overflow(*room, 2, &more))
		return NULL;
	if (more < need)
		more = need;
	if (more < ROOM_MIN)
		more = ROOM_MIN;
	if (__builtin_mul_overflow(more, item_bytes, &bytes))
		return NULL;
	grown = realloc(array, bytes);
	if (grown)
		*room = more;
	return grown;
}
