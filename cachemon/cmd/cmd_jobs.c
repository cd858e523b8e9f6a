/* SPDX-License-Identifier: BSD-2-Clause */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/access/publish.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/parse.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/node_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/daemon/node_hook.h"
#include "cachemon/figures/show.h"
#include "cachemon/render/doc.h"

enum { OPT_SOCKET = 256, OPT_JSON, OPT_BEGIN, OPT_END, OPT_UID, OPT_NAME, OPT_PARTITION, OPT_WAIT };

struct options {
	const char *job, *out, *socket, *name, *partition;
	bool json, begin, end, has_uid, wait;
	uint64_t uid;
};

static void check_job(const struct options *o, struct argp_state *state)
{
	if (!strchr(o->job, ':') || strlen(o->job) > NODE_NAME_MAX)
		usage_reject(state, "JOB", o->job, "KIND:NAME, as 'cachemon jobs' lists it");
	if (!o->out && !o->begin && !o->end)
		usage_error(state, "give -o FILE for the rows of %s", o->job);
	if (o->json)
		usage_error(state, "--json lists jobs: omit it for a job");
}

static void check_options(const struct options *o, struct argp_state *state)
{
	if (!o->job && (o->out || o->begin || o->end))
		usage_error(state, "%s needs a job, KIND:NAME",
			    o->out     ? "-o"
			    : o->begin ? "--begin"
				       : "--end");
	if (o->begin + o->end + !!o->out > 1)
		usage_error(state, "give one of -o, --begin and --end");
	if (o->wait && !o->out)
		usage_error(state, "--wait needs -o FILE");
	if (!o->begin && (o->has_uid || o->name || o->partition))
		usage_error(state, "--uid, --name and --partition describe a job that begins: give "
				   "--begin");
	if (o->job)
		check_job(o, state);
}

static const char *begun_name(const struct argp_state *state, const char *option, char *arg)
{
	if (strlen(usage_name(state, option, arg)) > NODE_NAME_MAX)
		usage_reject(state, option, arg, "a name of at most 255 bytes");
	return arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_SOCKET:
		o->socket = usage_name(state, "--socket", arg);
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_BEGIN:
		o->begin = true;
		return 0;
	case OPT_END:
		o->end = true;
		return 0;
	case OPT_WAIT:
		o->wait = true;
		return 0;
	case OPT_UID:
		o->has_uid = true;
		if (parse_u64(arg, &o->uid) || o->uid >= UINT32_MAX)
			usage_reject(state, "--uid", arg, "the number of a user");
		return 0;
	case OPT_NAME:
		o->name = begun_name(state, "--name", arg);
		return 0;
	case OPT_PARTITION:
		o->partition = begun_name(state, "--partition", arg);
		return 0;
	case 'o':
		o->out = usage_name(state, "-o", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->job)
			usage_error(state, "give one job");
		o->job = usage_name(state, "JOB", arg);
		return 0;
	case ARGP_KEY_END:
		check_options(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct option_spec options[] = {
	OPTION("begin", OPT_BEGIN, NULL, VALUE_NONE,
	       "Announce the job, before or after it has a cgroup (root)"),
	OPTION("end", OPT_END, NULL, VALUE_NONE,
	       "End the run of the job, and print its figures in a line (root)"),
	OPTION("json", OPT_JSON, NULL, VALUE_NONE, "Print the list as JSON"),
	OPTION("name", OPT_NAME, "TEXT", VALUE_TEXT, "With --begin: the name of the job"),
	OPTION("output", 'o', "FILE", VALUE_FILE,
	       "Write the rows of the job to FILE, a new database, completely or not at all"),
	OPTION("partition", OPT_PARTITION, "TEXT", VALUE_TEXT,
	       "With --begin: the partition of the job"),
	OPTION("socket", OPT_SOCKET, "PATH", VALUE_FILE,
	       "Socket of the daemon (default: " NODE_SOCKET ")"),
	OPTION("uid", OPT_UID, "N", VALUE_TEXT, "With --begin: the number of the job's user"),
	OPTION("wait", OPT_WAIT, NULL, VALUE_NONE,
	       "With -o: wait until the job has ended, and fetch all its rows"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon jobs", "List your jobs on this node"},
	{"cachemon jobs slurm:4711 -o job.db", "Fetch the rows of a job, also while it runs"},
	{"cachemon jobs slurm:4711 --begin --uid 1000", "In a prolog: say whose job it is"},
	{0},
};

const struct verb_spec jobs_spec = {
	.name = "jobs",
	.help = "list your jobs on a node with a daemon, and fetch their rows",
	.operands = "[KIND:NAME]",
	.operand = VALUE_TEXT,
	.examples = examples,
	.options = options,
	.notes = "It asks the daemon of the node (cachemon daemon --config) and needs no "
		 "privileges. You see your own jobs: those that run first, then those that have "
		 "ended, the newest first. Root and the members of the group in the daemon's "
		 "settings see all jobs.\n\nA job that runs has the rows of its intervals so far. "
		 "FILE must not exist; report, advise and compare open it with --db, and top with "
		 "--replay. report and advise also show a job without a file: --job "
		 "KIND:NAME.\n\n--begin and --end are for hooks of a workload manager, which jobs "
		 "wait for: they need root, and wait for the daemon for a second at most. What "
		 "--begin says replaces what the daemon finds itself.\n\nSTATE is running, "
		 "complete, or cut if the daemon was killed.",
	.run = cmd_jobs,
};

static const cJSON *item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *job, const char *key)
{
	return cJSON_GetStringValue(item(job, key)) ?: "-";
}

/* 0 if it is not a number of nanoseconds or of a run. */
static int64_t number_of(const cJSON *job, const char *key)
{
	double v = cJSON_GetNumberValue(item(job, key));

	return v > 0 && v < 9e18 ? (int64_t)v : 0;
}

static void add_row(struct doc_table *t, const cJSON *job)
{
	doc_cell(t, "%s", text_of(job, "job"));
	doc_cell(t, "%s", text_of(job, "name"));
	doc_cell(t, "%s", text_of(job, "user"));
	doc_cell_shown(t, show_local(number_of(job, "started_ns")));
	doc_cell(t, "%s", text_of(job, "state"));
	doc_cell(t, "%" PRId64, number_of(job, "run"));
}

static int print_table(const cJSON *reply)
{
	static const struct doc_column columns[] = {
		{"JOB", DOC_LEFT},   {"NAME", DOC_LEFT},  {"USER", DOC_LEFT},
		{"SINCE", DOC_LEFT}, {"STATE", DOC_LEFT}, {"RUN", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const cJSON *jobs = item(reply, "jobs"), *job;
	int64_t more = number_of(reply, "more");
	struct doc d = doc_screen(stdout);

	doc_begin(&d, "%d job%s on this node", cJSON_GetArraySize(jobs),
		  &"s"[cJSON_GetArraySize(jobs) == 1]);
	cJSON_ArrayForEach(job, jobs)
	{
		add_row(&t, job);
	}
	doc_put_table(&d, &t);
	if (more)
		doc_para(&d, "%" PRId64 " older job%s not listed.", more,
			 more == 1 ? " is" : "s are");
	return doc_end(&d);
}

static int list_jobs(const struct options *o, struct errtext *err)
{
	struct node_reply reply;
	cJSON *root;
	int r = node_client_ask(o->socket, "{\"request\":\"jobs\"}", NODE_CLIENT_WAIT_MS, &reply,
				err);

	if (r)
		return r;
	if (reply.fd >= 0)
		close(reply.fd);
	if (o->json) {
		escape_inert(stdout, reply.text, strlen(reply.text));
		putchar('\n');
		return 0;
	}
	root = cJSON_Parse(reply.text);
	r = print_table(root);
	cJSON_Delete(root);
	return r ? errtext_set(err, r, "cannot print the jobs: %s", strerror(-r)) : 0;
}

static int write_rows(const struct db_image *rows, const char *path, struct errtext *err)
{
	struct output out;
	int r = publish_open(path, &out, err);

	if (r)
		return r;
	fwrite(rows->map, 1, rows->bytes, out.out);
	return publish_commit_new(&out, err);
}

static int wait_end(const struct options *o, struct errtext *err)
{
	struct node_totals totals = {.ended = false};
	struct node_reply reply;
	struct node_hook hook;

	for (;;) {
		int r;

		node_hook_init(&hook, o->socket, o->job, NODE_CLIENT_WAIT_MS);
		r = node_hook_ask(&hook, NODE_TOTALS, &reply, err);
		if (!r && node_totals_parse(reply.text, &totals))
			r = errtext_set(err, -EBADMSG, "the daemon's answer has no state");
		if (r || totals.ended)
			return r;
		sleep(1);
	}
}

static int fetch_job(const struct options *o, struct errtext *err)
{
	struct db_image rows;
	int r = o->wait ? wait_end(o, err) : 0;

	if (!r)
		r = node_args_rows(o->socket, o->job, &rows, err);
	if (r)
		return r;
	r = write_rows(&rows, o->out, err);
	node_client_unmap(&rows);
	return r;
}

static int begin_job(const struct options *o, struct node_hook *h, struct errtext *err)
{
	if (o->has_uid)
		h->request.uid = (int64_t)o->uid;
	strcpy(h->request.name, o->name ?: "");
	strcpy(h->request.partition, o->partition ?: "");
	return node_hook_ask(h, NODE_BEGIN, NULL, err);
}

static int end_job(struct node_hook *h, struct errtext *err)
{
	struct node_totals totals;
	bool all;
	int r = node_hook_totals(h, NODE_END, &totals, &all, err);

	if (!r && !all)
		r = errtext_set(err, -ETIMEDOUT, "the run of %s has not ended in time",
				h->request.job);
	if (!r)
		puts(totals.line);
	return r;
}

static int work(const struct options *o, struct errtext *err)
{
	struct node_hook hook;

	if (!o->job)
		return list_jobs(o, err);
	if (o->out)
		return fetch_job(o, err);
	node_hook_init(&hook, o->socket, o->job, NODE_HOOK_WAIT_MS);
	return o->begin ? begin_job(o, &hook, err) : end_job(&hook, err);
}

int cmd_jobs(int argc, char **argv)
{
	struct options o = {.socket = NODE_SOCKET};
	struct errtext err;
	int r;

	usage_parse(&jobs_spec, parse_option, argc, argv, 0, &o);
	r = work(&o, &err);
	if (r)
		cmd_say(err.text);
	return r ? EXIT_FAILED : EXIT_DONE;
}
