/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Server-sent events out of bytes as they come, cut anywhere. Owns one line and one event at a
 * time; of the fields only data is of use here. Pure. An event that no blank line ends is dropped,
 * as the standard has it: whether all has come is told by what the events say.
 */
#ifndef WIRE_SSE_H
#define WIRE_SSE_H

#include <stdbool.h>
#include <stddef.h>

enum { SSE_EVENT_MAX = 1 << 20 }; /* bytes of a line, and of an event's data */

struct sse_buffer {
	char *bytes;
	size_t len, size;
};

/* {0} is a new one. */
struct sse {
	struct sse_buffer line, data;
	bool has_data;
	bool after_cr; /* a LF that follows ends no second line */
	bool begun;    /* the first line is over: no byte order mark any more */
};

/* One event's data, NUL after it; other than 0 ends sse_feed(), which returns it. */
typedef int (*sse_event)(void *arg, const char *data, size_t len);

/* 0; -EMSGSIZE: an event is too long; -ENOMEM. After an error only sse_free() is of use. */
int sse_feed(struct sse *s, const char *bytes, size_t len, sse_event event, void *arg);
void sse_free(struct sse *s);

#endif
