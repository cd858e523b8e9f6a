/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of a job as people and programs read it. Owns the JSON object, the plot and
 * the words of 'whatif cache'.
 */
#ifndef WHATIF_CACHE_H
#define WHATIF_CACHE_H

#include "job_curve.h"
#include "report/doc.h"
#include "report/model.h"
#include "report/tree.h"

/* A size of the cache worth marking. */
struct curve_mark {
	char letter;
	const char *key;
	const char *name;
	double pages; /* < 0: not known */
};

enum { CURVE_MARKS = 3 };

void curve_marks(const struct job_curve *c, struct curve_mark ret[CURVE_MARKS]);

/* Inside an open object. */
void whatif_cache_json(struct tree *t, const struct job_curve *c);
/* A job's part of the document, which is plain text. */
void whatif_cache_text(struct doc *d, const struct model_job *job, const struct job_curve *c);
/* At most 80 columns; unicode: else ASCII alone. */
void whatif_cache_plot(FILE *out, const struct job_curve *c, bool unicode);

#endif
