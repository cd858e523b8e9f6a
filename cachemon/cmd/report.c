/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report_args.h"
#include "cmd/usage.h"

static const struct argp_option argp_options[] = {
	{"db", OPT_DB, "FILE", 0, "Database (default: $CACHEMON_DB, else the user's own)", 0},
	{"run", OPT_RUN, "ID|last", 0, "Which run (default: last)", 0},
	{"job", OPT_JOB, "NAME", 0, "Only this job", 0},
	{"format", OPT_FORMAT, "FORMAT", 0,
	 "text, md, html, json, csv or yaml (default: by the ending of -o, else text)", 0},
	{"files", OPT_FILES, "N", 0, "List N files of each job (default: 100); the rest is summed",
	 0},
	{"rules", OPT_RULES, "DIR", 0,
	 "Rules, notes and thresholds of a site, on top of the program's", 0},
	{"output", 'o', "FILE", 0, "Write to FILE, which appears whole or not at all", 0},
	{0},
};

static const struct argp argp = {
	.options = argp_options,
	.parser = report_args_parse,
	.doc = "Show what a run measured.\v"
	       "Needs no privileges, only the database. CSV has one line a job, directory and "
	       "file, each counter under its own name.\n\n"
	       "EXAMPLES\n"
	       "  cachemon report\n"
	       "  cachemon report --run 3 -o report.html\n"
	       "  cachemon report --db /data/run.db --format json --files 1000\n",
};

int cmd_report(int argc, char **argv)
{
	struct report_args args = {
		.report = {.run_id = REPORT_RUN_LAST, .files = REPORT_FILES_DEFAULT},
	};

	usage_parse(&argp, "cachemon report", argc, argv, 0, &args);
	return report_args_run(&args);
}
