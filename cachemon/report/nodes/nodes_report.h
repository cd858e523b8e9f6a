/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of one job that ran on many nodes. nodes_sections() is in nodes_sections.c,
 * nodes_data() in nodes_data.c.
 */
#ifndef NODES_REPORT_H
#define NODES_REPORT_H

#include "cachemon/report/run/report.h"

struct doc;
struct nodes_model;
struct tree;

/*
 * The runs of options->job. 1: they are on several nodes, and their report is shown; 0: they are
 * not; *ret_run is then the last of them, or 0 without a run. Else -errno with a line in err.
 */
int nodes_report(const struct report_options *options, FILE *out, int64_t *ret_run,
		 struct errtext *err);

/* brief: one screen. */
void nodes_sections(struct doc *d, const struct nodes_model *m, bool brief);
void nodes_data(struct tree *t, const struct nodes_model *m);

#endif
