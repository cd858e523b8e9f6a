/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "report/report.h"
#include "util/cleanup.h"
#include "util/invoker.h"
#include "util/paths.h"

enum { OPT_DB = 256, OPT_JSON };

struct options {
	const char *db;
	bool json;
};

static const struct argp_option argp_options[] = {
	{"db", OPT_DB, "FILE", 0, "Database (default: $CACHEMON_DB, else the user's own)", 0},
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		usage_init(state);
		return 0;
	case OPT_DB:
		if (!*arg)
			usage_error(state, "--db needs the name of a file");
		o->db = arg;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "'%s' is no option; the database is named with --db", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
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

int cmd_runs(int argc, char **argv)
{
	_cleanup_free_ char *default_db = NULL;
	struct options o = {0};
	struct errtext err = {0};
	struct invoker inv;
	int ret = 0;

	usage_parse(&argp, "cachemon runs", argc, argv, 0, &o);
	if (!o.db) {
		ret = invoker_current(&inv, &err);
		if (!ret) {
			ret = paths_default_db(&inv, getenv("CACHEMON_DB"),
					       getenv("XDG_STATE_HOME"), &default_db, &err);
			invoker_free(&inv);
		}
		o.db = default_db;
	}
	if (!ret)
		ret = report_runs(o.db, o.json, stdout, err.text, sizeof(err.text));
	if (ret < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}
