/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report_args.h"
#include "cmd/usage.h"

enum { OPT_JSON = OPT_OF_VERB };

struct options {
	struct report_args args;
	bool json;
};

static const struct argp_option argp_options[] = {
	REPORT_ARGS_DB,
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key != OPT_JSON)
		return report_args_option(&o->args, key, arg, state);
	o->json = true;
	return 0;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.doc = "List the runs of a database.\v"
	       "STATE is complete, open (still written, or cachemon was killed) or cut. HITS and "
	       "MISSES are those of the watched job.\n\n"
	       "EXAMPLES\n"
	       "  cachemon runs\n"
	       "  cachemon runs --db /data/run.db --json\n",
};

static int show(void *arg, const struct invoker *as, struct errtext *err)
{
	const struct options *o = arg;

	return report_runs(o->args.report.db, o->json, stdout, err->text, sizeof(err->text));
}

int cmd_runs(int argc, char **argv)
{
	struct options o = {0};

	usage_parse(&argp, "cachemon runs", argc, argv, 0, &o);
	return report_args_run(&o.args, show, &o);
}
