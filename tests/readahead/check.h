/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings of readahead_record, compared with the model: call by call, folio by folio. */
#ifndef READAHEAD_CHECK_H
#define READAHEAD_CHECK_H

#include <stddef.h>
#include <stdio.h>

struct check_result {
	unsigned int runs, exact;
	unsigned long pages; /* added by the kernel, in all runs */
	char kernel[128], fstype[32];
};

/*
 * Reads one recording and replays its calls. Prints differences to `out`, the first one of each
 * run. Returns 0, or -1 if the recording or the kernel cannot be judged; `out` has the reason.
 */
int recording_check(FILE *recording, FILE *out, struct check_result *ret);

/* The recording of one pattern with one setting, folio by folio. */
struct recorded {
	size_t call;
	unsigned long first;
	unsigned int order;
};

/* Rewinds and finds the run. Returns its folios, which the caller frees, or NULL if there is no
 * such run. */
struct recorded *recording_find(FILE *recording, const char *pattern, unsigned int kb,
				size_t *ret_nr);

#endif
