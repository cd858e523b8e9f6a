/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "report/escape.h"
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
	char shown[128];

	switch (key) {
	case OPT_DB:
		if (!*arg)
			argp_error(state, "--db needs the name of a file");
		o->db = arg;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		escape_inert_to(shown, sizeof(shown), arg);
		argp_error(state, "'%s' is no option; the database is named with --db", shown);
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

	argp_err_exit_status = EXIT_USAGE;
	argv[0] = (char *)"cachemon runs"; /* what messages begin with */
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return EXIT_USAGE;
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
