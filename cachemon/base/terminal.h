/* SPDX-License-Identifier: BSD-2-Clause */
/* The abilities of a terminal that lines rewritten in place need. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A terminal that can rewrite a line. */
bool terminal_rewrites(FILE *out);
size_t terminal_columns(FILE *out);
/* The line that the cursor is on is gone. */
void terminal_clear_line(FILE *out);

#endif
