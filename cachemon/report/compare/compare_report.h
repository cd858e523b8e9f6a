/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison of two runs of a database, in any format that a document or a tree has. Owns the
 * way from two names of runs to a finished file; the judgements are advisor/compare's. Functions
 * return 0 or -errno and then leave a line in err.
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "advisor/compare/compare.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

struct compare_options {
	const char *db;
	const char *run[2]; /* as run_name.h has them */
	const char *job;    /* NULL: all that both have */
	enum compare_per per;
	enum report_format format;
	const struct rule_dirs *rules;	      /* of a site; NULL: the program's own alone */
	const struct progress_sink *progress; /* NULL: nobody listens */
};

/* Whether comparisons come in that format: all but CSV and YAML. */
bool compare_has_format(enum report_format format);
int compare_print(const struct compare_options *options, FILE *out, struct errtext *err);
int compare_write(const struct compare_options *options, const char *out_path, struct errtext *err);

#endif
