/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of a database: a list of them, each job's history from run to run, and a directory with
 * a report for each. Owns the step from a database to finished files. Functions return 0, or -errno
 * with a line in err.
 */
#ifndef RUNS_REPORT_H
#define RUNS_REPORT_H

#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

struct runs_options {
	const char *db;
	bool default_db;		      /* as in report_options */
	enum report_format format;	      /* all except CSV and YAML; HTML for reports */
	const char *out_path;		      /* file for the list; NULL: printed to out */
	int64_t since_ns;		      /* since 1970: only later runs; 0: all */
	const struct rule_dirs *rules;	      /* a site's rules, for reports */
	const struct progress_sink *progress; /* NULL: no listener */
};

/* Number of runs with reports in a directory, the newest ones. */
enum { RUNS_REPORTS_MAX = 50 };

int runs_show(const struct runs_options *options, FILE *out, struct errtext *err);
/* Writes a report of each job of the newest runs to dir, which is created, then index.html with
 * links to them: each file appears completely or not at all, the index last. */
int runs_write_reports(const struct runs_options *options, const char *dir, struct errtext *err);

#endif
