/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares runs of a database, one or several per side, in any format of a document or a tree. Owns
 * the step from names of runs to a finished file; advisor/compare judges. Functions return 0, or
 * -errno with a line in err.
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
	bool default_db;
	/* Before and after, as in run_name.h; NULL after the last one of a side. */
	const char *const *runs[2];
	const char *job; /* NULL: all that both runs have */
	bool any;	 /* also jobs of different names or commands */
	enum compare_per per;
	enum report_format format;	      /* all except CSV and YAML */
	const char *out_path;		      /* NULL: printed to out */
	FILE *looks_like;		      /* as in a document (doc.h) */
	const struct rule_dirs *rules;	      /* a site's; NULL: built-in only */
	const struct progress_sink *progress; /* NULL: no listener */
};

enum { COMPARE_RUNS_MAX = RANKS_MAX }; /* per side */

#define COMPARE_RUNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The runs are of different jobs, which is an error of the request. */
enum { COMPARE_REFUSED = -EDOM };

int compare_show(const struct compare_options *options, FILE *out, struct errtext *err);

#endif
