/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report_args.h"
#include "cmd/usage.h"

static const struct argp_option argp_options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_RUN,
	REPORT_ARGS_JOB,
	REPORT_ARGS_FORMAT(
		"text, md, html, json, csv or yaml (default: by the ending of -o, else text)"),
	{"files", OPT_FILES, "N", 0, "List N files of each job (default: 100); the rest is summed",
	 0},
	REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT,
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
	return report_args_show(&args);
}
