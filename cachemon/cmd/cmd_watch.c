/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cachemon/base/parse.h"
#include "cachemon/base/terminal.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/cmd/watch_shared.h"
#include "cachemon/cmd/watch_view.h"
#include "cachemon/daemon/node_protocol.h"
#include "cachemon/report/run/report.h"
#include "cachemon/watch/watch.h"

enum {
	/* The options that select a job: OPT_SELECTOR plus the kind of selector. */
	OPT_SELECTOR = 256,
	OPT_SELECTORS_END = OPT_SELECTOR + SELECTOR_NAME,
	OPT_LEVEL,
	OPT_OVERHEAD,
	OPT_ADVICE,
	OPT_INTERVAL,
	OPT_DURATION,
	OPT_DB,
	OPT_REPORT,
	OPT_METRICS,
	OPT_RULES,
	OPT_JOB,
	OPT_LIVE,
	OPT_UNTIL_EOF,
	OPT_BLOCKS,
	OPT_ROWS,
	OPT_OWN,
	OPT_SOCKET
};

static const struct option_spec options[] = {
	{{.doc = "What to watch (one of these, or -- CMD, or --job alone to find a running job):"},
	 VALUE_NONE},
	OPTION("pid", OPT_SELECTOR + SELECTOR_PID, "N", VALUE_PID, "A process and its descendants"),
	OPTION("slurm", OPT_SELECTOR + SELECTOR_SLURM, "ID[.STEP]", VALUE_TEXT,
	       "A Slurm job or step on this node"),
	OPTION("unit", OPT_SELECTOR + SELECTOR_UNIT, "NAME", VALUE_TEXT,
	       "A systemd service, scope or slice"),
	OPTION("container", OPT_SELECTOR + SELECTOR_CONTAINER, "NAME|ID", VALUE_TEXT,
	       "A container of Docker, Podman, containerd or CRI-O"),
	OPTION("pod", OPT_SELECTOR + SELECTOR_POD, "NAMESPACE/NAME", VALUE_TEXT,
	       "A pod of Kubernetes"),
	OPTION("vm", OPT_SELECTOR + SELECTOR_VM, "NAME", VALUE_TEXT,
	       "A virtual machine of libvirt"),
	OPTION("cgroup", OPT_SELECTOR + SELECTOR_CGROUP, "PATH", VALUE_DIRECTORY,
	       "A cgroup: v2, or v1 with memory, freezer, cpuset, cpuacct or pids"),
	OPTION("job", OPT_JOB, "NAME", VALUE_JOB,
	       "Name of the job in the database. Without -- CMD or an option above, it finds a "
	       "running job: by KIND:NAME, where KIND is an option above, or by the name of a "
	       "unit, container, virtual machine or cgroup"),
	OPTIONS_HEADING("How:"),
	OPTION("level", OPT_LEVEL, "cold|full|auto", VALUE_CHOICE,
	       "cold: no per-read hook, so no lookups or hits; full: everything; auto (default): "
	       "full while within the budget, else in slices"),
	OPTION("max-overhead", OPT_OVERHEAD, "PCT", VALUE_PERCENT,
	       "Budget of level auto, as a share of the job's CPU time (default: 1%)"),
	OPTION("advice", OPT_ADVICE, "calls|effects", VALUE_CHOICE,
	       "calls: count every advice call (slows every system call); effects (default): only "
	       "those that move pages"),
	OPTION("interval", OPT_INTERVAL, "DUR", VALUE_DURATION,
	       "Length of an interval, 100ms to 1h (default: 250ms for runs of up to two minutes, "
	       "or of up to 20s if they exceed the budget, else 1s; with --live 1s)"),
	OPTION("duration", OPT_DURATION, "DUR", VALUE_DURATION,
	       "Stop watching after this time; CMD continues"),
	OPTION("until-eof", OPT_UNTIL_EOF, NULL, VALUE_NONE,
	       "Stop watching at the end of standard input; not with CMD, which reads it"),
	OPTION("live", OPT_LIVE, NULL, VALUE_NONE,
	       "Show the run full screen, as 'cachemon top' does; q closes the view, not the run"),
	OPTION("own", OPT_OWN, NULL, VALUE_NONE,
	       "Count with programs of its own, even if a daemon of this node can count CMD"),
	OPTION("socket", OPT_SOCKET, "PATH", VALUE_FILE,
	       "Let the daemon at this socket count CMD, or fail (default: the one at " NODE_SOCKET
	       ", if it is there)"),
	OPTIONS_HEADING("Where to:"),
	OPTION("db", OPT_DB, "FILE", VALUE_FILE,
	       "Database (default: $CACHEMON_DB, else the user's own)"),
	OPTION("report", OPT_REPORT, "FILE", VALUE_FILE,
	       "Write a report at the end; the ending of the file name sets the format"),
	OPTION("metrics-file", OPT_METRICS, "FILE", VALUE_FILE,
	       "Replace FILE once a second with the job's figures for Prometheus. FILE ends in "
	       ".prom and is in the directory of the textfile collector of node_exporter"),
	OPTION("rules", OPT_RULES, "DIR", VALUE_DIRECTORY,
	       "Add the rules, notes and thresholds of a site to the report"),
	OPTIONS_HEADING("To test full maps:"),
	OPTION("block-entries", OPT_BLOCKS, "N", VALUE_NUMBER, "Keep the state of N x 256 pages"),
	OPTION("row-entries", OPT_ROWS, "N", VALUE_NUMBER, "Keep the rows of N files per interval"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"sudo cachemon watch --job train -- python3 train.py",
	 "Run a command as you, and watch it and its descendants"},
	{"cachemon watch --job train -- python3 train.py",
	 "The same without privileges, where a daemon of the node counts"},
	{"sudo cachemon watch --pid 4321 --duration 30s", "Watch a running process for 30 seconds"},
	{"sudo cachemon watch --cgroup /sys/fs/cgroup/batch --report batch.html",
	 "Watch a cgroup until Ctrl-C, then write a report"},
	{"sudo cachemon watch --slurm 4711 --duration 10m",
	 "Watch a Slurm job of this node; also --unit, --container, --pod and --vm"},
	{"sudo cachemon watch --interval 100ms --level full -- ./job",
	 "Record everything, in intervals short enough to compare short runs"},
	{0},
};

const struct verb_spec watch_spec = {
	.name = "watch",
	.help = "watch a job and record its page-cache activity",
	.operands = "[-- CMD [ARG...]]",
	.operand = VALUE_COMMAND,
	.examples = examples,
	.options = options,
	.notes =
		"Where a daemon of the node listens, it counts CMD, and watch needs no privileges: "
		"the run has every counter, but no references, traces or marks. With --own, with "
		"--level, --max-overhead, --advice calls, --interval, --live, --metrics-file, "
		"--block-entries or --row-entries, without CMD, and if the daemon refuses, watch "
		"loads programs of its own.\n\nOn a terminal it shows a one-line status, with -- "
		"CMD in the last row, below "
		"CMD's output. Only CMD writes to standard output. The exit status is CMD's: "
		"128+N for a signal, 126 and 127 as in a shell. It is 125 if cachemon fails "
		"before CMD starts, and 123 if CMD succeeded but part of the record was not "
		"written: an interval, the end of the run, the summary or the report.",
	.run = cmd_watch,
	.measures = true,
};

static const char *option_of(int key)
{
	const struct option_spec *o = options;

	while (o->option.key != key)
		o++;
	return o->option.name;
}

static void set_selector(struct argp_state *state, struct watch_options *o, int key, char *arg)
{
	char option[32];
	pid_t pid;

	snprintf(option, sizeof(option), "--%s", option_of(key));
	if (o->has_selector)
		usage_error(state, "%s: another option already says what to watch; give one",
			    option);
	if (key == OPT_SELECTOR + SELECTOR_PID && parse_pid(arg, &pid))
		usage_reject(state, option, arg, "a process id");
	o->has_selector = true;
	o->request = (enum selector_request)(key - OPT_SELECTOR);
	o->selector = usage_value(state, option, arg);
}

static uint64_t parse_entries(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t n;

	if (parse_u64(arg, &n) || n < 8 || n > 1 << 24)
		usage_reject(state, option, arg, "a number of entries (8 to 16777216)");
	return n;
}

static void check_options(struct argp_state *state, struct watch_options *o)
{
	struct errtext err = {""};

	if (o->command && o->has_selector)
		usage_error(state, "give either -- CMD or --%s, not both",
			    option_of(OPT_SELECTOR + (int)o->request));
	if (!o->command && !o->has_selector) {
		if (!o->job)
			usage_error(state,
				    "nothing to watch: give -- CMD, or --job KIND:NAME, or another "
				    "of the options in 'cachemon watch --help'");
		if (selector_of_job(o->job, &o->request, &o->selector, &err))
			usage_error(state, "%s", err.text);
		o->has_selector = true;
	}
	if (o->own && o->socket)
		usage_error(state, "give either --own or --socket, not both");
	if (o->command && o->until_eof)
		usage_error(state, "give either -- CMD or --until-eof, not both");
	if (o->command && !*o->command[0])
		usage_error(state, "-- CMD: the command is empty");
}

/* What to count, how often, and at what cost. */
static error_t parse_counting(int key, const char *arg, struct argp_state *state)
{
	static const char *const advice[] = {"effects", "calls"};
	struct watch_options *o = state->input;
	double percent;
	size_t index;

	switch (key) {
	case OPT_LEVEL:
		o->level = (enum watch_level)usage_level(state, arg);
		o->level_given = true;
		break;
	case OPT_OVERHEAD:
		if (parse_percent(arg, &percent))
			usage_reject(state, "--max-overhead", arg,
				     "a percentage above 0, at most 100");
		o->max_overhead = percent / 100;
		o->overhead_given = true;
		break;
	case OPT_ADVICE:
		if (parse_enum(arg, advice, 2, &index))
			usage_reject(state, "--advice", arg, "calls or effects");
		o->advice_calls = index == 1;
		break;
	case OPT_INTERVAL:
		o->interval_ns = usage_interval(state, arg);
		break;
	case OPT_DURATION:
		if (parse_duration(arg, &o->duration_ns))
			usage_reject(state, "--duration", arg,
				     "a duration (" PARSE_DURATION_FORMS ")");
		break;
	case OPT_BLOCKS:
		o->block_entries = parse_entries(state, "--block-entries", arg);
		break;
	case OPT_ROWS:
		o->row_entries = parse_entries(state, "--row-entries", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool ends_in(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);

	return n > m && strcmp(text + n - m, ending) == 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct watch_options *o = state->input;
	enum report_format format;

	if (key >= OPT_SELECTOR && key < OPT_SELECTORS_END) {
		set_selector(state, o, key, arg);
		return 0;
	}
	switch (key) {
	case OPT_JOB:
		o->job = usage_value(state, "--job", arg);
		break;
	case OPT_DB:
		if (strcmp(arg, "-") == 0)
			usage_reject(state, "--db", arg, "the name of a database file");
		o->db = usage_value(state, "--db", arg);
		break;
	case OPT_REPORT:
		usage_value(state, "--report", arg);
		/* Standard output belongs to CMD; report -o - prints to it afterwards. */
		if (!strcmp(arg, "-") || report_format_of_path(arg, &format))
			usage_reject(state, "--report", arg,
				     "a file ending in .txt, .md, .html, .json, .csv or .yaml");
		o->report = arg;
		break;
	case OPT_METRICS:
		usage_value(state, "--metrics-file", arg);
		/* The collector reads no other, and no database is replaced by mistake. */
		if (!ends_in(arg, ".prom"))
			usage_reject(state, "--metrics-file", arg, "a file ending in .prom");
		o->metrics_file = arg;
		break;
	case OPT_LIVE:
		o->live = true;
		break;
	case OPT_UNTIL_EOF:
		o->until_eof = true;
		break;
	case OPT_OWN:
		o->own = true;
		break;
	case OPT_SOCKET:
		o->socket = usage_name(state, "--socket", arg);
		break;
	case OPT_RULES:
		o->rules = usage_value(state, "--rules", arg);
		break;
	case ARGP_KEY_ARG:
		/* Not after "--": a selector without its dashes, or a missing "--". */
		if (strcmp(state->argv[state->next - 2], "--"))
			usage_error(state, "unexpected '%s'; a command goes after '--'", arg);
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	case ARGP_KEY_END:
		check_options(state, o);
		break;
	default:
		return parse_counting(key, arg, state);
	}
	return 0;
}

/* The kernel verifies the probes first, which would leave the user waiting without a message. */
static int load_probes(const struct watch_options *o, struct watch_run **ret, struct errtext *err)
{
	bool live = watch_live_possible(stderr);
	struct watch_place place = {0};
	int status;

	if (live)
		watch_live_note(stderr, "loading the probes ...");
	status = watch_run_new(o, ret, err);
	if (live)
		watch_live_clear(stderr, &place);
	return status;
}

/* By programs of its own. */
static int watch_alone(const struct watch_options *o, int signal_fd)
{
	struct watch_run *run = NULL;
	struct errtext err = {"out of memory"};
	int status = load_probes(o, &run, &err);

	if (!status)
		status = watch_run_start(run, &err);
	if (status) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		/* The exit status, as in a shell: what kept CMD from running, else 125. */
		if (!o->command)
			status = EXIT_FAILED;
		else if (!run || !watch_run_command(run) ||
			 command_reap(watch_run_command(run), &status) || status < 126)
			status = COMMAND_FAILED;
		if (run)
			watch_run_abort(run, status);
	} else {
		status = watch_loop(o, run, signal_fd);
	}
	watch_run_free(run);
	return status;
}

int cmd_watch(int argc, char **argv)
{
	struct watch_options o = {.level = LEVEL_AUTO, .max_overhead = 0.01};
	struct errtext err;
	int signal_fd, status;

	usage_parse(&watch_spec, parse_option, argc, argv, ARGP_IN_ORDER, &o);
	if (o.live && !o.interval_ns)
		o.interval_ns = WATCH_COARSE_NS;
	if (o.live && watch_view_check(&o, &err)) {
		fprintf(stderr, "cachemon watch: %s\n", err.text);
		return EXIT_USAGE;
	}
	signal_fd = watch_signals_open();
	if (signal_fd < 0) {
		fprintf(stderr, "cachemon: cannot receive signals: %s\n", strerror(-signal_fd));
		return o.command ? COMMAND_FAILED : EXIT_FAILED;
	}
	if (watch_shared(&o, signal_fd, &status))
		return status;
	return watch_alone(&o, signal_fd);
}
