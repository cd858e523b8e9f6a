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
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/daemon/node_client.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/daemon/node_rows.h"
#include "cachemon/figures/show.h"
#include "cachemon/render/doc.h"

enum { OPT_SOCKET = 256, OPT_JSON };

struct options {
	const char *job, *out, *socket;
	bool json;
};

static void check_options(const struct options *o, struct argp_state *state)
{
	if (o->job && !strchr(o->job, ':'))
		usage_reject(state, "JOB", o->job, "KIND:NAME, as 'cachemon jobs' lists it");
	if (o->job && !o->out)
		usage_error(state, "give -o FILE for the rows of %s", o->job);
	if (!o->job && o->out)
		usage_error(state, "-o needs a job, KIND:NAME");
	if (o->job && o->json)
		usage_error(state, "--json lists jobs: omit it with -o");
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
	OPTION("json", OPT_JSON, NULL, VALUE_NONE, "Print the list as JSON"),
	OPTION("output", 'o', "FILE", VALUE_FILE,
	       "Write the rows of the job to FILE, a new database, completely or not at all"),
	OPTION("socket", OPT_SOCKET, "PATH", VALUE_FILE,
	       "Socket of the daemon (default: /run/cachemon/socket)"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon jobs", "List your jobs on this node"},
	{"cachemon jobs slurm:4711 -o job.db", "Fetch the rows of a job, also while it runs"},
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
		 "--replay.\n\nSTATE is running, complete, or cut if the daemon was killed.",
	.run = cmd_jobs,
};

static int ask(const struct options *o, const char *request, struct node_reply *ret,
	       struct errtext *err)
{
	struct node_config config;
	int r = node_config_parse("", "", 0, &config, err);

	if (!r)
		r = node_client_ask(o->socket ?: config.socket.path, request, NODE_CLIENT_WAIT_MS,
				    ret, err);
	node_config_free(&config);
	return r;
}

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
	int r = ask(o, "{\"request\":\"jobs\"}", &reply, err);

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

static int ask_snapshot(const struct options *o, struct node_reply *ret, struct errtext *err)
{
	struct node_request request = {.verb = NODE_SNAPSHOT, .uid = -1};
	char text[NODE_MESSAGE_MAX + 1];

	if (strlen(o->job) > NODE_NAME_MAX)
		return errtext_set(err, -ENAMETOOLONG, "the name of the job is too long");
	strcpy(request.job, o->job);
	if (node_request_print(&request, text))
		return errtext_set(err, -ENOMEM, "out of memory");
	return ask(o, text, ret, err);
}

static int write_rows(const struct node_rows *rows, const char *path, struct errtext *err)
{
	struct output out;
	int r = publish_open(path, &out, err);

	if (r)
		return r;
	fwrite(rows->map, 1, rows->bytes, out.out);
	return publish_commit_new(&out, err);
}

static int fetch_job(const struct options *o, struct errtext *err)
{
	struct node_rows rows;
	struct node_reply reply;
	int r = ask_snapshot(o, &reply, err);

	if (!r && reply.fd < 0)
		r = errtext_set(err, -EBADMSG, "the daemon's answer has no rows");
	if (!r)
		r = node_rows_open(reply.fd, &rows, err);
	if (r)
		return r;
	r = write_rows(&rows, o->out, err);
	node_rows_close(&rows);
	return r;
}

int cmd_jobs(int argc, char **argv)
{
	struct options o = {.job = NULL};
	struct errtext err;
	int r;

	usage_parse(&jobs_spec, parse_option, argc, argv, 0, &o);
	r = o.job ? fetch_job(&o, &err) : list_jobs(&o, &err);
	if (r)
		cmd_say(err.text);
	return r ? EXIT_FAILED : EXIT_DONE;
}
