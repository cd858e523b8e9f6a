/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows a long text on a terminal through the user's pager, as git does. Owns the choice ($PAGER,
 * else less) and its process.
 */
#ifndef PAGER_H
#define PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/base/errtext.h"

/* False: $PAGER is empty or cat, or the terminal is dumb. */
bool pager_wanted(void);

/* Runs the pager, with LESS=FRX if LESS is unset, and waits for it. Quitting it early is not an
 * error; if it cannot be run, the text goes to standard output. 0 or -errno with a text. */
int pager_show(const char *text, size_t len, struct errtext *err);

#endif
