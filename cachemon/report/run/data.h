/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report for programs: the objects of schema 1 as a tree (JSON, YAML), and rows (CSV). Owns the
 * names of the keys. data_detail(), data_coverage() and data_pattern() are in data_detail.c;
 * data_totals() and data_hits() are in data_totals.c; csv_*() are in csv.c.
 */
#ifndef DATA_H
#define DATA_H

#include <stdio.h>

#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

struct evidence;

void data_report(struct tree *t, const struct model *m);
/* The object of all counts and ratios of a job, file or directory. */
void data_totals(struct tree *t, const struct counts *c, int64_t page_size_bytes);
/* "timeline" and "interference" of a job, "coverage" of its file with this index. */
void data_detail(struct tree *t, const struct model_job *job);
void data_coverage(struct tree *t, const struct model_job *job, size_t at);
/* "pattern": name, confidence and features of a file or a directory; null without an analysis. */
void data_pattern(struct tree *t, const struct model *m, bool directory, int64_t id);
/* A measured value, inside an open object. */
void data_evidence(struct tree *t, const struct evidence *e);
/* The identity of a run, inside an open object. */
void data_run_head(struct tree *t, const struct model_run *run);
/* Nanoseconds as seconds; null if absent. */
void data_seconds(struct tree *t, const char *key, struct opt_i64 ns);
/* lookups, hits, misses, hit_ratio. */
void data_hits(struct tree *t, const struct counts *c);

/*
 * A header line, then one line per job, directory and file, then the rest of the job. Numbers are
 * unrounded, absent ones empty; a text cell that a spreadsheet would take for a formula begins with
 * an apostrophe.
 */
int csv_report(FILE *out, const struct model *m);
/* A text cell, always quoted. Returns whether the bytes had to be escaped. */
bool csv_text(FILE *out, const struct bytes *b);

#endif
