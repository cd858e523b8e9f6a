/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "report/report.h"
#include "util/cleanup.h"
#include "util/invoker.h"
#include "util/parse.h"
#include "util/paths.h"

enum { OPT_DB = 256, OPT_RUN, OPT_JOB, OPT_FORMAT, OPT_FILES };

struct options {
	struct report_options report;
	const char *out_path; /* NULL: standard output */
	bool format_given;
};

static const struct argp_option argp_options[] = {
	{"db", OPT_DB, "FILE", 0, "Database (default: $CACHEMON_DB, else the user's own)", 0},
	{"run", OPT_RUN, "ID|last", 0, "Which run (default: last)", 0},
	{"job", OPT_JOB, "NAME", 0, "Only this job", 0},
	{"format", OPT_FORMAT, "FORMAT", 0,
	 "text, md, html, json, csv or yaml (default: by the ending of -o, else text)", 0},
	{"files", OPT_FILES, "N", 0, "List N files of each job (default: 100); the rest is summed",
	 0},
	{"output", 'o', "FILE", 0, "Write to FILE, which appears whole or not at all", 0},
	{0},
};

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
static void check(struct argp_state *state, struct options *o)
{
	if ((o->report.db && !*o->report.db) || (o->out_path && !*o->out_path) ||
	    (o->report.job && !*o->report.job))
		usage_error(state, "--db, --job and -o need a name that is not empty");
	if (!o->out_path || o->format_given)
		return;
	if (report_format_of_path(o->out_path, &o->report.format) < 0)
		reject(state, "-o", o->out_path,
		       "a name that ends in .txt, .md, .html, .json, .csv or .yaml; "
		       "give a --format");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

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

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.doc = "Show what a run measured.\v"
	       "Needs no privileges, only the database. CSV has one line a job, directory and "
	       "file, each counter under its own name.\n\n"
	       "EXAMPLES\n"
	       "  cachemon report\n"
	       "  cachemon report --run 3 -o report.html\n"
	       "  cachemon report --db /data/run.db --format json --files 1000\n",
};

int cmd_report(int argc, char **argv)
{
	struct options o = {
		.report = {.run_id = REPORT_RUN_LAST, .files = REPORT_FILES_DEFAULT},
	};
	_cleanup_free_ char *default_db = NULL;
	struct errtext err = {0};
	struct invoker inv;
	int ret = 0;

	usage_parse(&argp, "cachemon report", argc, argv, 0, &o);
	ret = invoker_current(&inv, &err);
	if (ret < 0) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (!o.report.db) {
		ret = paths_default_db(&inv, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"),
				       &default_db, &err);
		o.report.db = default_db;
	}
	if (!ret && o.out_path)
		ret = report_write(&o.report, o.out_path, &inv, err.text, sizeof(err.text));
	else if (!ret)
		ret = report_print(&o.report, stdout, err.text, sizeof(err.text));
	if (ret < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	invoker_free(&inv);
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}
