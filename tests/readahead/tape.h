/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorded run as the trace of a file: the events that a recorder would have seen of its calls,
 * and the pages that the kernel brought at each.
 */
#ifndef READAHEAD_TAPE_H
#define READAHEAD_TAPE_H

#include <stdbool.h>
#include <stdio.h>

#include "cachemon/figures/trace_code.h"

enum { TAPE_IO_PAGES = 320 };

struct tape {
	uint8_t *data;
	size_t size, room;
	size_t events;
	struct trace_coder coder;
	struct trace_event *event; /* the same, as they are */
};

/* false: the recording has no such run. */
bool tape_record(struct tape *ret, FILE *recording, const char *pattern, unsigned int kb);
/* Appends an event. */
void tape_put(struct tape *t, const struct trace_event *e);
void tape_free(struct tape *t);

#endif
