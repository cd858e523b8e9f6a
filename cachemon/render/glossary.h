/* SPDX-License-Identifier: BSD-2-Clause */
/* The meanings of the words of a page, from docs/glossary.md, which the build embeds. */
#ifndef RENDER_GLOSSARY_H
#define RENDER_GLOSSARY_H

/* The definition of a word as a column or a row is named ("HITS", "misses", "used late"), in plain
 * text, for free(); NULL: the glossary does not have it, or no memory. */
char *glossary_find(const char *name);

#endif
