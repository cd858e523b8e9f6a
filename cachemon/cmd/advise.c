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
	{"rules", OPT_RULES, "DIR", 0,
	 "Rules, notes and thresholds of a site, on top of the program's", 0},
	{"output", 'o', "FILE", 0, "Write to FILE, which appears whole or not at all", 0},
	{0},
};

static const struct argp argp = {
	.options = argp_options,
	.parser = report_args_parse,
	.doc = "Say what to change, how much it gains, and how to check that it did.\v"
	       "Needs no privileges, only the database. What gains most comes first; rules that "
	       "could not be judged are listed with the reason. 'cachemon explain ID' has the "
	       "whole "
	       "text of a finding.\n\n"
	       "EXAMPLES\n"
	       "  cachemon advise\n"
	       "  cachemon advise --run 3 -o advice.html\n"
	       "  cachemon advise --db /data/run.db --rules ./rules --format json\n",
};

int cmd_advise(int argc, char **argv)
{
	struct report_args args = {
		.report = {.run_id = REPORT_RUN_LAST, .advise = true},
	};

	usage_parse(&argp, "cachemon advise", argc, argv, 0, &args);
	return report_args_run(&args);
}
