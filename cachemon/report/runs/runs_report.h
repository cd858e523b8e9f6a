/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of a database: a list of them, how each job went from run to run, and a directory with a
 * report of each. Owns the way from a database to finished files. Functions return 0 or -errno and
 * then leave a line in err.
 */
#ifndef RUNS_REPORT_H
#define RUNS_REPORT_H

#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

struct runs_options {
	const char *db;
	enum report_format format;	      /* all but CSV and YAML; HTML for reports */
	const char *out_path;		      /* of the list; NULL: it is printed to out */
	int64_t since_ns;		      /* since 1970: runs that began later; 0: all */
	const struct rule_dirs *rules;	      /* of a site, for reports */
	const struct progress_sink *progress; /* NULL: nobody listens */
};

/* Of how many runs a directory has reports, the newest ones. */
enum { RUNS_REPORTS_MAX = 50 };

int runs_show(const struct runs_options *options, FILE *out, struct errtext *err);
/* A report of each job of the newest runs in dir, which is made, then index.html that leads to
 * them: each appears whole or not at all, the index last. */
int runs_write_reports(const struct runs_options *options, const char *dir, struct errtext *err);

#endif
