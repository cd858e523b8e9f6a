/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/vec.h"

#include <stdlib.h>

/* At first; large items are often few. */
enum { ROOM_MIN = 16, ROOM_MIN_BYTES = 1024 };

static size_t least_room(size_t item_bytes)
{
	size_t room = ROOM_MIN_BYTES / item_bytes;

	return room > ROOM_MIN ? ROOM_MIN : room ? room : 1;
}

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
	if (more < least_room(item_bytes))
		more = least_room(item_bytes);
	if (__builtin_mul_overflow(more, item_bytes, &bytes))
		return NULL;
	grown = realloc(array, bytes);
	if (grown)
		*room = more;
	return grown;
}
