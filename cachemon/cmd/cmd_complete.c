/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints names for shell completions. On any error it prints nothing, because a shell would show
 * the message in the middle of the command line.
 */
#include <stdlib.h>
#include <string.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/model/run_name.h"
#include "advisor/rules/rule_set.h"
#include "cachemon/access/invoker.h"

struct options {
	struct report_args args;
	const char *what;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const words[] = {"run", "runs", "job", "finding"};
	struct options *o = state->input;

	if (key == ARGP_KEY_ARG) {
		for (int i = 0; i < 4; i++)
			if (strcmp(arg, words[i]) == 0)
				o->what = words[i];
		return 0;
	}
	if (key == ARGP_KEY_END && !o->what)
		usage_error(state, "run, runs, job or finding");
	return report_args_option(&o->args, key, arg, state);
}

static int put_findings(const struct invoker *inv, const char *named, struct errtext *err)
{
	struct rule_dirs dirs = {0};
	struct rule_set set = {0};
	int ret = cmd_rules(inv, named, &dirs, err);

	if (!ret)
		ret = rule_set_load(&dirs, &set);
	for (size_t i = 0; !ret && i < set.nr_rules; i++)
		run_name_offer(stdout, set.rules[i].id, strlen(set.rules[i].id),
			       set.rules[i].title);
	/* 'explain' also shows notes on other subjects. */
	for (size_t i = 0; !ret && i < set.nr_notes; i++)
		if (!rule_set_rule(&set, set.notes[i].id))
			run_name_offer(stdout, set.notes[i].id, strlen(set.notes[i].id),
				       set.notes[i].title);
	rule_set_free(&set);
	rule_dirs_free(&dirs);
	return ret;
}

static int put_names(const struct options *o, const struct invoker *inv, struct errtext *err)
{
	const char *db = o->args.report.db;
	char *default_db = NULL;
	int ret = 0;

	if (!db) {
		ret = cmd_default_db(inv, &default_db, err);
		db = default_db;
	}
	if (!ret)
		ret = strcmp(o->what, "job") == 0 ? run_name_offer_jobs(db, stdout, err)
						  : run_name_offer_runs(db, stdout, err);
	if (strcmp(o->what, "runs") == 0)
		run_name_offer(stdout, "vs", strlen("vs"), "between the runs before and after");
	free(default_db);
	return ret;
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_RULES,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon __complete run --db run.db", "List the runs of a database for a shell"},
	{0},
};

const struct verb_spec complete_spec = {
	.name = "__complete",
	.help = "list names for shell completion",
	.operands = "run|runs|job|finding",
	.operand = VALUE_CHOICE,
	.examples = examples,
	.options = options,
	.run = cmd_complete,
	.hidden = true,
};

int cmd_complete(int argc, char **argv)
{
	struct options o = {0};
	struct errtext err = {0};
	struct invoker inv;
	int ret;

	usage_parse(&complete_spec, parse_option, argc, argv, 0, &o);
	if (invoker_current(&inv, &err) < 0)
		return EXIT_FAILED;
	ret = strcmp(o.what, "finding") == 0 ? put_findings(&inv, o.args.rules, &err)
					     : put_names(&o, &inv, &err);
	invoker_free(&inv);
	return ret ? EXIT_FAILED : EXIT_DONE;
}
