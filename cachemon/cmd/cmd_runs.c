/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/progress.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/db/db_read.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/run_name.h"
#include "cachemon/report/runs/runs_report.h"
#include "cachemon/store/store_delete.h"

enum { OPT_REPORTS = OPT_OF_VERB, OPT_DELETE, OPT_KEEP, OPT_SINCE };

enum { NAMES_MAX = 1000, PRINTED_MAX = 20 };

#define SECOND_NS INT64_C(1000000000)

struct options {
	struct report_args args;
	const char *reports; /* NULL: no report directory */
	const char *names[NAMES_MAX];
	size_t nr_names;
	uint64_t keep;
	bool deletes, keeps, since;
	int64_t since_ns; /* since 1970; INT64_MIN: all runs */
};

/* "2026-11-23", "2026-11-23 22:11" in local time; or an age: "7d", "12h". */
static int64_t take_since(const char *arg, struct argp_state *state)
{
	static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"};
	uint64_t ns = 0;
	int64_t date_ns = 0;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *end = strptime(arg, forms[i], &tm);
		time_t t = end && !*end ? mktime(&tm) : -1;

		if (t == -1)
			continue;
		if (__builtin_mul_overflow(t, SECOND_NS, &date_ns))
			return t < 0 ? INT64_MIN : INT64_MAX;
		return date_ns;
	}
	if (parse_age(arg, &ns))
		usage_reject(state, "--since", arg,
			     "a date such as 2026-11-23, or a time such as 7d or 12h");
	return (int64_t)time(NULL) * SECOND_NS - (int64_t)ns;
}

static void take_name(struct options *o, const char *arg, struct argp_state *state)
{
	if (!run_name_is(arg))
		usage_reject(state, "--delete", arg, "a run: " RUN_NAME_FORMS);
	if (o->nr_names == NAMES_MAX)
		usage_error(state, "--delete takes at most %d runs at once", NAMES_MAX);
	o->names[o->nr_names++] = arg;
}

static void check_options(const struct options *o, struct argp_state *state)
{
	bool shows = o->reports || o->args.report.out_path || o->args.format_given;

	if (o->reports && (o->args.report.out_path || o->args.format_given))
		usage_error(state, "--reports writes HTML into a directory: omit -o and --format");
	if (o->deletes && o->keeps)
		usage_error(state, "give either --delete or --keep");
	if ((o->deletes || o->keeps) && (shows || o->since))
		usage_error(state, "--delete and --keep list nothing: omit --since, --reports, -o "
				   "and --format");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_REPORTS:
		o->reports = usage_name(state, "--reports", arg);
		return 0;
	case OPT_DELETE:
		o->deletes = true;
		take_name(o, arg, state);
		return 0;
	case OPT_KEEP:
		o->keeps = true;
		if (parse_u64(arg, &o->keep) || !o->keep || o->keep > INT32_MAX)
			usage_reject(state, "--keep", arg, "a number of runs to keep, at least 1");
		return 0;
	case OPT_SINCE:
		o->since = true;
		o->since_ns = take_since(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (!o->deletes)
			break;
		take_name(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_options(o, state);
		break;
	default:
		break;
	}
	return report_args_option(&o->args, key, arg, state);
}

/* The runs to delete. */
struct going {
	size_t nr, room;
	int64_t *ids;
	char lines[PRINTED_MAX][160]; /* names of the first ones, for the message */
	char last[160];
};

static int take_going(sqlite3_stmt *stmt, struct going *g)
{
	char job[80];

	if (vec_reserve(g->ids, g->room, g->nr + 1))
		return SQLITE_NOMEM;
	g->ids[g->nr] = sqlite3_column_int64(stmt, 0);
	escape_inert_to(job, sizeof(job), (const char *)sqlite3_column_text(stmt, 2) ?: "-");
	snprintf(g->last, sizeof(g->last), "run %" PRId64 ", %s, %s", g->ids[g->nr],
		 show_local(sqlite3_column_int64(stmt, 1)).s, job);
	if (g->nr < PRINTED_MAX)
		memcpy(g->lines[g->nr], g->last, sizeof(g->last));
	g->nr++;
	return SQLITE_OK;
}

static int read_going(sqlite3 *db, const char *sql, int64_t value, struct going *g,
		      struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (!rc)
		rc = sqlite3_bind_int64(stmt, 1, value);
	while (!rc && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = take_going(stmt, g);
	sqlite3_finalize(stmt);
	if (rc == SQLITE_NOMEM)
		return errtext_set(err, -ENOMEM, "not enough memory to delete runs");
	return rc == SQLITE_DONE ? 0 : db_read_error(db, err);
}

#define RUN_LINE                                                                                   \
	"SELECT id, started_ns, (SELECT CAST(name AS TEXT) FROM job WHERE run_id = run.id AND "    \
	"slot = 1) FROM run "

static int find_going(const struct options *o, struct going *g, struct errtext *err)
{
	sqlite3 *db = NULL;
	int64_t id = 0;
	int ret = db_read_open(o->args.report.db, &db, err);

	if (!ret && o->keeps)
		ret = read_going(db,
				 RUN_LINE "WHERE id NOT IN (SELECT id FROM run ORDER BY started_ns "
					  "DESC, id DESC LIMIT ?1) ORDER BY started_ns, id",
				 (int64_t)o->keep, g, err);
	for (size_t i = 0; i < o->nr_names && !ret; i++) {
		ret = run_name_find(db, o->names[i], &id, err);
		for (size_t n = 0; n < g->nr && !ret; n++)
			if (g->ids[n] == id)
				ret = errtext_set(err, -EEXIST, "run %" PRId64 " is named twice",
						  id);
		if (!ret)
			ret = read_going(db, RUN_LINE "WHERE id = ?1", id, g, err);
	}
	sqlite3_close(db);
	return ret;
}

static int64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_size;
}

/* A killed writer leaves its newest rows in the -wal file. */
static int64_t bytes_of(const char *path)
{
	_cleanup_free_ char *wal = NULL;

	return file_bytes(path) + (text_print(&wal, "%s-wal", path) ? 0 : file_bytes(wal));
}

/* A list of thousands would scroll away what follows it. */
static void print_gone(const struct going *g, int64_t freed)
{
	for (size_t i = 0; i < g->nr && i < PRINTED_MAX; i++)
		printf("deleted %s\n", g->lines[i]);
	if (g->nr > PRINTED_MAX)
		printf("deleted %zu more, the last of them %s\n", g->nr - PRINTED_MAX, g->last);
	if (!g->nr)
		puts("nothing deleted: there are no older runs");
	else
		printf("%zu run%s deleted, %s freed; this cannot be undone\n", g->nr,
		       g->nr == 1 ? "" : "s",
		       show_bytes((struct opt_i64){freed > 0 ? freed : 0, true}, false).s);
}

static int delete_going(const struct options *o, struct going *g, struct errtext *err)
{
	const struct store_config config = {.path = o->args.report.db};
	int64_t before = bytes_of(config.path);
	struct errtext note = {""};
	int ret = find_going(o, g, err);

	if (!ret && g->nr)
		ret = store_delete_runs(&config, g->ids, g->nr, &note, err);
	progress_over(o->args.report.progress);
	if (ret)
		return ret;
	print_gone(g, before - bytes_of(config.path));
	if (*note.text)
		cmd_say(note.text);
	return 0;
}

static int delete_runs(const struct options *o, struct errtext *err)
{
	struct going g = {0};
	int ret = delete_going(o, &g, err);

	free(g.ids);
	return ret;
}

static int show_runs(void *arg, const struct invoker *as, struct errtext *err)
{
	const struct options *o = arg;
	const struct runs_options runs = {.db = o->args.report.db,
					  .default_db = o->args.report.default_db,
					  .format =
						  o->reports ? REPORT_HTML : o->args.report.format,
					  .out_path = o->args.report.out_path,
					  .since_ns = o->since_ns,
					  .rules = o->args.report.rules,
					  .progress = o->args.report.progress};

	if (o->deletes || o->keeps)
		return delete_runs(o, err);
	return o->reports ? runs_write_reports(&runs, o->reports, err)
			  : runs_show(&runs, stdout, err);
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,
	REPORT_ARGS_FORMAT("text|md|html|json"),
	REPORT_ARGS_JSON,
	REPORT_ARGS_OUTPUT,
	OPTION("reports", OPT_REPORTS, "DIR", VALUE_DIRECTORY,
	       "Write DIR/index.html, a page of all runs, and next to it a report of each job of "
	       "the newest 50 runs"),
	OPTION("since", OPT_SINCE, "DATE|TIME", VALUE_TEXT,
	       "Only runs that began since a date (2026-11-23 or \"2026-11-23 22:11\") or in the "
	       "last 7d or 12h"),
	OPTION("delete", OPT_DELETE, "RUN", VALUE_RUN,
	       "Delete this run and any others listed after it, for good and without confirmation"),
	OPTION("keep", OPT_KEEP, "N", VALUE_NUMBER,
	       "Delete all runs except the newest N, for good and without confirmation"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon runs", "List the runs of your own database, the newest last"},
	{"cachemon runs --since 7d", "List the runs of the last week"},
	{"cachemon runs --db run.db --json",
	 "List the runs of another database, for other programs"},
	{"cachemon runs --db run.db --reports reports",
	 "Write a page of all runs with a link to a report of each"},
	{0},
};

const struct verb_spec runs_spec = {
	.name = "runs",
	.help = "list the runs of a database, and how each job changed between runs",
	.examples = examples,
	.options = options,
	.notes = "HITS is the hit ratio of the watched job. WAITING is the share of its time that "
		 "it slept for the page cache. GRADE and FIRST FINDING come from the report made "
		 "at the end of the run; older, open and cut runs have a dash. A run that did not "
		 "end well has a word after the job: failed (with the status of the command), open "
		 "(still being written, or its cachemon was killed) or cut (cachemon was killed, "
		 "and a later one noticed).\n\nRUN is " RUN_NAME_FORMS ". --delete and "
		 "--keep ask for no confirmation. They "
		 "print what they deleted (the first 20 runs, then how many more and the last), "
		 "and refuse to delete while a run of the database is being written.",
	.run = cmd_runs,
};

int cmd_runs(int argc, char **argv)
{
	struct options o = {.args.formats = &report_args_pages, .since_ns = INT64_MIN};

	usage_parse(&runs_spec, parse_option, argc, argv, 0, &o);
	return report_args_run(&o.args, show_runs, &o);
}
