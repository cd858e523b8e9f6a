/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recording what a kernel reads ahead. Owns the recorder that its parts share: the calls on the
 * file (record_calls.c), the trace of what they brought (record_trace.c), and the order of both
 * (record.c).
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "patterns.h"

/* "NUMBER FIRST+PAGES@ORDER", of which those that go on in equal steps are told together. */
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
	bool disturbed; /* pages left: somebody else empties caches */
	FILE *out;
};

/* Writes a file of a directory, or ends the program. */
void put(const char *dir, const char *name, const char *text);

/* One call of a pattern, on the open and mapped file. */
void call_make(struct recorder *r, const struct call *c);

/* Events of this process on the file, in the instance of tracefs. */
void trace_start(struct recorder *r, const char *fstype);
/* What came since is forgotten. */
void trace_forget(struct recorder *r);
/* What call number brought, as a line; lines alike may wait to be told together. */
void trace_tell(struct recorder *r, size_t number);
void trace_flush(struct recorder *r);

#endif
