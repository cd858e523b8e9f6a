/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of prompts/ that travel in the binary, by the first word of their file names. */
#ifndef LLM_EMBEDDED_H
#define LLM_EMBEDDED_H

/* "system", "question", "reply"; "" for another name. */
const char *embedded_prompt(const char *name);

#endif
