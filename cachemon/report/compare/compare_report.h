/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison of two runs of a database, in any format that a document or a tree has. Owns the
 * way from two names of runs to a finished file; the judgements are advisor/compare's. Functions
 * return 0 or -errno and then leave a line in err.
 */
#ifndef COMPARE_REPORT_H
#define COMPARE_REPORT_H

#include "advisor/compare/compare.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

struct compare_options {
	const char *db;
	const char *run[2]; /* as run_name.h has them */
	const char *job;    /* NULL: all that both have */
	enum compare_per per;
	enum report_format format;	      /* all but CSV and YAML */
	const char *out_path;		      /* NULL: it is printed to out */
	const struct rule_dirs *rules;	      /* of a site; NULL: the program's own alone */
	const struct progress_sink *progress; /* NULL: nobody listens */
};

int compare_show(const struct compare_options *options, FILE *out, struct errtext *err);

#endif
