/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "report/compare.h"
#include "report/run_name.h"
#include "util/cleanup.h"
#include "util/invoker.h"
#include "util/paths.h"

enum { OPT_DB = 256, OPT_JOB, OPT_FORMAT };

struct options {
	struct compare_options compare;
	const char *out_path; /* NULL: standard output */
	bool format_given;
};

static const struct argp_option argp_options[] = {
	{"db", OPT_DB, "FILE", 0, "Database (default: $CACHEMON_DB, else the user's own)", 0},
	{"job", OPT_JOB, "NAME", 0, "Only this job", 0},
	{"format", OPT_FORMAT, "FORMAT", 0,
	 "text, md, html or json (default: by the ending of -o, else text)", 0},
	{"output", 'o', "FILE", 0, "Write to FILE, which appears whole or not at all", 0},
	{0},
};

static void parse_format(struct argp_state *state, const char *arg, struct options *o)
{
	if (report_format_parse(arg, &o->compare.format) < 0 ||
	    !compare_has_format(o->compare.format))
		usage_error(state, "--format: '%s' is not one of text, md, html, json", arg);
	o->format_given = true;
}

static void parse_run(struct argp_state *state, const char *arg, struct options *o)
{
	if (state->arg_num > 1)
		usage_error(state, "'%s' is one run too many: two are compared", arg);
	if (!run_name_is(arg))
		usage_error(state,
			    "'%s' is no run: a number, the beginning of a uuid, last or "
			    "last-1",
			    arg);
	o->compare.run[state->arg_num] = arg;
}

static void check(struct argp_state *state, struct options *o)
{
	if (state->arg_num < 2)
		usage_error(state, "two runs are needed: cachemon compare RUN_A RUN_B");
	if ((o->compare.db && !*o->compare.db) || (o->out_path && !*o->out_path) ||
	    (o->compare.job && !*o->compare.job))
		usage_error(state, "--db, --job and -o need a name that is not empty");
	if (!o->out_path || o->format_given)
		return;
	if (report_format_of_path(o->out_path, &o->compare.format) < 0 ||
	    !compare_has_format(o->compare.format))
		usage_error(state,
			    "-o: '%s' does not end in .txt, .md, .html or .json; give a "
			    "--format",
			    o->out_path);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		usage_init(state);
		return 0;
	case OPT_DB:
		o->compare.db = arg;
		return 0;
	case OPT_JOB:
		o->compare.job = arg;
		return 0;
	case OPT_FORMAT:
		parse_format(state, arg, o);
		return 0;
	case 'o':
		o->out_path = arg;
		return 0;
	case ARGP_KEY_ARG:
		parse_run(state, arg, o);
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "RUN_A RUN_B",
	.doc = "Say what changed between two runs of a job, and what of it is more than chance.\v"
	       "A run is its number, the beginning of its uuid, last, or last-N. Give the one "
	       "before the change first. Runs of less than 10 intervals are compared without a "
	       "test: watch a short job with --interval 100ms.\n\n"
	       "EXAMPLES\n"
	       "  cachemon compare last-1 last\n"
	       "  cachemon compare 3 7 --db /data/run.db -o change.html\n",
};

int cmd_compare(int argc, char **argv)
{
	struct options o = {0};
	_cleanup_free_ char *default_db = NULL;
	struct errtext err = {0};
	struct invoker inv;
	int ret = 0;

	usage_parse(&argp, "cachemon compare", argc, argv, 0, &o);
	ret = invoker_current(&inv, &err);
	if (ret < 0) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (!o.compare.db) {
		ret = paths_default_db(&inv, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"),
				       &default_db, &err);
		o.compare.db = default_db;
	}
	if (!ret && o.out_path)
		ret = compare_write(&o.compare, o.out_path, &inv, err.text, sizeof(err.text));
	else if (!ret)
		ret = compare_print(&o.compare, stdout, err.text, sizeof(err.text));
	if (ret < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	invoker_free(&inv);
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}
