/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slurm's plugin: announces each job of a node to the node's daemon and reports its end. With
 * --cachemon the job's output gets a line of figures, with --cachemon=report its directory a
 * report. Nothing here makes a job fail, and each hook waits for the daemon for a limited time.
 *
 * In the line of plugstack.conf: socket=PATH (of the daemon), program=PATH (cachemon),
 * wait=SECONDS (of each hook).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Slurm finds these functions by their names; the others are hidden. */
#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>
// cppcheck-suppress unknownMacro
SPANK_PLUGIN(cachemon, 1)
#pragma GCC visibility pop

#include "cachemon/daemon/node_hook.h"
#include "cachemon/slurm/user_report.h"

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

/* wait=SECONDS, from 1 to 10. */
static unsigned int wait_ms(int ac, char *av[])
{
	long seconds = strtol(setting(ac, av, "wait", "1"), NULL, 10);

	return seconds >= 1 && seconds <= 10 ? (unsigned int)seconds * 1000 : NODE_HOOK_WAIT_MS;
}

static int about_job(spank_t sp, int ac, char *av[], struct node_hook *ret)
{
	char name[32];
	uint32_t job;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return -ENODATA;
	snprintf(name, sizeof(name), "slurm:%" PRIu32, job);
	return node_hook_init(ret, setting(ac, av, "socket", NODE_SOCKET), name, wait_ms(ac, av));
}

/* A value that is too long for a name is left out. */
static void take_name(char to[NODE_NAME_MAX + 1], const char *value)
{
	if (value && strlen(value) <= NODE_NAME_MAX)
		strcpy(to, value);
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
	struct node_hook h;
	struct errtext err;
	uid_t uid;

	if (about_job(sp, ac, av, &h))
		return ESPANK_SUCCESS;
	if (spank_get_item(sp, S_JOB_UID, &uid) == ESPANK_SUCCESS)
		h.request.uid = uid;
	take_name(h.request.partition, getenv("SLURM_JOB_PARTITION"));
	if (node_hook_ask(&h, NODE_BEGIN, NULL, &err))
		slurm_error("cachemon: %s is not announced: %s", h.request.job, err.text);
	return ESPANK_SUCCESS;
}

static bool is_batch(uint32_t step)
{
	return step == SLURM_BATCH_SCRIPT;
}

static bool has_variable(spank_t sp, const char *name)
{
	char value[16];

	return spank_getenv(sp, name, value, sizeof(value)) != ESPANK_ENV_NOEXIST;
}

/* Its steps have the environment of its script. */
static bool is_in_batch_job(spank_t sp)
{
	return has_variable(sp, "ENVIRONMENT");
}

/* Steps of a batch job may have other names than the job. */
static bool has_name_of_job(spank_t sp, uint32_t step)
{
	return is_batch(step) || (!step && !is_in_batch_job(sp));
}

/* On the node, before the tasks of a step but after the job's cgroup: once the daemon has answered,
 * it counts this job. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char *av[])
{
	char name[NODE_NAME_MAX + 1];
	struct node_hook h;
	struct errtext err;
	uint32_t step;
	int e;

	if (spank_remote(sp) != 1 || about_job(sp, ac, av, &h) ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return ESPANK_SUCCESS;
	if (has_name_of_job(sp, step) &&
	    spank_getenv(sp, "SLURM_JOB_NAME", name, sizeof(name)) == ESPANK_SUCCESS)
		take_name(h.request.name, name);
	e = node_hook_ask(&h, NODE_BEGIN, NULL, &err);
	/* Refused: its run has begun, by another step. */
	if (e && !node_hook_refused(e))
		slurm_debug("cachemon: a step of %s is not announced: %s", h.request.job, err.text);
	return ESPANK_SUCCESS;
}

/* Steps inherit the option from the batch script, whose line has their figures. Slurm keeps the
 * options of sbatch in such a variable. */
static bool is_in_batch_line(spank_t sp)
{
	return is_in_batch_job(sp) &&
	       has_variable(sp, "SLURM_SPANK__SLURM_SPANK_OPTION_cachemon_cachemon");
}

/* Whether no task of the step is left on this node. */
static bool is_last_task(spank_t sp)
{
	/* A slurmstepd has the tasks of one step, and Slurm has no place for this number. */
	static uint32_t ended;
	uint32_t tasks;

	return spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks) == ESPANK_SUCCESS &&
	       ++ended == tasks;
}

/* "NODE: " in the output of a step that has several. */
static const char *node_prefix(spank_t sp, char *space, size_t size)
{
	uint32_t nodes;

	if (spank_get_item(sp, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS || nodes < 2 ||
	    spank_getenv(sp, "SLURMD_NODENAME", space, (int)size - 2) != ESPANK_SUCCESS)
		return "";
	return strcat(space, ": ");
}

/* Slurm's messages go to the output of the script or step while the end of a task is handled, not
 * later. The end of the batch script is that of the job; after a step the job goes on. */
int slurm_spank_task_exit(spank_t sp, int ac, char *av[])
{
	struct node_totals totals;
	struct node_hook h;
	struct errtext err;
	char space[128];
	const char *node, *until = "";
	uint32_t step;
	bool all;

	if (!is_last_task(sp) || spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
	    !asked_for(sp) || (!is_batch(step) && is_in_batch_line(sp)) ||
	    about_job(sp, ac, av, &h))
		return ESPANK_SUCCESS;
	node = is_batch(step) ? "" : node_prefix(sp, space, sizeof(space));
	if (node_hook_totals(&h, is_batch(step) ? NODE_END : NODE_SAMPLE, &totals, &all, &err)) {
		slurm_spank_log("cachemon: %sno figures: %s", node, err.text);
		return ESPANK_SUCCESS;
	}
	if (!all)
		until = " (until shortly before its end)";
	else if (!is_batch(step))
		until = " (the job so far)";
	slurm_spank_log("cachemon: %s%s%s", node, totals.line, until);
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
	struct node_hook h;
	struct errtext err;
	int e;

	if (about_job(sp, ac, av, &h))
		return ESPANK_SUCCESS;
	e = node_hook_ask(&h, NODE_END, NULL, &err);
	/* The prolog has complained about a daemon that is not there. */
	if (e && !node_hook_refused(e))
		slurm_debug("cachemon: the end of %s is not reported: %s", h.request.job, err.text);
	else if (asked_for(sp) == ASKED_REPORT)
		start_report(sp, ac, av, h.socket);
	return ESPANK_SUCCESS;
}
