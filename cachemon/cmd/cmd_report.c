/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/llm_args.h"
#include "cachemon/cmd/usage.h"

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_RUN,
	REPORT_ARGS_JOB,
	REPORT_ARGS_FORMAT(REPORT_ARGS_FORMATS),
	REPORT_ARGS_JSON,
	{{"files", OPT_FILES, "N", 0,
	  "List N files of each job (default: 100); the others are summed", 0},
	 VALUE_NUMBER},
	REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT,
	LLM_ARGS,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon report", "Show the last run as text"},
	{"cachemon report --run 2 -o report.html", "Write run 2 as one page for a browser"},
	{"cachemon report --db run.db --json --files 1000",
	 "Print all figures of the last run of another database, with 1000 files of each job"},
	{"cachemon report --format csv | head -n 3",
	 "Print one line for each job, directory and file"},
	{0},
};

const struct verb_spec report_spec = {
	.name = "report",
	.help = "show the results of a run",
	.examples = examples,
	.options = options,
	.notes = "Needs no privileges, only the database. CSV has one line for each job, directory "
		 "and file, with one column for each counter.",
	.run = cmd_report,
};

int cmd_report(int argc, char **argv)
{
	struct llm_args args = {
		.args.report = {.run_id = REPORT_RUN_LAST, .files = REPORT_FILES_DEFAULT},
	};

	usage_parse(&report_spec, llm_report_parse, argc, argv, 0, &args);
	return llm_report_show(&args);
}
