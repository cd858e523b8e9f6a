/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings of readahead_record against the model: call by call, folio by folio. */
#ifndef READAHEAD_CHECK_H
#define READAHEAD_CHECK_H

#include <stddef.h>
#include <stdio.h>

struct check_result {
	unsigned int runs, exact;
	unsigned long pages; /* that the kernel added, in all runs */
	char kernel[128], fstype[32];
};

/*
 * Reads one recording and replays its calls. Differences are printed to `out`, the first of each
 * run. 0, or -1 when the recording or the kernel is none that can be judged; `out` says why.
 */
int recording_check(FILE *recording, FILE *out, struct check_result *ret);

/* What a recording has of one pattern with one setting, folio by folio. */
struct recorded {
	size_t call;
	unsigned long first;
	unsigned int order;
};

/* Rewinds and looks it up. The folios, to be freed, or NULL where it has no such run. */
struct recorded *recording_find(FILE *recording, const char *pattern, unsigned int kb,
				size_t *ret_nr);

#endif
