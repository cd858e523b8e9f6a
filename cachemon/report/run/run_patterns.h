/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How files and directories are read, as an analysis found it: an object of the tree, and a section
 * of a document. Owns their keys and words.
 */
#ifndef REPORT_PATTERN_H
#define REPORT_PATTERN_H

#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

/* "pattern": name, confidence and features of a file or a directory; null without an analysis. */
void data_pattern(struct tree *t, const struct model *m, bool directory, int64_t id);
void sections_patterns(struct doc *d, const struct model *m, const struct model_job *job);

#endif
