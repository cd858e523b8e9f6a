/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/llm_args.h"
#include "cachemon/cmd/usage.h"

static const struct option_spec options[] = {
	REPORT_ARGS_DB,	    REPORT_ARGS_RUN,
	REPORT_ARGS_JOB,    REPORT_ARGS_FORMAT(REPORT_ARGS_FORMATS),
	REPORT_ARGS_JSON,   REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT, LLM_ARGS,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon advise", "What to change after the last run, by what it gains"},
	{"cachemon advise --run 2 -o advice.html", "The same of run 2, as one page"},
	{"cachemon advise --db run.db --rules rules --json",
	 "With the rules of a site, for other programs"},
	{"cachemon advise --llm-dry-run",
	 "What a language model would be sent, byte for byte; nothing is sent"},
	{0},
};

const struct verb_spec advise_spec = {
	.name = "advise",
	.help = "say what to change, how much it gains, and how to check that it did",
	.examples = examples,
	.operands = "[DB]",
	.operand = VALUE_FILE,
	.options = options,
	.notes =
		"Needs no privileges, only the database. What gains most comes first; rules that "
		"could not be judged are listed with the reason. 'cachemon explain ID' has the "
		"whole text of a finding.\n\n"
		"With --llm a language model words what was found. Findings, severity and numbers "
		"stay cachemon's; each of its statements is checked, and dropped where it cites "
		"what was not measured. Names of files, jobs, users and hosts are sent as aliases. "
		"Root asks nobody; through sudo the user behind it does.",
	.run = cmd_advise,
};

int cmd_advise(int argc, char **argv)
{
	struct llm_args args = {
		.args.report = {.run_id = REPORT_RUN_LAST, .advise = true},
	};

	usage_parse(&advise_spec, llm_report_parse, argc, argv, 0, &args);
	return llm_report_show(&args);
}
