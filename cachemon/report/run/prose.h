/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run says in sentences. Owns wording; reads the model
 * only. Names in the text are as the model has them: the caller's writer makes them inert.
 */
#ifndef PROSE_H
#define PROSE_H

#include <stdio.h>

#include "cachemon/model/model.h"

/* Names in sentences, in bytes. */
enum { PROSE_NAME_MAX = 60 };
/* In its place: at most max bytes, cut after a word where there is one. NULL stays. */
char *prose_cut(char *text, size_t max);
/* Inert, for free(); NULL: no memory. */
char *prose_name(const struct bytes *name, size_t max);
/* Hit ratio, what was read, misses; that the overhead budget was not kept. No newline. */
void prose_reads(FILE *out, const struct model *m, const struct model_job *job);
/* That, prefetch and own cost: one paragraph, no newline. */
void prose_verdict(FILE *out, const struct model *m, const struct model_job *job);
/* Whether the run is complete and what was lost, after lead; false: nothing, for a good run. */
bool prose_caveats(FILE *out, const char *lead, const struct model *m);

#endif
