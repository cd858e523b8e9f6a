/* SPDX-License-Identifier: BSD-2-Clause */
/* How many tokens a text is, for budgets: an estimate that is rather too high than too low of the
 * tokenizers in use. Pure. */
#ifndef LLM_TOKENS_H
#define LLM_TOKENS_H

#include <stddef.h>

enum { LLM_TOKENS_IN = 8000, LLM_TOKENS_OUT = 1500, LLM_TOKENS_NOTES = 1500, LLM_NOTES_MAX = 6 };

size_t tokens_of(const char *text);

#endif
