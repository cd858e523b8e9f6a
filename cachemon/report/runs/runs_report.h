/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of a database: a list of them, how each job went from run to run, and a directory with a
 * report of each. Owns the way from a database to finished files. Functions return 0 or -errno and
 * then leave a line in err.
 */
#ifndef REPORT_RUNS_H
#define REPORT_RUNS_H

#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

struct runs_options {
	const char *db;
	enum report_format format;
	const struct rule_dirs *rules;	      /* of a site, for reports */
	const struct progress_sink *progress; /* NULL: nobody listens */
};

/* Of how many runs a directory has reports, the newest ones. */
enum { RUNS_REPORTS_MAX = 50 };

/* All but CSV and YAML. */
bool runs_has_format(enum report_format format);
int runs_print(const struct runs_options *options, FILE *out, struct errtext *err);
int runs_write(const struct runs_options *options, const char *out_path, struct errtext *err);
/* A report of each job of the newest runs in dir, which is made, then index.html that leads to
 * them: each appears whole or not at all, the index last. */
int runs_write_reports(const struct runs_options *options, const char *dir, struct errtext *err);

#endif
