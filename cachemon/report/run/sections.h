/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report for people, told to a document: verdict, then each job with its figures, then how
 * it was measured. Owns what is in it and in which order; layout is the document's.
 */
#ifndef REPORT_SECTIONS_H
#define REPORT_SECTIONS_H

#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"

/* Everything, from doc_begin() on; the caller calls doc_end(). */
void sections_report(struct doc *d, const struct model *m);

/* The parts. */
void sections_totals(struct doc *d, const struct model *m, const struct model_job *job);
void sections_prefetch(struct doc *d, const struct model *m, const struct model_job *job);
void sections_windows(struct doc *d, const struct model *m, const struct model_job *job);
/* Pictures of sizes and distances. */
void sections_sizes(struct doc *d, const struct model *m, const struct model_job *job);
void sections_evictions(struct doc *d, const struct model *m, const struct model_job *job);
void sections_timeline(struct doc *d, const struct model *m, const struct model_job *job);
/* What stands out over time, and beside earlier runs. */
void sections_series(struct doc *d, const struct model *m, const struct model_job *job);
void sections_curve(struct doc *d, const struct model *m, const struct model_job *job);
void sections_readahead(struct doc *d, const struct model *m, const struct model_job *job);
void sections_parts_of_files(struct doc *d, const struct model *m, const struct model_job *job);
void sections_evictors(struct doc *d, const struct model *m, const struct model_job *job);
void sections_rows(struct doc *d, const struct model *m, const struct model_job *job);
void sections_advice(struct doc *d, const struct model *m, const struct model_job *job);
void sections_filesystems(struct doc *d, const struct model *m, const struct model_job *job);
void sections_measured(struct doc *d, const struct model *m, const struct model_job *job);

#endif
