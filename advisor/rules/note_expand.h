/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared texts that lines of a note refer to. Owns the syntax of such a line. */
#ifndef NOTE_EXPAND_H
#define NOTE_EXPAND_H

#include "advisor/rules/text.h"
#include "cachemon/base/errtext.h"

/* The lines up to end with the shared texts in. 0, -EINVAL, or -ENOMEM. */
int note_expand(struct arena *a, const char *file, struct lines from, const char *end,
		const char **ret, struct errtext *err);

#endif
