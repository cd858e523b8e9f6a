/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/report_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/rules/rule_set.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/node_args.h"
#include "cachemon/base/pager.h"
#include "cachemon/base/progress.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/report/nodes/nodes_report.h"
#include "cachemon/report/run/report.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/parse.h"

void report_args_parse_run(struct argp_state *state, const char *arg, int64_t *ret_run)
{
	uint64_t id = 0;

	if (strcmp(arg, "last") == 0)
		*ret_run = REPORT_RUN_LAST;
	else if (parse_u64(arg, &id) < 0 || id > INT64_MAX)
		usage_reject(state, "--run", arg, "the number of a run, or last");
	else
		*ret_run = (int64_t)id;
}

static void parse_files(struct argp_state *state, const char *arg, size_t *ret_files)
{
	uint64_t n = 0;

	if (parse_u64(arg, &n) < 0 || n > INT32_MAX)
		usage_reject(state, "--files", arg, "a number of files (0 to 2147483647)");
	else
		*ret_files = (size_t)n;
}

const struct report_args_formats report_args_pages = {
	.has = report_format_of_pages,
	.names = "text, md, html, json",
	.endings = ".txt, .md, .html or .json",
};

static bool has_format(const struct report_args *o, enum report_format format)
{
	return !o->formats || o->formats->has(format);
}

static void parse_format(struct argp_state *state, const char *arg, struct report_args *o)
{
	if (report_format_parse(arg, &o->report.format) < 0 || !has_format(o, o->report.format)) {
		usage_error(state, "--format: '%s' is not one of %s", arg,
			    o->formats ? o->formats->names : "text, md, html, json, csv, yaml");
	}
	o->format_given = true;
}

static void choose_format(struct argp_state *state, struct report_args *o)
{
	bool known = report_format_of_path(o->report.out_path, &o->report.format) == 0;

	if (known && has_format(o, o->report.format))
		return;
	usage_error(state, "-o: '%s' does not end in %s; give a --format", o->report.out_path,
		    o->formats ? o->formats->endings : ".txt, .md, .html, .json, .csv or .yaml");
}

static const char *parse_database(struct argp_state *state, char *arg)
{
	if (strcmp(arg, "-") == 0)
		usage_error(state, "--db: a database must be a file, not '-'");
	return usage_name(state, "--db", arg);
}

static void take_database(struct argp_state *state, const char *path, struct report_args *o)
{
	if (o->operand)
		usage_error(state, "two databases, '%s' and '%s': give only one", o->named, path);
	o->report.db = o->named = path;
}

void report_args_operand(struct report_args *o, char *arg, struct argp_state *state)
{
	if (o->named)
		usage_error(state, "two databases, '%s' and '%s': give only one", o->named, arg);
	take_database(state, parse_database(state, arg), o);
	o->operand = true;
}

static void parse_output(struct argp_state *state, char *arg, struct report_args *o)
{
	o->report.out_path = strcmp(arg, "-") ? usage_name(state, "-o", arg) : NULL;
}

/* The rows of such a job have no other run and no other watched job. */
static void choose_source(struct argp_state *state, struct report_args *o)
{
	if (o->may_ask_node && !o->named && o->report.job && node_args_finds(o->report.job)) {
		o->node_job = o->report.job;
		o->report.job = NULL;
	}
	if (o->socket && !o->node_job)
		usage_error(state, "--socket needs --job KIND:NAME, and no database");
	if (o->node_job && o->report.run_id != REPORT_RUN_LAST)
		usage_error(state, "the daemon has one run of a job: omit --run");
}

error_t report_args_option(struct report_args *o, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case OPT_DB:
		take_database(state, parse_database(state, arg), o);
		return 0;
	case OPT_RUN:
		report_args_parse_run(state, arg, &o->report.run_id);
		return 0;
	case OPT_JOB:
		o->report.job = usage_name(state, "--job", arg);
		return 0;
	case OPT_FORMAT:
		parse_format(state, arg, o);
		return 0;
	case OPT_JSON:
		parse_format(state, "json", o);
		return 0;
	case OPT_FILES:
		parse_files(state, arg, &o->report.files);
		return 0;
	case OPT_FULL:
		o->full = true;
		return 0;
	case OPT_BRIEF:
		o->brief = true;
		return 0;
	case OPT_NO_PAGER:
		o->no_pager = true;
		return 0;
	case OPT_SOCKET:
		o->socket = usage_name(state, "--socket", arg);
		return 0;
	case OPT_RULES:
		o->rules = usage_name(state, "--rules", arg);
		return 0;
	case 'o':
		parse_output(state, arg, o);
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "unexpected argument '%s'; use --db to name the database", arg);
		return 0;
	case ARGP_KEY_END:
		choose_source(state, o);
		if (o->report.out_path && !o->format_given)
			choose_format(state, o);
		if (o->full && o->brief)
			usage_error(state, "give --full or --brief, not both");
		if (o->brief && o->report.format != REPORT_TEXT)
			usage_error(state, "--brief is text; other formats are always whole");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Where the rows are: in the daemon, or in a database. */
static int find_rows(struct report_args *args, const struct invoker *inv, char **ret_default,
		     struct db_image *ret_image, struct errtext *err)
{
	int ret;

	if (args->node_job) {
		/* Commands of the report need a file: 'cachemon jobs' writes one. */
		args->report.db = "job.db";
		args->report.image = ret_image;
		return node_args_rows(args->socket, args->node_job, ret_image, err);
	}
	if (args->report.db)
		return 0;
	ret = cmd_default_db(inv, ret_default, err);
	args->report.db = *ret_default;
	args->report.default_db = true;
	return ret;
}

int report_args_run(struct report_args *args,
		    int (*show)(void *arg, const struct invoker *as, struct errtext *err),
		    void *arg)
{
	_cleanup_free_ char *default_db = NULL;
	struct progress_show *progress = NULL;
	struct db_image image = {0};
	struct errtext err = {0};
	struct invoker inv;
	int ret = invoker_current(&inv, &err);

	if (ret < 0) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	ret = find_rows(args, &inv, &default_db, &image, &err);
	if (!ret)
		ret = cmd_rules(&inv, args->rules, &args->dirs, &err);
	args->report.rules = &args->dirs;
	args->report.on_problem = cmd_print_rule_problem;
	args->report.on_problem_arg = &args->problems;
	progress = progress_show_begin();
	args->report.progress = progress_show_sink(progress);
	if (!ret)
		ret = show(arg, &inv, &err);
	progress_show_end(progress);
	if (ret < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	rule_dirs_free(&args->dirs);
	node_client_unmap(&image);
	invoker_free(&inv);
	return ret ? EXIT_FAILED : EXIT_DONE;
}

static int put_report(void *arg, FILE *out, FILE *looks_like, struct errtext *err)
{
	struct report_options *report = arg;

	report->looks_like = looks_like;
	return report_show(report, out, err);
}

/* On a terminal, text is one screen unless a language model was queried. */
static int show_text(const struct report_args *args, struct errtext *err)
{
	struct report_options report = args->report;
	bool terminal = !report.out_path && isatty(STDOUT_FILENO);
	_cleanup_free_ char *again =
		report_again(NULL, report.run_id, args->node_job ?: report.job);

	report.brief = args->brief || (terminal && !args->full && !report.word);
	report.again_db = args->named;
	report.again = again;
	if (!again)
		return errtext_set(err, -ENOMEM, "out of memory");
	if (terminal && !report.brief && !args->no_pager)
		return pager_put(put_report, &report, err);
	return report_show(&report, stdout, err);
}

/* A job of the database without --run: its report over all nodes, or of the last run with it.
 * As nodes_report(). */
static int show_over_nodes(const struct report_args *args, int64_t *ret_run, struct errtext *err)
{
	const struct report_options *o = &args->report;
	struct report_options report = *o;
	bool text = o->format == REPORT_TEXT && !o->out_path && isatty(STDOUT_FILENO);

	if (!args->over_nodes || !o->job || o->run_id != REPORT_RUN_LAST ||
	    !node_args_finds(o->job))
		return 0;
	report.brief = args->brief || (text && !args->full);
	return nodes_report(&report, stdout, ret_run, err);
}

static int show_one(const struct report_args *args, struct errtext *err)
{
	int ret = args->report.format == REPORT_TEXT && !args->report.advise
			  ? show_text(args, err)
			  : report_show(&args->report, stdout, err);

	return ret ? ret : args->report.advise && args->problems;
}

int report_args_show_report(const struct report_args *args, struct errtext *err)
{
	struct report_args one = *args;
	int64_t run = 0;
	int ret = show_over_nodes(args, &run, err);

	if (ret)
		return ret < 0 ? ret : 0;
	if (run)
		one.report.run_id = run;
	return show_one(&one, err);
}

static int show_report(void *arg, const struct invoker *as, struct errtext *err)
{
	return report_args_show_report(arg, err);
}

int report_args_show(struct report_args *args)
{
	return report_args_run(args, show_report, args);
}
