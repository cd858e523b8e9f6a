/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline of an HTML report: a strip of bars per series, each with its own scale, and the
 * same figures as a table. Owns the drawing; colours are the page's style.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "report/doc.h"

void svg_timeline(struct doc *d, const struct doc_timeline *t);
/* Text with the five special characters escaped; for elements and attributes. */
void html_text(FILE *out, const char *s);

#endif
