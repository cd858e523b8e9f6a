/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/report/compare/compare_report.h"
#include "cachemon/model/run_name.h"

struct options {
	struct report_args args;
	const char *run[2];
	enum compare_per per;
};

enum { OPT_PER = OPT_OF_VERB };

static void parse_run(struct argp_state *state, const char *arg, struct options *o)
{
	if (state->arg_num > 1)
		usage_error(state, "'%s' is one run too many: two are compared", arg);
	if (!run_name_is(arg))
		usage_error(state,
			    "'%s' is no run: a number, the beginning of a uuid, last or "
			    "last-1",
			    arg);
	o->run[state->arg_num] = arg;
}

static enum compare_per parse_per(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "job") != 0 && strcmp(arg, "work") != 0)
		usage_error(state, "--per is work or job, not '%s'", arg);
	return strcmp(arg, "job") == 0 ? PER_JOB : PER_WORK;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key == ARGP_KEY_ARG) {
		parse_run(state, arg, o);
		return 0;
	}
	if (key == OPT_PER) {
		o->per = parse_per(state, arg);
		return 0;
	}
	if (key == ARGP_KEY_END && state->arg_num < 2)
		usage_error(state, "two runs are needed: cachemon compare RUN_A RUN_B");
	return report_args_option(&o->args, key, arg, state);
}

static int show_comparison(void *arg, const struct invoker *as, struct errtext *err)
{
	const struct options *o = arg;
	const struct compare_options compare = {
		.db = o->args.report.db,
		.run = {o->run[0], o->run[1]},
		.job = o->args.report.job,
		.per = o->per,
		.format = o->args.report.format,
		.out_path = o->args.report.out_path,
		.rules = o->args.report.rules,
		.progress = o->args.report.progress,
	};

	return compare_show(&compare, stdout, err);
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_JOB,
	REPORT_ARGS_FORMAT("text|md|html|json"),
	REPORT_ARGS_JSON,
	REPORT_ARGS_OUTPUT,
	{{"per", OPT_PER, "work|job", 0,
	  "What figures are divided by: the work that a run did (default), or nothing, for both "
	  "did "
	  "the same job to its end, whatever they read for it",
	  0},
	 VALUE_CHOICE},
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon compare last-1 last", "The last two runs, the one before the change first"},
	{"cachemon compare last-1 last --per job",
	 "Both did the same job to its end, whatever they read for it"},
	{"cachemon compare 1 2 --db run.db -o change.html",
	 "Two runs of another database, as one page"},
	{0},
};

const struct verb_spec compare_spec = {
	.name = "compare",
	.help = "say what changed between two runs of a job, and what of it is more than chance",
	.operands = "RUN_A RUN_B",
	.operand = VALUE_RUN,
	.examples = examples,
	.options = options,
	.notes = "A run is its number, the beginning of its uuid, last, or last-N. Give the one "
		 "before the "
		 "change first. One of them needs 20 intervals and the other two, or there is no "
		 "test: "
		 "watch a short job with --interval 100ms.",
	.run = cmd_compare,
};

int cmd_compare(int argc, char **argv)
{
	struct options o = {.args.formats = &report_args_pages};

	usage_parse(&compare_spec, parse_option, argc, argv, 0, &o);
	return report_args_run(&o.args, show_comparison, &o);
}
