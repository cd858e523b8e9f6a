/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/node_args.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/top_node.h"
#include "cachemon/top/top.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/db/db_read.h"
#include "cachemon/top/columns.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/parse.h"
#include "cachemon/access/privileges.h"

enum {
	OPT_REPLAY = OPT_OF_VERB,
	OPT_BATCH,
	OPT_FRAMES,
	OPT_SORT,
	OPT_ROWS,
	OPT_PID,
	OPT_CGROUP,
	OPT_INTERVAL,
	OPT_LEVEL
};

static const struct option_spec options[] = {
	{{.doc = "What to show (default: the newest run that is being recorded, else the last):"},
	 VALUE_NONE},
	REPORT_ARGS_DB,
	OPTION("run", OPT_RUN, "ID|last[-N]", VALUE_RUN, "This run"),
	OPTION("replay", OPT_REPLAY, "FILE", VALUE_FILE,
	       "Play a stored run of this database from its start"),
	OPTIONS_HEADING("Or record a job, as watch does, and show it:"),
	OPTION("pid", OPT_PID, "N", VALUE_PID, "A process and its descendants"),
	OPTION("cgroup", OPT_CGROUP, "PATH", VALUE_DIRECTORY,
	       "A cgroup: v2, or v1 with memory, freezer, cpuset, cpuacct or pids"),
	OPTION("job", OPT_JOB, "NAME", VALUE_JOB,
	       "A job of this name. KIND:NAME where a daemon runs: your job, without recording"),
	OPTION("interval", OPT_INTERVAL, "DUR", VALUE_DURATION,
	       "Length of an interval (default: 1s); the first one is at most 250ms"),
	OPTION("level", OPT_LEVEL, "cold|full|auto", VALUE_CHOICE,
	       "Same as for watch (default: auto)"),
	REPORT_ARGS_SOCKET,
	OPTIONS_HEADING("How:"),
	OPTION("rows", OPT_ROWS, "runs|jobs|directories|files|processes", VALUE_CHOICE,
	       "Which table to show first"),
	OPTION("sort", OPT_SORT,
	       "hits|misses|lookups|waited|prefetched|evicted|accuracy|wasted|read|refaults|cpu|"
	       "waits|calls|name",
	       VALUE_CHOICE, "Order the rows by this column (default: misses)"),
	OPTION("batch", OPT_BATCH, NULL, VALUE_NONE, "Write frames as text, one per interval"),
	OPTION("frames", OPT_FRAMES, "N", VALUE_NUMBER, "With --batch: write this many frames"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon top",
	 "Show the run that is being recorded, else the last one; q quits, ? lists the keys"},
	{"cachemon top --replay run.db", "Play a stored run from its start"},
	{"cachemon top --batch --rows files --frames 1", "Print the files of the newest interval"},
	{"cachemon top --job slurm:4711", "Show your job on a node with a daemon"},
	{"sudo cachemon top --pid 4321", "Record a running process for this view only"},
	{0},
};

const struct verb_spec top_spec = {
	.name = "top",
	.help = "show a run while it is recorded, or replay it",
	.examples = examples,
	.options = options,
	.notes = "Reads the database that 'cachemon watch' writes, and needs no privileges for "
		 "that. Where the daemon of a node runs (cachemon daemon --config), it shows your "
		 "jobs there, also without privileges: --job KIND:NAME, or without a name those "
		 "that run, unless CACHEMON_DB is set. Press ? for the keys.",
	.run = cmd_top,
	.measures = true,
};

static void add_watch(struct top_options *o, const char *option, char *arg)
{
	if (o->nr_watch + 2 < TOP_WATCH_WORDS) {
		o->watch[o->nr_watch++] = (char *)option;
		o->watch[o->nr_watch++] = arg;
	}
}

static bool has_word(const struct top_options *o, const char *word)
{
	for (int i = 0; i < o->nr_watch; i++)
		if (!strcmp(o->watch[i], word))
			return true;
	return false;
}

static void add_selector(struct argp_state *state, struct top_options *o, const char *option,
			 char *arg)
{
	if (o->has_selector)
		usage_error(state, "give exactly one of --pid, --cgroup, --job");
	o->has_selector = true;
	add_watch(o, option, usage_value(state, option, arg));
}

static error_t parse_capture(int key, char *arg, struct argp_state *state)
{
	struct top_options *o = state->input;
	pid_t pid = 0;

	switch (key) {
	case OPT_PID:
		if (parse_pid(arg, &pid))
			usage_reject(state, "--pid", arg, "a process id");
		add_selector(state, o, "--pid", arg);
		return 0;
	case OPT_CGROUP:
		add_selector(state, o, "--cgroup", arg);
		return 0;
	case OPT_JOB:
		add_selector(state, o, "--job", arg);
		o->job = arg;
		return 0;
	case OPT_INTERVAL:
		usage_interval(state, arg);
		o->records = true;
		add_watch(o, "--interval", arg);
		return 0;
	case OPT_LEVEL:
		usage_level(state, arg);
		o->records = true;
		add_watch(o, "--level", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_options(struct argp_state *state, struct top_options *o)
{
	static char one_second[] = "1s";

	if (o->has_selector && (o->db || o->run_given || o->replay))
		usage_error(state, "give either a job to record or a stored run (--db, --run, "
				   "--replay), not both");
	if (o->records && !o->has_selector)
		usage_error(state, "--interval and --level need --pid, --cgroup or --job");
	if (o->has_selector && !has_word(o, "--interval"))
		add_watch(o, "--interval", one_second);
	if (o->socket && (o->db || o->run_given || o->records ||
			  (o->has_selector && (!o->job || !node_args_finds(o->job)))))
		usage_error(state, "--socket is for jobs of the node's daemon: give --job "
				   "KIND:NAME, or nothing for all of yours");
	if (o->frames && !o->batch)
		usage_error(state, "--frames needs --batch");
}

static error_t parse_view(int key, char *arg, struct argp_state *state)
{
	static const char *const rows[] = {"runs", "jobs", "directories", "files", "processes"};
	struct top_options *o = state->input;
	struct top_view view = top_view_new();
	size_t index = 0;

	switch (key) {
	case OPT_SOCKET:
		o->socket = usage_name(state, "--socket", arg);
		return 0;
	case OPT_BATCH:
		o->batch = true;
		return 0;
	case OPT_FRAMES:
		if (parse_u64(arg, &o->frames) || !o->frames)
			usage_reject(state, "--frames", arg, "a number of frames, at least 1");
		return 0;
	case OPT_SORT:
		if (top_view_sort(&view, arg))
			usage_reject(state, "--sort", arg, "a column; see --help");
		o->sort = arg;
		return 0;
	case OPT_ROWS:
		if (parse_enum(arg, rows, TOP_NR_LEVELS, &index))
			usage_reject(state, "--rows", arg,
				     "runs, jobs, directories, files or processes");
		o->level = (enum top_level)index;
		o->level_given = true;
		return 0;
	default:
		return parse_capture(key, arg, state);
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top_options *o = state->input;

	switch (key) {
	case OPT_DB:
	case OPT_REPLAY:
		if (o->db)
			usage_error(state, "give exactly one of --db, --replay");
		o->db = usage_value(state, key == OPT_DB ? "--db" : "--replay", arg);
		o->replay = key == OPT_REPLAY;
		return 0;
	case OPT_RUN:
		report_args_parse_run(state, arg, &o->run_id);
		o->run_given = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "unexpected '%s'; name a job with --pid, --cgroup or --job",
			    arg);
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		return 0;
	default:
		return parse_view(key, arg, state);
	}
}

static int find_run(sqlite3 *db, const struct top_options *o, int64_t *ret_run, char *about,
		    size_t size, struct errtext *err)
{
	bool open = true;
	int r = 0;

	*about = '\0';
	*ret_run = o->run_id;
	if (o->run_given)
		return 0;
	r = top_session_find_run(db, ret_run, &open, err);
	if (!r && !open && !o->replay)
		snprintf(about, size,
			 "no run is being recorded; showing run %" PRId64 ", the last one",
			 *ret_run);
	return r;
}

/* The beginning of a session. */
struct subject {
	sqlite3 *db;
	int64_t run_id;
	enum top_level level;
	const char *about;
	struct top_capture *capture;
	const struct top_feed *feed;
};

static int show_session(const struct top_options *o, const struct subject *what, int *ret_signal,
			struct errtext *err)
{
	struct top_session s;
	int r;

	/* Root can open databases that the invoker cannot; their content is read without root's
	 * rights. */
	if (privileges_keep(0))
		return errtext_set(err, -EPERM, "cannot give up capabilities");
	if (top_session_begin(what->db, what->run_id, o->replay, &s))
		return errtext_set(err, -ENOMEM, "not enough memory");
	s.feed = what->feed;
	s.view.level = what->level;
	if (o->sort)
		top_view_sort(&s.view, o->sort);
	if (o->batch) {
		if (*what->about)
			fprintf(stderr, "cachemon: %s\n", what->about);
		r = top_batch(&s, o, what->capture, stdout, ret_signal, err);
	} else {
		r = top_watch_screen(&s, o, what->capture, what->about, ret_signal, err);
	}
	top_session_end(&s);
	return r;
}

static int show_database(const struct top_options *o, struct top_capture *capture, const char *path,
			 int *ret_signal, struct errtext *err)
{
	char about[128];
	struct subject what = {.level = o->level, .about = about, .capture = capture};
	int r = db_read_open(path, &what.db, err);

	if (r)
		return r;
	r = find_run(what.db, o, &what.run_id, about, sizeof(about), err);
	if (!r)
		r = show_session(o, &what, ret_signal, err);
	sqlite3_close(what.db);
	return r;
}

static int show_node(const struct top_options *o, struct top_node *n, int *ret_signal,
		     struct errtext *err)
{
	const struct subject what = {
		.db = node_feed_db(n->feed),
		.run_id = n->run_id,
		.level = top_node_many(n) && !o->level_given ? TOP_RUNS : o->level,
		.about = n->about,
		.feed = &n->source,
	};
	int r = show_session(o, &what, ret_signal, err);

	top_node_end(n);
	return r;
}

static int show_stored(const struct top_options *o, int *ret_signal, struct errtext *err)
{
	_cleanup_free_ char *path = NULL;
	struct invoker inv;
	int r;

	if (o->db)
		return show_database(o, NULL, o->db, ret_signal, err);
	r = invoker_current(&inv, err);
	if (r)
		return r;
	r = cmd_default_db(&inv, &path, err);
	invoker_free(&inv);
	return r ? r : show_database(o, NULL, path, ret_signal, err);
}

/* Whether the daemon of the node may have what is asked for. */
static bool may_ask_node(const struct top_options *o)
{
	if (o->job)
		return !o->records && node_args_finds(o->job);
	return !o->has_selector && !o->db && !o->run_given && (o->socket || !getenv("CACHEMON_DB"));
}

/* Whether another source can be used after this failure of the daemon. Root can record a job that
 * the daemon does not count. */
static bool goes_on_without(const struct top_options *o, bool root, int failure)
{
	return !o->socket && (!o->job || root || failure != -EREMOTEIO);
}

static int show_captured(const struct top_options *o, struct top_capture *capture, int *ret_signal,
			 struct errtext *err)
{
	int r = top_capture_begin(capture, ret_signal, err);

	return r ? r : show_database(o, capture, top_capture_db(capture), ret_signal, err);
}

/* The machine may lack the locale of a remote user, but always has UTF-8. */
static void take_locale(void)
{
	const char *all = getenv("LC_ALL"), *type = getenv("LC_CTYPE"), *lang = getenv("LANG");
	const char *name = all && *all ? all : type && *type ? type : lang ? lang : "";

	if (!setlocale(LC_CTYPE, "") && (strcasestr(name, ".utf-8") || strcasestr(name, ".utf8")))
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* The viewer becomes the invoker before it reads a file or the terminal's description. */
static int run_top(const struct top_options *o, struct top_capture **capture, int *ret_signal,
		   struct errtext *err)
{
	struct errtext ignored;
	bool root = !geteuid();
	struct top_node node;
	int r = invoker_become(err);

	if (!r && *capture && privileges_keep(0))
		r = errtext_set(err, -EPERM, "cannot give up capabilities");
	if (r)
		return r;
	take_locale();
	if (!o->batch &&
	    (!top_screen_possible(STDIN_FILENO) || !top_screen_possible(STDOUT_FILENO)))
		return errtext_set(err, -ENOTTY,
				   "this terminal cannot show a full screen; "
				   "'cachemon top --batch' writes text");
	if (may_ask_node(o)) {
		r = top_node_begin(o->socket, o->job, &node, err);
		if (!r) {
			top_capture_end(*capture, &ignored);
			*capture = NULL;
			return show_node(o, &node, ret_signal, err);
		}
		if (!goes_on_without(o, root, r))
			return r;
	}
	return *capture ? show_captured(o, *capture, ret_signal, err)
			: show_stored(o, ret_signal, err);
}

int cmd_top(int argc, char **argv)
{
	struct top_options o = {.run_id = REPORT_RUN_LAST, .level = TOP_JOBS};
	struct errtext err = {0}, end_err = {0};
	struct top_capture *capture = NULL;
	int signal_seen = 0;
	int r = 0;

	usage_parse(&top_spec, parse_option, argc, argv, 0, &o);
	top_signals_hold();
	if (o.has_selector)
		r = top_capture_fork(&o, &capture, &err);
	if (!r)
		r = run_top(&o, &capture, &signal_seen, &err);
	if (top_capture_end(capture, &end_err) && !r) {
		err = end_err;
		r = -EIO;
	}
	if (r && !signal_seen)
		fprintf(stderr, "cachemon: %s\n", err.text);
	if (signal_seen)
		top_signals_end_by(signal_seen);
	return r == -ENOTTY ? EXIT_USAGE : r ? EXIT_FAILED : EXIT_DONE;
}
