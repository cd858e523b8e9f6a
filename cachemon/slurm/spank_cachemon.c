/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slurm's plugin: announces each job of a node to the node's daemon and reports its end. With
 * --cachemon the job's output gets a line of figures, with --cachemon=report its directory a
 * report. Nothing here makes a job fail, and each hook waits for the daemon for a second at most.
 *
 * In the line of plugstack.conf: socket=PATH (of the daemon), program=PATH (cachemon).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Slurm finds these functions by their names; the others are hidden. */
#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>
// cppcheck-suppress unknownMacro
SPANK_PLUGIN(cachemon, 1)
#pragma GCC visibility pop

#include "cachemon/base/clock.h"
#include "cachemon/daemon/node_client.h"
#include "cachemon/daemon/node_totals.h"
#include "cachemon/slurm/user_report.h"

enum {
	WAIT_MS = 1000, /* of each hook */
	TRY_MS = 50,
};

#define SOCKET "/run/cachemon/socket"
#define REPORT "report"

/* Slurm passes "" or "(null)" on to a node for an option without a value. */
static int check_option(int val, const char *value, int remote)
{
	if (remote || !value || !*value || !strcmp(value, "(null)") || !strcmp(value, REPORT))
		return 0;
	slurm_error("--cachemon=%s: the only value is " REPORT, value);
	return -1;
}

static struct spank_option option = {
	"cachemon",
	"[" REPORT "]",
	"Print how well the page cache served the job; with =" REPORT
	", also write a report to its directory.",
	2, /* the value may be missing */
	0,
	check_option,
};

enum asked { ASKED_NOTHING, ASKED_LINE, ASKED_REPORT };

static enum asked asked_for(spank_t sp)
{
	char *value = NULL;

	if (spank_option_getopt(sp, &option, &value) != ESPANK_SUCCESS)
		return ASKED_NOTHING;
	return value && !strcmp(value, REPORT) ? ASKED_REPORT : ASKED_LINE;
}

/* The value of KEY=VALUE in the plugin's line. */
static const char *setting(int ac, char *av[], const char *key, const char *otherwise)
{
	size_t len = strlen(key);

	for (int i = 0; i < ac; i++)
		if (!strncmp(av[i], key, len) && av[i][len] == '=')
			return av[i] + len + 1;
	return otherwise;
}

/* A request of a hook, and when it must be answered. */
struct question {
	const char *socket;
	struct node_request request;
	uint64_t until_ns;
};

static int about_job(spank_t sp, int ac, char *av[], struct question *ret)
{
	uint32_t job;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return -ENODATA;
	*ret = (struct question){
		.socket = setting(ac, av, "socket", SOCKET),
		.request.uid = -1,
		.until_ns = clock_now_ns() + WAIT_MS * UINT64_C(1000000),
	};
	snprintf(ret->request.job, sizeof(ret->request.job), "slurm:%" PRIu32, job);
	return 0;
}

static int ask_daemon(struct question *q, enum node_verb verb, struct node_reply *ret,
		      struct errtext *err)
{
	uint64_t now_ns = clock_now_ns();
	char text[NODE_MESSAGE_MAX + 1];
	int e;

	q->request.verb = verb;
	if (now_ns >= q->until_ns)
		return errtext_set(err, -ETIMEDOUT, "no answer from the daemon in time");
	if (node_request_print(&q->request, text))
		return errtext_set(err, -ENOMEM, "out of memory");
	e = node_client_ask(q->socket, text, (unsigned int)((q->until_ns - now_ns) / 1000000), ret,
			    err);
	if (!e && ret->fd >= 0)
		close(ret->fd);
	return e;
}

/* A value that is too long for a name is left out. */
static void take_name(char to[NODE_NAME_MAX + 1], const char *value)
{
	if (value && strlen(value) <= NODE_NAME_MAX)
		strcpy(to, value);
}

/* The daemon said no: for example that the job is not watched. */
static bool is_refusal(int e)
{
	return e == -EREMOTEIO;
}

int slurm_spank_init(spank_t sp, int ac, char *av[])
{
	if (spank_context() == S_CTX_SLURMD)
		return ESPANK_SUCCESS;
	return spank_option_register(sp, &option);
}

/* Before the job has a cgroup. Its name is not known here. */
int slurm_spank_job_prolog(spank_t sp, int ac, char *av[])
{
	struct node_reply reply;
	struct question q;
	struct errtext err;
	uid_t uid;

	if (about_job(sp, ac, av, &q))
		return ESPANK_SUCCESS;
	if (spank_get_item(sp, S_JOB_UID, &uid) == ESPANK_SUCCESS)
		q.request.uid = uid;
	take_name(q.request.partition, getenv("SLURM_JOB_PARTITION"));
	if (ask_daemon(&q, NODE_BEGIN, &reply, &err))
		slurm_error("cachemon: %s is not announced: %s", q.request.job, err.text);
	return ESPANK_SUCCESS;
}

static bool is_batch(uint32_t step)
{
	return step == SLURM_BATCH_SCRIPT;
}

/* Steps of a batch job may have other names than the job; their environment is that of the job. */
static bool has_name_of_job(spank_t sp, uint32_t step)
{
	char value[16];

	return is_batch(step) || (!step && spank_getenv(sp, "ENVIRONMENT", value, sizeof(value)) ==
						   ESPANK_ENV_NOEXIST);
}

/* On the node, before the tasks of a step but after the job's cgroup: once the daemon has answered,
 * it counts this job. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char *av[])
{
	char name[NODE_NAME_MAX + 1];
	struct node_reply reply;
	struct question q;
	struct errtext err;
	uint32_t step;
	int e;

	if (spank_remote(sp) != 1 || about_job(sp, ac, av, &q) ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return ESPANK_SUCCESS;
	if (has_name_of_job(sp, step) &&
	    spank_getenv(sp, "SLURM_JOB_NAME", name, sizeof(name)) == ESPANK_SUCCESS)
		take_name(q.request.name, name);
	e = ask_daemon(&q, NODE_BEGIN, &reply, &err);
	/* Refused: its run has begun, by another step. */
	if (e && !is_refusal(e))
		slurm_debug("cachemon: a step of %s is not announced: %s", q.request.job, err.text);
	return ESPANK_SUCCESS;
}

/* Until the run has ended, or for as long as this hook may wait. */
static int ask_totals(struct question *q, char line[NODE_TOTALS_LINE], struct errtext *err)
{
	const struct timespec pause = {.tv_nsec = TRY_MS * 1000000L};
	struct node_reply reply;
	bool ended = false;
	int e = ask_daemon(q, NODE_END, &reply, err);

	if (e && !is_refusal(e))
		return e;
	e = ask_daemon(q, NODE_TOTALS, &reply, err);
	while (!e || is_refusal(e)) {
		if (!e && node_totals_line(reply.text, line, &ended))
			return errtext_set(err, -EBADMSG, "the daemon's answer has no figures");
		if (ended)
			return 0;
		nanosleep(&pause, NULL);
		if (clock_now_ns() + TRY_MS * UINT64_C(1000000) > q->until_ns)
			return e;
		e = ask_daemon(q, NODE_TOTALS, &reply, err);
	}
	return e;
}

/* The end of the batch script is that of the job. Slurm's messages go to the job's output while a
 * task's end is handled, not later. */
int slurm_spank_task_exit(spank_t sp, int ac, char *av[])
{
	char line[NODE_TOTALS_LINE];
	struct question q;
	struct errtext err;
	uint32_t step;

	if (spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS || !is_batch(step) ||
	    !asked_for(sp) || about_job(sp, ac, av, &q))
		return ESPANK_SUCCESS;
	if (ask_totals(&q, line, &err))
		slurm_spank_log("cachemon: no figures: %s", err.text);
	else
		slurm_spank_log("cachemon: %s", line);
	return ESPANK_SUCCESS;
}

static void start_report(spank_t sp, int ac, char *av[], const char *socket)
{
	struct user_report r = {
		.program = setting(ac, av, "program", CACHEMON_PROGRAM),
		.socket = socket,
		.directory = getenv("SLURM_JOB_WORK_DIR"),
		.node = getenv("SLURMD_NODENAME"),
		.complain = slurm_error,
	};
	int e;

	if (!r.directory || !r.node || spank_get_item(sp, S_JOB_ID, &r.job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &r.uid) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_GID, &r.gid) != ESPANK_SUCCESS) {
		slurm_error("cachemon: no report: Slurm does not say the job's directory, node, "
			    "user and group");
		return;
	}
	e = user_report_start(&r);
	if (e)
		slurm_error("cachemon: no report of job %" PRIu32 ": %s", r.job, strerror(-e));
}

int slurm_spank_job_epilog(spank_t sp, int ac, char *av[])
{
	struct node_reply reply;
	struct question q;
	struct errtext err;
	int e;

	if (about_job(sp, ac, av, &q))
		return ESPANK_SUCCESS;
	e = ask_daemon(&q, NODE_END, &reply, &err);
	/* The prolog has complained about a daemon that is not there. */
	if (e && !is_refusal(e))
		slurm_debug("cachemon: the end of %s is not reported: %s", q.request.job, err.text);
	else if (asked_for(sp) == ASKED_REPORT)
		start_report(sp, ac, av, q.socket);
	return ESPANK_SUCCESS;
}
