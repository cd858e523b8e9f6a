/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records the readahead of a kernel. Has the state that the parts of the recorder share: the calls
 * on the file (record_calls.c), the trace of the pages they brought (record_trace.c), and the order
 * of both (record.c).
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "patterns.h"

/* "NUMBER FIRST+PAGES@ORDER"; runs with equal steps are printed together. */
struct line {
	size_t number, every, repeat;
	uint64_t first, nr;
	int64_t step;
	unsigned int order;
};

struct recorder {
	const char *file, *bdi, *tracing;
	int pipe; /* trace_pipe */
	int null;
	int fd[PATTERN_STREAMS];
	unsigned char *mapping;
	char *buffer;
	size_t buffer_bytes;
	unsigned char seen[PATTERN_PAGES];
	struct line last;
	bool disturbed; /* pages left: another process drops caches */
	FILE *out;
};

/* Writes to a file of a directory, or exits. */
void put(const char *dir, const char *name, const char *text);

/* One call of a pattern, on the open and mapped file. */
void call_make(struct recorder *r, const struct call *c);

/* Events of this process on the file, in the instance of tracefs. */
void trace_start(struct recorder *r, const char *fstype);
/* Discards earlier events. */
void trace_forget(struct recorder *r);
/* Prints the pages that call number brought, as a line; equal lines may be printed together
 * later. */
void trace_tell(struct recorder *r, size_t number);
void trace_flush(struct recorder *r);

#endif
