/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/whatif.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "report/db.h"
#include "report/model_load.h"
#include "report/output.h"
#include "util/cleanup.h"
#include "util/invoker.h"
#include "util/parse.h"
#include "util/paths.h"

enum { OPT_DB = 256, OPT_RUN, OPT_JOB, OPT_FORMAT };

static const struct kind {
	const char *name;
	int (*print)(sqlite3 *db, const struct model *m, bool json, FILE *out, char *err,
		     size_t errlen);
} kinds[] = {
	{"cache", whatif_cache},
	{"readahead", whatif_readahead},
};

enum { NR_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct options {
	const struct kind *kind;
	const char *db;
	const char *job;      /* NULL: all */
	const char *out_path; /* NULL: standard output */
	int64_t run_id;
	bool json;
	bool format_given;
};

static const struct argp_option argp_options[] = {
	{"db", OPT_DB, "FILE", 0, "Database (default: $CACHEMON_DB, else the user's own)", 0},
	{"run", OPT_RUN, "ID|last", 0, "Which run (default: last)", 0},
	{"job", OPT_JOB, "NAME", 0, "Only this job", 0},
	{"format", OPT_FORMAT, "FORMAT", 0,
	 "text or json (default: json when -o ends in .json, else text)", 0},
	{"output", 'o', "FILE", 0, "Write to FILE, which appears whole or not at all", 0},
	{0},
};

static void parse_kind(struct argp_state *state, const char *arg, struct options *o)
{
	if (o->kind)
		usage_error(state, "'%s' is no option; the database is named with --db", arg);
	for (int i = 0; i < NR_KINDS; i++)
		if (strcmp(arg, kinds[i].name) == 0)
			o->kind = &kinds[i];
	if (!o->kind)
		usage_error(state, "'%s' is nothing to ask for; there are: cache, readahead", arg);
}

static void parse_run(struct argp_state *state, const char *arg, int64_t *ret_run)
{
	uint64_t id = 0;

	if (strcmp(arg, "last") == 0)
		*ret_run = MODEL_RUN_LAST;
	else if (parse_u64(arg, &id) < 0 || id > INT64_MAX)
		usage_error(state, "--run: '%s' is not the number of a run, or last", arg);
	else
		*ret_run = (int64_t)id;
}

static void parse_format(struct argp_state *state, const char *arg, struct options *o)
{
	o->json = strcmp(arg, "json") == 0;
	if (!o->json && strcmp(arg, "text") != 0)
		usage_error(state, "--format: '%s' is not one of text, json", arg);
	o->format_given = true;
}

/* All of it is checked before anything is opened. */
static void check(struct argp_state *state, struct options *o)
{
	const char *dot = o->out_path ? strrchr(o->out_path, '.') : NULL;

	if (!o->kind)
		usage_error(state, "what if what? say: cachemon whatif cache, or readahead");
	if ((o->db && !*o->db) || (o->out_path && !*o->out_path) || (o->job && !*o->job))
		usage_error(state, "--db, --job and -o need a name that is not empty");
	if (!o->format_given)
		o->json = dot && strcmp(dot, ".json") == 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		usage_init(state);
		return 0;
	case OPT_DB:
		o->db = arg;
		return 0;
	case OPT_RUN:
		parse_run(state, arg, &o->run_id);
		return 0;
	case OPT_JOB:
		o->job = arg;
		return 0;
	case OPT_FORMAT:
		parse_format(state, arg, o);
		return 0;
	case 'o':
		o->out_path = arg;
		return 0;
	case ARGP_KEY_ARG:
		parse_kind(state, arg, o);
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
	.args_doc = "cache|readahead",
	.doc = "Say what a run would have been like with another cache, or with other settings.\v"
	       "Needs no privileges, only the database. 'cache' plots the hit ratio against the "
	       "size of the cache, from the references that 'watch --level full' records; "
	       "'readahead' replays the accesses of the files that it traces with other "
	       "read_ahead_kb and advice.\n\n"
	       "EXAMPLES\n"
	       "  cachemon whatif cache\n"
	       "  cachemon whatif cache --run 3 --format json\n"
	       "  cachemon whatif readahead\n",
};

static int print(const struct options *o, FILE *out, char *err, size_t errlen)
{
	struct model_query query = {.run_id = o->run_id, .job = o->job, .totals_only = true};
	struct model m = {0};
	sqlite3 *db = NULL;
	int ret = report_db_open(o->db, &db, err, errlen);

	if (!ret)
		ret = model_load(db, &query, &m, err, errlen);
	if (!ret) {
		ret = o->kind->print(db, &m, o->json, out, err, errlen);
		model_free(&m);
	}
	sqlite3_close(db);
	if (!ret && (fflush(out) != 0 || ferror(out))) {
		ret = errno ? -errno : -EIO;
		snprintf(err, errlen, "cannot write: %s.", strerror(-ret));
		output_forget(out);
	}
	return ret;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa;
	struct stat sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* As the invoking user, and not over the database. */
static int write_file(const struct options *o, const struct invoker *as, char *err, size_t errlen)
{
	struct invoker_fs saved = {0};
	struct output output = {0};
	int ret = 0;

	if (same_file(o->db, o->out_path)) {
		snprintf(err, errlen,
			 "this would replace the database; name another file to write.");
		return -EINVAL;
	}
	ret = invoker_fs_enter(as, &saved);
	if (ret < 0) {
		snprintf(err, errlen, "cannot write files as the invoking user: %s.",
			 strerror(-ret));
		return ret;
	}
	ret = output_open(o->out_path, &output, err, errlen);
	if (!ret) {
		ret = print(o, output.out, err, errlen);
		if (!ret)
			ret = output_commit(&output, err, errlen);
		else
			output_abort(&output);
	}
	if (saved.entered)
		invoker_fs_leave(&saved);
	return ret;
}

int cmd_whatif(int argc, char **argv)
{
	struct options o = {.run_id = MODEL_RUN_LAST};
	_cleanup_free_ char *default_db = NULL;
	struct errtext err = {0};
	struct invoker inv;
	int ret = 0;

	usage_parse(&argp, "cachemon whatif", argc, argv, 0, &o);
	ret = invoker_current(&inv, &err);
	if (ret < 0) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (!o.db) {
		ret = paths_default_db(&inv, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"),
				       &default_db, &err);
		o.db = default_db;
	}
	if (!ret && o.out_path)
		ret = write_file(&o, &inv, err.text, sizeof(err.text));
	else if (!ret)
		ret = print(&o, stdout, err.text, sizeof(err.text));
	if (ret < 0)
		fprintf(stderr, "cachemon: %s\n", err.text);
	invoker_free(&inv);
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}
