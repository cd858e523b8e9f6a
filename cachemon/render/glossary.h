/* SPDX-License-Identifier: BSD-2-Clause */
/* What the words of a page mean: docs/glossary.md, embedded by the build, is the only home. */
#ifndef RENDER_GLOSSARY_H
#define RENDER_GLOSSARY_H

/* The definition of a word as a column or a row is named ("HITS", "misses", "used late"), in plain
 * text, for free(); NULL: the glossary does not have it, or no memory. */
char *glossary_find(const char *name);

#endif
