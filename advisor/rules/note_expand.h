/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared texts to which lines of a note refer. Owns the syntax of such a line. */
#ifndef NOTE_EXPAND_H
#define NOTE_EXPAND_H

#include "advisor/rules/text.h"
#include "cachemon/base/errtext.h"

/* The lines up to end, with the shared texts inserted. 0, -EINVAL, or -ENOMEM. */
int note_expand(struct arena *a, const char *file, struct lines from, const char *end,
		const char **ret, struct errtext *err);

#endif
