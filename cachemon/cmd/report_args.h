/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verbs that show a run have in common: which database, run and job, which format, where
 * to. Owns those options, their checks, and the way to the finished report.
 */
#ifndef CMD_REPORT_ARGS_H
#define CMD_REPORT_ARGS_H

#include <argp.h>

#include "report/report.h"

enum { OPT_DB = 256, OPT_RUN, OPT_JOB, OPT_FORMAT, OPT_FILES, OPT_RULES };

struct report_args {
	struct report_options report;
	const char *out_path; /* NULL: standard output */
	const char *rules;    /* NULL: none was named */
	bool format_given;
};

/* A parser of argp; its input is a struct report_args. */
error_t report_args_parse(int key, char *arg, struct argp_state *state);
/* The exit status. */
int report_args_run(struct report_args *args);

#endif
