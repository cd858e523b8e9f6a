/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A long text on a terminal, through the user's pager as git does it. Owns the choice ($PAGER, else
 * less) and its process.
 */
#ifndef PAGER_H
#define PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/base/errtext.h"

/* False: $PAGER is empty or cat, or the terminal is a dumb one. */
bool pager_wanted(void);

/* Runs it, with LESS=FRX where LESS is not set, and waits for it. A user who leaves it early has
 * seen enough; where it cannot be run, the text goes to standard output. 0 or -errno with a text.
 */
int pager_show(const char *text, size_t len, struct errtext *err);

#endif
