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
	OPTION("files", OPT_FILES, "N", VALUE_NUMBER,
	       "List N files of each job (default: 100); the rest are summed"),
	OPTION("full", OPT_FULL, NULL, VALUE_NONE,
	       "Print the whole report as text; on a terminal, through $PAGER"),
	OPTION("brief", OPT_BRIEF, NULL, VALUE_NONE,
	       "Print one screen of text, even into a pipe or a file"),
	OPTION("no-pager", OPT_NO_PAGER, NULL, VALUE_NONE, "--full without $PAGER"),
	REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT,
	REPORT_ARGS_SOCKET,
	LLM_ARGS,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon report", "Show the last run on one screen: what ran, how well, what to fix"},
	{"cachemon report --full", "Show the whole report in a pager"},
	{"cachemon report --run 2 -o report.html", "Write run 2 as an HTML page"},
	{"cachemon report all.db --job slurm:4711",
	 "Show one report of a job that ran on many nodes, from their merged databases"},
	{"cachemon report --db run.db --json --files 1000",
	 "Print all figures of the last run of another database, with 1000 files for each job"},
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
		"Needs no privileges, only the database that DB or --db names. Without one, --job "
		"KIND:NAME shows your job on this node as its daemon has it (see 'cachemon jobs'). "
		"With one, --job KIND:NAME without --run shows all runs of the job: if they are of "
		"several nodes (see 'cachemon merge'), one report of all, else the last run. "
		"On a terminal the "
		"report is one screen of text. --full prints the whole report; on a terminal it "
		"goes through $PAGER (less if it is unset, no pager if it is empty or cat). A "
		"pipe or a file gets the whole report, unless you give --brief. Other formats are "
		"always whole. CSV has one line for each job, directory and file, with one column "
		"for each counter.",
	.run = cmd_report,
};

int cmd_report(int argc, char **argv)
{
	struct llm_args args = {
		.args.report = {.run_id = REPORT_RUN_LAST, .files = REPORT_FILES_DEFAULT},
		.args.may_ask_node = true,
		.args.over_nodes = true,
	};

	usage_parse(&report_spec, llm_report_parse, argc, argv, 0, &args);
	return llm_report_show(&args);
}
