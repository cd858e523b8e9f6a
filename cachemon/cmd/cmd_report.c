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
	{{"full", OPT_FULL, NULL, 0, "All of it as text, also on a terminal: through $PAGER there",
	  0},
	 VALUE_NONE},
	{{"brief", OPT_BRIEF, NULL, 0, "One screen of text, also into a pipe or a file", 0},
	 VALUE_NONE},
	{{"no-pager", OPT_NO_PAGER, NULL, 0, "--full without $PAGER", 0}, VALUE_NONE},
	REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT,
	LLM_ARGS,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon report", "The last run on one screen: what it was, the verdict, what to fix"},
	{"cachemon report --full", "All of it, in a pager"},
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
	.operands = "[DB]",
	.operand = VALUE_FILE,
	.options = options,
	.notes =
		"Needs no privileges, only the database that DB or --db names. On a terminal, text "
		"is "
		"one screen. --full prints all of it, through $PAGER there (less if it is not set, "
		"none if it is empty or cat). Into a pipe or a file text is whole, unless you give "
		"--brief. Other formats are always whole. CSV has one line for each job, directory "
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
