/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report_args.h"
#include "cmd/usage.h"

static const struct option_spec options[] = {
	REPORT_ARGS_DB,	    REPORT_ARGS_RUN,
	REPORT_ARGS_JOB,    REPORT_ARGS_FORMAT(REPORT_ARGS_FORMATS),
	REPORT_ARGS_JSON,   REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT, OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon advise", "What to change after the last run, by what it gains"},
	{"cachemon advise --run 2 -o advice.html", "The same of run 2, as one page"},
	{"cachemon advise --db run.db --rules rules --json",
	 "With the rules of a site, for other programs"},
	{0},
};

const struct verb_spec advise_spec = {
	.name = "advise",
	.help = "say what to change, how much it gains, and how to check that it did",
	.examples = examples,
	.options = options,
	.notes = "Needs no privileges, only the database. What gains most comes first; rules that "
		 "could "
		 "not be judged are listed with the reason. 'cachemon explain ID' has the whole "
		 "text of "
		 "a finding.",
	.run = cmd_advise,
};

int cmd_advise(int argc, char **argv)
{
	struct report_args args = {
		.report = {.run_id = REPORT_RUN_LAST, .advise = true},
	};

	usage_parse(&advise_spec, report_args_parse, argc, argv, 0, &args);
	return report_args_show(&args);
}
