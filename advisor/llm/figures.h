/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers that a statement may say: those of what it cites. Pure. */
#ifndef LLM_FIGURES_H
#define LLM_FIGURES_H

#include "advisor/llm/check_impl.h"
#include "advisor/llm/quantity.h"

/* Whether it is the value of cited evidence, as measured or as shown, or stands with its unit in a
 * cited note of ours. */
bool figures_have(const struct basis *b, const struct quantity *said);
/* Whether the word before a number and the number, len bytes at at, stand just so in a fact:
 * "kernel 6.12". */
bool figures_in_fact(const struct pack *p, const char *text, const char *at, size_t len);

/* Whether the value that is shown has a unit of its own. */
bool figures_has_unit(const struct pack_evidence *e);
/* How much of the text behind a placeholder is the unit that the value has already. */
size_t figures_unit_again(const struct pack_evidence *e, const char *behind);

#endif
