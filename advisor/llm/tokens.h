/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates the number of tokens of a text, for budgets. The estimate is above the count of the
 * usual tokenizers rather than below it. Pure. */
#ifndef LLM_TOKENS_H
#define LLM_TOKENS_H

#include <stddef.h>

enum { LLM_TOKENS_IN = 8000, LLM_TOKENS_OUT = 1500, LLM_TOKENS_NOTES = 1500, LLM_NOTES_MAX = 6 };

size_t tokens_of(const char *text);

#endif
