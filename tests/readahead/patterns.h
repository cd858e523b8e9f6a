/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses to a cold file whose readahead is recorded on real kernels and compared with the model.
 * Both sides generate them from this code, so that a recording has only the pages that the kernel
 * brought.
 */
#ifndef READAHEAD_PATTERNS_H
#define READAHEAD_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATTERN_PAGE = 4096, PATTERN_PAGES = 4097, PATTERN_STREAMS = 2 };

#define PATTERN_BYTES ((uint64_t)(PATTERN_PAGES - 1) * PATTERN_PAGE + 100)

enum call_kind {
	DO_READ,   /* pread of count bytes at pos */
	DO_SEND,   /* sendfile, likewise */
	DO_TOUCH,  /* a byte of the mapping */
	DO_ADVISE, /* posix_fadvise(pos, count, advice) */
	DO_MADVISE /* of the whole mapping, or of [pos, pos + count) for willneed */
};

enum call_advice { ADVISE_NORMAL, ADVISE_SEQUENTIAL, ADVISE_RANDOM, ADVISE_WILLNEED };

struct call {
	enum call_kind kind;
	unsigned int stream; /* index of the open file */
	uint64_t pos, count;
	enum call_advice advice;
};

struct calls {
	struct call *call;
	size_t nr, room;
};

struct pattern {
	const char *name;
	void (*make)(struct calls *calls);
	bool exec; /* the mapping is executable */
};

size_t pattern_count(void);
const struct pattern *pattern_at(size_t i);
/* NULL: unknown name. */
const struct pattern *pattern_named(const char *name);
/* The values of read_ahead_kb for each pattern. */
size_t pattern_settings(const unsigned int **ret_kb);

void calls_make(const struct pattern *p, struct calls *ret);
void calls_free(struct calls *calls);

#endif
