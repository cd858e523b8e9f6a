/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files that write HTML: escaping, and parts that have a file of their own. Styles
 * are only classes of page/style.css, because the page's policy allows no others. html_text(),
 * html_sentence(), html_wrapped(), html_caption() and html_label() are in doc_html.c; html_map()
 * and html_numbers() are in html_table.c; html_tone() is in html_picture.c.
 */
#ifndef RENDER_HTML_H
#define RENDER_HTML_H

#include "cachemon/render/doc.h"

/* Text with the five special characters escaped; for elements and attributes. */
void html_text(FILE *out, const char *s);
/* The same for sentences: a line does not break between a number and its unit. */
void html_sentence(FILE *out, const char *s);
/* The same for narrow elements: a line may break after a slash within a path. */
void html_wrapped(FILE *out, const char *s);
/* The caption of a figure, and the attributes of its drawing. */
void html_caption(FILE *out, const char *title, const char *says);
void html_label(FILE *out, const char *title, const char *says);
void html_table(struct doc *d, const struct doc_table *t);
void html_map(struct doc *d, const struct doc_map *map);
void html_flow(struct doc *d, const struct doc_flow *flow);
/* The numbers of a picture as a folded table. */
void html_numbers(FILE *out, const struct picture *p);
void html_picture(struct doc *d, const struct picture *p);

/* The class of a tone. */
const char *html_tone(enum tone tone);

#endif
