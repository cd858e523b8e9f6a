/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run says in sentences, and the short summary at its end. Owns wording; reads the model
 * only. Names in the text are as the model has them: the caller's writer makes them inert.
 */
#ifndef PROSE_H
#define PROSE_H

#include <stdio.h>

#include "cachemon/model/model.h"

/* Hit ratio, what was read, misses, prefetch, stall, own cost: one paragraph, no newline. */
void prose_verdict(FILE *out, const struct model *m, const struct model_job *job);
/* Whether the run is complete and what was lost, after lead; false: nothing, for a good run. */
bool prose_caveats(FILE *out, const char *lead, const struct model *m);
/* About ten lines, caveats among them, for the end of a run. report_command: how to see more, or
 * NULL. */
void prose_summary(FILE *out, const struct model *m, const char *report_command);

#endif
