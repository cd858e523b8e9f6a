/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of a finding's note with the values of this run: %DIRECTORY%, %FILE%, %UNIT%, ...
 * Owns the placeholders. A command that needs an unknown value is left out, so no name is invented.
 */
#ifndef SNIPPETS_H
#define SNIPPETS_H

#include <stdio.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/model/model.h"

struct snippet_of {
	const struct model *model;
	const struct model_job *job;
	const struct finding *finding;
};

/*
 * 0 and *ret_code, to be freed; NULL: a value is unknown. -ENOMEM. Only shell commands have
 * placeholders; each value is one quoted word.
 */
int snippet_fill(const struct snippet_of *of, const struct note_snippet *snippet, char **ret_code);
/* A command as a note without a run shows it: "UNIT.service" in place of %UNIT%. */
void snippet_words(FILE *out, const char *code);

#endif
