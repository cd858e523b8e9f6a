/* SPDX-License-Identifier: BSD-2-Clause */
/* One pass over the events of a traced file, chunk by chunk. Owns the place it has got to. */
#ifndef READAHEAD_CURSOR_H
#define READAHEAD_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "advisor/trace_code.h"

struct ra_trace_chunk {
	const uint8_t *data;
	size_t size;
};

struct ra_trace {
	const struct ra_trace_chunk *chunks;
	size_t nr_chunks;
};

struct ra_cursor {
	const struct ra_trace *trace;
	size_t chunk, at;
	struct trace_coder coder;
};

struct ra_cursor ra_cursor_begin(const struct ra_trace *trace);
/* 1 with an event, 0 behind the last one, -EBADMSG. */
int ra_cursor_next(struct ra_cursor *c, struct trace_event *ret);

#endif
