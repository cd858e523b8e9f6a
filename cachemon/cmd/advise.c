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
	REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT,
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
	return report_args_show(&args);
}
