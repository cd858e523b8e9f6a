/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of a job for people and programs. Owns the JSON object, the plot and the
 * words of 'whatif cache'. whatif_cache_answer() is in whatif_cache_text.c; curve_*() and
 * whatif_cache_range() are in whatif_cache_picture.c.
 */
#ifndef WHATIF_CACHE_H
#define WHATIF_CACHE_H

#include "advisor/analysis/job_curve.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

/* A cache size with a mark. */
struct curve_mark {
	char letter;
	const char *key;
	const char *name;
	double pages; /* < 0: unknown */
};

enum { CURVE_MARKS = 3 };

void curve_marks(const struct job_curve *c, struct curve_mark ret[CURVE_MARKS]);

/* The largest size worth drawing, in pages. */
double whatif_cache_range(const struct job_curve *c);

/* The values drawn for each cache size, in bytes: hit ratios. */
struct curve_lines {
	double *hit, *low, *high;
	double *best; /* NULL: not wanted */
};

void curve_lines(const struct job_curve *c, const double *bytes, size_t nr,
		 const struct curve_lines *ret);
/* The qualifier of its ratios; NULL: all pages were sampled. */
const char *curve_ratio_mark(const struct job_curve *c);
/* "90 % of hits take 1.2 GiB of cache." A sentence that may follow a colon. */
void curve_say(const struct job_curve *c, char *says, size_t size);

/* One or a few sentences: the size for a hit ratio of 90 %, its band and the size that the job has;
 * or why that is not known. To be freed; NULL: no memory. */
char *whatif_cache_answer(const struct job_curve *c);
/* Inside an open object. */
void whatif_cache_json(struct tree *t, const struct job_curve *c);
/* A job's part of the document, which is plain text. */
void whatif_cache_text(struct doc *d, const struct model_job *job, const struct job_curve *c);
/* The curve as a picture of a document. */
void whatif_cache_picture(struct doc *d, const struct job_curve *c);

#endif
