/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/report/runs/runs_report.h"

enum { OPT_REPORTS = OPT_OF_VERB };

struct options {
	struct report_args args;
	const char *reports; /* NULL: no directory of reports */
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key == OPT_REPORTS) {
		o->reports = usage_name(state, "--reports", arg);
		return 0;
	}
	if (key == ARGP_KEY_END && o->reports && (o->args.report.out_path || o->args.format_given))
		usage_error(state,
			    "--reports makes HTML in a directory: leave out -o and --format");
	return report_args_option(&o->args, key, arg, state);
}

static int show_runs(void *arg, const struct invoker *as, struct errtext *err)
{
	const struct options *o = arg;
	const struct runs_options runs = {.db = o->args.report.db,
					  .format =
						  o->reports ? REPORT_HTML : o->args.report.format,
					  .out_path = o->args.report.out_path,
					  .rules = o->args.report.rules,
					  .progress = o->args.report.progress};

	return o->reports ? runs_write_reports(&runs, o->reports, err)
			  : runs_show(&runs, stdout, err);
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_FORMAT("text|md|html|json"),
	REPORT_ARGS_JSON,
	REPORT_ARGS_OUTPUT,
	{{"reports", OPT_REPORTS, "DIR", 0,
	  "Write DIR/index.html, a page of all runs, and beside it a report of each job of the "
	  "newest 50 runs",
	  0},
	 VALUE_DIRECTORY},
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon runs", "The runs of your own database, the newest last"},
	{"cachemon runs --db run.db --json", "Those of another one, for other programs"},
	{"cachemon runs --db run.db --reports reports",
	 "A page of them that leads to a report of each, in a directory"},
	{0},
};

const struct verb_spec runs_spec = {
	.name = "runs",
	.help = "list the runs of a database, and how each job went from run to run",
	.examples = examples,
	.options = options,
	.notes = "STATE is complete, failed with the status of the command, open (still written, "
		 "or cachemon was killed) or cut. HITS and MISSES are those of the watched job.",
	.run = cmd_runs,
};

int cmd_runs(int argc, char **argv)
{
	struct options o = {.args.formats = &report_args_pages};

	usage_parse(&runs_spec, parse_option, argc, argv, 0, &o);
	return report_args_run(&o.args, show_runs, &o);
}
