/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison of runs of a database, one or several on each side, in any format that a document
 * or a tree has. Owns the way from names of runs to a finished file; the judgements are
 * advisor/compare's. Functions return 0 or -errno and then leave a line in err.
 */
#ifndef COMPARE_REPORT_H
#define COMPARE_REPORT_H

#include <errno.h>
#include <stdbool.h>

#include "advisor/compare/compare.h"
#include "advisor/compare/ranks.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

struct compare_options {
	const char *db;
	/* Before and after, as run_name.h has them; NULL behind the last one of a side. */
	const char *const *runs[2];
	const char *job; /* NULL: all that both have */
	bool any;	 /* also jobs of different names or commands */
	enum compare_per per;
	enum report_format format;	      /* all but CSV and YAML */
	const char *out_path;		      /* NULL: it is printed to out */
	const struct rule_dirs *rules;	      /* of a site; NULL: the program's own alone */
	const struct progress_sink *progress; /* NULL: nobody listens */
};

enum { COMPARE_RUNS_MAX = RANKS_MAX }; /* on each side */

#define COMPARE_RUNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The runs are of different jobs: a mistake in what was asked for. */
enum { COMPARE_REFUSED = -EDOM };

int compare_show(const struct compare_options *options, FILE *out, struct errtext *err);

#endif
