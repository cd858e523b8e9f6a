/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes from the names of one side to those of the other, drawn on a page as streams as wide as
 * the amount. It belongs beside a table with the amounts, which is what text and Markdown show.
 */
#ifndef REPORT_DOC_FLOW_H
#define REPORT_DOC_FLOW_H

#include "cachemon/render/doc.h"

/* A side has this many names; the last stands for all that are not named. */
enum { FLOW_NAMES = 7 };

struct doc_stream {
	size_t from, to; /* of names[0], names[1] */
	enum tone tone;
	double amount; /* above 0 */
};

struct doc_flow {
	const char *title, *says;
	const char *names[2][FLOW_NAMES];
	size_t nr_names[2];
	const struct doc_stream *streams;
	size_t nr;
};

/* Nothing where there is no stream. */
void doc_put_flow(struct doc *d, const struct doc_flow *flow);

#endif
