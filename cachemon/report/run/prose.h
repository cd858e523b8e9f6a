/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sentences about a run. Owns the wording; reads only the model. Names are as in the model: the
 * caller's writer escapes them.
 */
#ifndef PROSE_H
#define PROSE_H

#include <stdio.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/model/model.h"

/* Maximum bytes of names in sentences. */
enum { PROSE_NAME_MAX = 60 };
/* Two lines of a terminal, minus the text before them. */
enum { PROSE_TWO_LINES = 148 };
/* Escaped, to be freed; NULL: no memory. */
char *prose_name(const struct bytes *name, size_t max);
/* The first sentences of what to do, as many as are useful, without backticks; to be freed. It is
 * never cut, because it may have a command: a test keeps that of the built-in rules at
 * PROSE_TWO_LINES. */
char *prose_action(const struct finding *f);
/* Hit ratio, bytes read, misses; and overhead above its budget. No newline. */
void prose_reads(FILE *out, const struct model *m, const struct model_job *job, bool why);
/* That, prefetch and overhead: one paragraph, no newline. */
void prose_verdict(FILE *out, const struct model *m, const struct model_job *job);
/* Whether the run is complete, and its losses, after lead; false: nothing to report. */
bool prose_caveats(FILE *out, const char *lead, const struct model *m);

#endif
