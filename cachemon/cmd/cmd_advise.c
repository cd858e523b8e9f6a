/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/llm_args.h"
#include "cachemon/cmd/usage.h"

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_RUN,
	REPORT_ARGS_NODE_JOB,
	REPORT_ARGS_FORMAT(REPORT_ARGS_FORMATS),
	REPORT_ARGS_JSON,
	REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT,
	REPORT_ARGS_SOCKET,
	LLM_ARGS,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon advise", "Show what to change after the last run, most gain first"},
	{"cachemon advise --run 2 -o advice.html", "Write the same for run 2 as an HTML page"},
	{"cachemon advise --db run.db --rules rules --json",
	 "Add your site's rules; print JSON for other programs"},
	{"cachemon advise --llm-dry-run",
	 "Show the request to a language model without sending it"},
	{0},
};

const struct verb_spec advise_spec = {
	.name = "advise",
	.help = "show what to change, what it gains, and how to verify the gain",
	.examples = examples,
	.operands = "[DB]",
	.operand = VALUE_FILE,
	.options = options,
	.notes = "Needs no privileges, only the database. Without one, --job KIND:NAME shows your "
		 "job "
		 "on this node as its daemon has it. Findings with the largest gain come "
		 "first. Rules that could not be judged are listed with the reason. 'cachemon "
		 "explain ID' prints the whole text of a finding.\n\nWith --llm a language model "
		 "explains the findings. Findings, severity and numbers do not change. Each "
		 "statement of the model is checked, and dropped if it cites something that was "
		 "not measured. Names of files, jobs, users and hosts are sent as aliases. Never "
		 "contacts the network as root; under sudo it does so as the invoking user.",
	.run = cmd_advise,
};

int cmd_advise(int argc, char **argv)
{
	struct llm_args args = {
		.args.report = {.run_id = REPORT_RUN_LAST, .advise = true},
		.args.may_ask_node = true,
	};

	usage_parse(&advise_spec, llm_report_parse, argc, argv, 0, &args);
	return llm_report_show(&args);
}
