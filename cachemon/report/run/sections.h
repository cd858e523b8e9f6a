/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report for people, written to a document: the verdict, then each job with its figures, then
 * how it was measured. Owns content and order; the document owns layout.
 */
#ifndef SECTIONS_H
#define SECTIONS_H

#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"

/* Everything, doc_begin() included; the caller calls doc_end(). */
void sections_report(struct doc *d, const struct model *m);
/* "cachemon VERB: JOB, run N on HOST". */
void sections_title(struct doc *d, const struct model *m, const char *verb);

enum { SECTIONS_FIXES = 3 };

/* What a screen leaves out to fit, each with all before it. Of several jobs each shows one less. */
enum screen_detail {
	SCREEN_ALL,
	SCREEN_NO_REASON, /* why measuring cost more than its budget */
	SCREEN_LEAST, /* start, limit and grades, reasons of lower bounds, all commands but one */
	SCREEN_NR,
};

/* A short report for a terminal, doc_begin() included; returns how many fixes it shows.
 * sections_screen.c: */
size_t sections_screen(struct doc *d, const struct model *m, enum screen_detail detail);
/* Its end; db: a path that commands must name, or NULL; again: further options of theirs, with a
 * blank before them, or ""; fixes: how many are shown. */
void sections_screen_end(struct doc *d, const struct model *m, enum screen_detail detail,
			 const char *db, const char *again, size_t fixes);
/* The most lines that it has. */
size_t sections_screen_end_lines(enum screen_detail detail, const char *db, const char *again);
/* The head of a whole report: what was run, the verdict, the waiting, and what to fix first. */
void sections_head(struct doc *d, const struct model *m, const struct model_job *job);

/* The parts, by file. sections_job.c: */
void sections_totals(struct doc *d, const struct model *m, const struct model_job *job);
void sections_prefetch(struct doc *d, const struct model *m, const struct model_job *job);
/* sections_time.c: */
void sections_timeline(struct doc *d, const struct model *m, const struct model_job *job);
void sections_epochs(struct doc *d, const struct model *m, const struct model_job *job);
/* Notable changes over time, and compared with earlier runs; sections_series.c: */
void sections_series(struct doc *d, const struct model *m, const struct model_job *job);
/* Lengths of waits, sizes and distances, other cache sizes, other readahead settings;
 * sections_sizes.c: */
void sections_waits(struct doc *d, const struct model *m, const struct model_job *job);
void sections_windows(struct doc *d, const struct model *m, const struct model_job *job);
void sections_curve(struct doc *d, const struct model *m, const struct model_job *job);
void sections_readahead(struct doc *d, const struct model *m, const struct model_job *job);
/* sections_evictors.c: */
void sections_evictions(struct doc *d, const struct model *m, const struct model_job *job);
void sections_evictors(struct doc *d, const struct model *m, const struct model_job *job);
/* Files and directories, advice, filesystems; sections_rows.c: */
void sections_rows(struct doc *d, const struct model *m, const struct model_job *job);
void sections_advice(struct doc *d, const struct model *m, const struct model_job *job);
void sections_filesystems(struct doc *d, const struct model *m, const struct model_job *job);
/* Which parts of files were read, and the patterns; sections_files.c: */
void sections_parts_of_files(struct doc *d, const struct model *m, const struct model_job *job);
void sections_patterns(struct doc *d, const struct model *m, const struct model_job *job);
/* sections_measured.c: */
void sections_measured(struct doc *d, const struct model *m, const struct model_job *job);

#endif
