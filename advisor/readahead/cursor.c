/* SPDX-License-Identifier: BSD-2-Clause */
#include "readahead/cursor.h"

#include <string.h>

struct ra_cursor ra_cursor_begin(const struct ra_trace *trace)
{
	return (struct ra_cursor){.trace = trace};
}

int ra_cursor_next(struct ra_cursor *c, struct trace_event *ret)
{
	while (c->chunk < c->trace->nr_chunks) {
		const struct ra_trace_chunk *chunk = &c->trace->chunks[c->chunk];
		int n = trace_decode(&c->coder, chunk->data + c->at, chunk->size - c->at, ret);

		if (n < 0)
			return n;
		if (n > 0) {
			c->at += (size_t)n;
			return 1;
		}
		c->chunk++;
		c->at = 0;
		memset(&c->coder, 0, sizeof(c->coder));
	}
	return 0;
}
