/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/base/pager.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/report/compare/compare_report.h"
#include "cachemon/model/run_name.h"

enum { RUNS_MAX = 2 * COMPARE_RUNS_MAX };

struct options {
	struct report_args args;
	const char *words[RUNS_MAX + 3]; /* runs of both sides; NULL in place of "vs" */
	int nr, vs;			 /* index of "vs", or -1 */
	enum compare_per per;
	bool any;
	bool refused;
};

enum { OPT_PER = OPT_OF_VERB, OPT_ANY };

static void parse_run(struct argp_state *state, const char *arg, struct options *o)
{
	bool vs = strcmp(arg, "vs") == 0;

	if (vs && o->vs >= 0)
		usage_error(state, "'vs' is given twice: put it once, between the runs before the "
				   "change and those after it");
	if (!vs && !run_name_is(arg))
		usage_error(state, "'%s' is not a run: give " RUN_NAME_FORMS, arg);
	if (o->nr > RUNS_MAX)
		usage_error(state, "too many runs: at most %d on each side", COMPARE_RUNS_MAX);
	if (vs)
		o->vs = o->nr;
	o->words[o->nr++] = vs ? NULL : arg;
}

/* "A B" is short for "A vs B". */
static void check_runs(struct argp_state *state, struct options *o)
{
	if (o->vs < 0 && o->nr > 2)
		usage_error(state,
			    "%d runs need 'vs' between those before the change and those "
			    "after it: cachemon compare 1 2 3 4 vs 5 6 7 8",
			    o->nr);
	if (o->vs < 0 && o->nr == 2) {
		o->words[2] = o->words[1];
		o->words[1] = NULL;
		o->vs = 1;
		o->nr = 3;
	}
	if (o->vs < 1 || o->vs == o->nr - 1)
		usage_error(state, "two runs are needed: cachemon compare RUN_A RUN_B");
	if (o->vs > COMPARE_RUNS_MAX || o->nr - 1 - o->vs > COMPARE_RUNS_MAX)
		usage_error(state, "too many runs: at most %d on each side", COMPARE_RUNS_MAX);
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

	switch (key) {
	case ARGP_KEY_ARG:
		parse_run(state, arg, o);
		return 0;
	case OPT_PER:
		o->per = parse_per(state, arg);
		return 0;
	case OPT_ANY:
		o->any = true;
		return 0;
	case ARGP_KEY_END:
		check_runs(state, o);
		break;
	default:
		break;
	}
	return report_args_option(&o->args, key, arg, state);
}

static int put_comparison(void *arg, FILE *out, FILE *looks_like, struct errtext *err)
{
	struct compare_options *compare = arg;

	compare->looks_like = looks_like;
	return compare_show(compare, out, err);
}

static int show_comparison(void *arg, const struct invoker *as, struct errtext *err)
{
	struct options *o = arg;
	struct compare_options compare = {
		.db = o->args.report.db,
		.default_db = o->args.report.default_db,
		.runs = {o->words, o->words + o->vs + 1},
		.job = o->args.report.job,
		.any = o->any,
		.per = o->per,
		.format = o->args.report.format,
		.out_path = o->args.report.out_path,
		.rules = o->args.report.rules,
		.progress = o->args.report.progress,
	};
	bool paged = compare.format == REPORT_TEXT && !compare.out_path;
	int ret = paged ? pager_put(put_comparison, &compare, err)
			: compare_show(&compare, stdout, err);

	o->refused = ret == COMPARE_REFUSED;
	return ret;
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_JOB,
	REPORT_ARGS_FORMAT("text|md|html|json"),
	REPORT_ARGS_JSON,
	REPORT_ARGS_OUTPUT,
	OPTION("per", OPT_PER, "work|job", VALUE_CHOICE,
	       "work (default): divide each figure by the work that the run did; job: compare "
	       "whole jobs, if all runs completed the same job"),
	OPTION("any", OPT_ANY, NULL, VALUE_NONE,
	       "Compare jobs even if their names or commands differ"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon compare last-1 last", "Compare the last two runs, the earlier one first"},
	{"cachemon compare last-1 last --per job",
	 "Compare whole jobs, because both runs completed the same job"},
	{"cachemon compare 1 2 3 4 vs 5 6 7 8",
	 "Compare four runs before the change with four after it"},
	{"cachemon compare 1 2 --db run.db -o change.html",
	 "Compare two runs of another database, as an HTML page"},
	{0},
};

const struct verb_spec compare_spec = {
	.name = "compare",
	.help = "show what changed between runs of a job, and whether it is more than chance",
	.operands = "RUN_A... [vs] RUN_B...",
	.operand = VALUE_RUNS,
	.examples = examples,
	.options = options,
	.notes = "Name a run by its number, the first 8 or more characters of its uuid, last, or "
		 "last-N. Digits alone are always the number. Give the "
		 "run before the change first. With more than two runs, put vs between those "
		 "before and those after. Two runs are compared by their intervals: one run needs "
		 "at least 20 intervals, the other at least 2. With more runs, each gives one "
		 "value: 4 runs on each side are enough to judge the time, 7 to judge every "
		 "figure. Jobs with different names, and unnamed jobs with different commands, are "
		 "refused without --any (status 2). Text longer than the screen is shown in "
		 "$PAGER.",
	.run = cmd_compare,
};

int cmd_compare(int argc, char **argv)
{
	struct options o = {.args.formats = &report_args_pages, .vs = -1};
	int status;

	usage_parse(&compare_spec, parse_option, argc, argv, 0, &o);
	status = report_args_run(&o.args, show_comparison, &o);
	return o.refused ? EXIT_USAGE : status;
}
