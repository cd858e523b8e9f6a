/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --help of the program and of its verbs, from their tables: examples first, within 80 columns.
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include <stdio.h>

#include "cachemon/cmd/spec.h"

void help_program(FILE *out);
void help_verb(FILE *out, const struct verb_spec *spec);

#endif
