/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/rules.h"
#include "cmd/usage.h"
#include "report/report.h"
#include "util/cleanup.h"
#include "util/invoker.h"
#include "util/parse.h"
#include "util/paths.h"

static void reject(struct argp_state *state, const char *option, const char *arg, const char *want)
{
	usage_error(state, "%s: '%s' is not %s", option, arg, want);
}

static void parse_run(struct argp_state *state, const char *arg, int64_t *ret_run)
{
	uint64_t id = 0;

	if (strcmp(arg, "last") == 0)
		*ret_run = REPORT_RUN_LAST;
	else if (parse_u64(arg, &id) < 0 || id > INT64_MAX)
		reject(state, "--run", arg, "the number of a run, or last");
	else
		*ret_run = (int64_t)id;
}

static void parse_files(struct argp_state *state, const char *arg, size_t *ret_files)
{
	uint64_t n = 0;

	if (parse_u64(arg, &n) < 0 || n > INT32_MAX)
		reject(state, "--files", arg, "a number of files (0 to 2147483647)");
	else
		*ret_files = (size_t)n;
}

/* All of it is checked before anything is opened. */
static void check(struct argp_state *state, struct report_args *o)
{
	if ((o->report.db && !*o->report.db) || (o->out_path && !*o->out_path) ||
	    (o->report.job && !*o->report.job) || (o->rules && !*o->rules))
		usage_error(state, "--db, --job, --rules and -o need a name that is not empty");
	if (!o->out_path || o->format_given)
		return;
	if (report_format_of_path(o->out_path, &o->report.format) < 0)
		reject(state, "-o", o->out_path,
		       "a name that ends in .txt, .md, .html, .json, .csv or .yaml; "
		       "give a --format");
}

error_t report_args_parse(int key, char *arg, struct argp_state *state)
{
	struct report_args *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		usage_init(state);
		return 0;
	case OPT_DB:
		o->report.db = arg;
		return 0;
	case OPT_RUN:
		parse_run(state, arg, &o->report.run_id);
		return 0;
	case OPT_JOB:
		o->report.job = arg;
		return 0;
	case OPT_FORMAT:
		if (report_format_parse(arg, &o->report.format) < 0)
			reject(state, "--format", arg, "one of text, md, html, json, csv, yaml");
		o->format_given = true;
		return 0;
	case OPT_FILES:
		parse_files(state, arg, &o->report.files);
		return 0;
	case OPT_RULES:
		o->rules = arg;
		return 0;
	case 'o':
		o->out_path = arg;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "'%s' is no option; the database is named with --db", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int report_args_run(struct report_args *args)
{
	_cleanup_free_ char *default_db = NULL;
	struct errtext err = {0};
	struct rule_dirs dirs = {0};
	struct invoker inv;
	size_t problems = 0;
	int ret = 0;

	ret = invoker_current(&inv, &err);
	if (ret < 0) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (!args->report.db) {
		ret = paths_default_db(&inv, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"),
				       &default_db, &err);
		args->report.db = default_db;
	}
	if (!ret)
		ret = rules_of_environment(&inv, args->rules, &dirs, &err);
	args->report.rules = &dirs;
	args->report.on_problem = rules_print_problem;
	args->report.on_problem_arg = &problems;
	if (!ret && args->out_path)
		ret = report_write(&args->report, args->out_path, &inv, err.text, sizeof(err.text));
	else if (!ret)
		ret = report_print(&args->report, stdout, err.text, sizeof(err.text));
	if (ret < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	rule_dirs_free(&dirs);
	invoker_free(&inv);
	return ret < 0 || (args->report.advise && problems) ? EXIT_FAILED : EXIT_DONE;
}
