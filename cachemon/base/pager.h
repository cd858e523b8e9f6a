/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows a long text on a terminal through the user's pager, as git does. Owns the choice ($PAGER,
 * else less) and its process.
 */
#ifndef PAGER_H
#define PAGER_H

#include <stdio.h>

#include "cachemon/base/errtext.h"

/*
 * Calls put() with standard output, or, if that is a terminal and a pager is wanted, with a stream
 * whose text the pager then shows; looks_like is then the terminal, whose width and characters the
 * text must have, else NULL. No pager is wanted if $PAGER is empty or cat, or the terminal is
 * dumb. LESS is FRX if it is unset. Quitting the pager early is not an error; if it cannot be run,
 * the text goes to standard output. Returns what put() returned, or -errno with a text.
 */
int pager_put(int (*put)(void *arg, FILE *out, FILE *looks_like, struct errtext *err), void *arg,
	      struct errtext *err);

#endif
