/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/daemon/follow.h"
#include "cachemon/daemon/node.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/daemon/node_desk.h"
#include "cachemon/daemon/node_metrics.h"
#include "cachemon/daemon/reload.h"
#include "cachemon/base/service.h"
#include "cachemon/job/selector.h"

/* How often the loop checks for removed cgroups, and for rows that get full. */
#define LOOK_NS 1000000000ULL

enum {
	OPT_CONFIG = 256,
	OPT_DB,
	OPT_JOB,
	OPT_INTERVAL,
	OPT_VFS,
};

struct options {
	const char *config, *db;
	const char *jobs[NODE_JOBS_MAX];
	unsigned int nr_jobs;
	uint64_t interval_ns;
	bool vfs_given;
	enum node_vfs vfs;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	enum selector_request request;
	struct errtext err;
	const char *name;

	switch (key) {
	case OPT_CONFIG:
		o->config = usage_value(state, "--config", arg);
		return 0;
	case OPT_DB:
		o->db = usage_value(state, "--db", arg);
		return 0;
	case OPT_JOB:
		usage_value(state, "--job", arg);
		if (selector_of_job(arg, &request, &name, &err))
			usage_error(state, "%s", err.text);
		if (request == SELECTOR_NAME || request == SELECTOR_PID)
			usage_reject(state, "--job", arg,
				     "a cgroup: slurm:ID, unit:NAME, container:NAME, pod:NS/NAME, "
				     "vm:NAME or cgroup:PATH");
		if (o->nr_jobs == NODE_JOBS_MAX)
			usage_error(state, "--job: at most %d jobs can be watched at once",
				    NODE_JOBS_MAX);
		o->jobs[o->nr_jobs++] = arg;
		return 0;
	case OPT_INTERVAL:
		o->interval_ns = usage_interval(state, arg);
		return 0;
	case OPT_VFS:
		if (node_vfs_parse(arg, &o->vfs))
			usage_reject(state, "--vfs", arg, "none, functions or calls");
		o->vfs_given = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct option_spec options[] = {
	OPTION("config", OPT_CONFIG, "FILE", VALUE_FILE, "Settings of the node, in YAML"),
	OPTION("db", OPT_DB, "FILE", VALUE_FILE, "Database, instead of the one in the settings"),
	OPTION("job", OPT_JOB, "NAME", VALUE_JOB,
	       "Watch only this job; repeat it for more: slurm:ID, unit:NAME, container:NAME|ID, "
	       "pod:NS/NAME, vm:NAME or cgroup:PATH"),
	OPTION("interval", OPT_INTERVAL, "DUR", VALUE_DURATION,
	       "Length of an interval, 100ms to 1h, instead of the one in the settings"),
	OPTION("vfs", OPT_VFS, "none|functions|calls", VALUE_CHOICE,
	       "How calls of files and directories are counted for the metrics, instead of "
	       "metrics.vfs in the settings"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon daemon --config /etc/cachemon/node.yaml",
	 "Watch all jobs of this machine that the settings select"},
	{"cachemon daemon --job unit:nginx --job unit:postgresql",
	 "Watch two services at once, until a signal ends it"},
	{0},
};

const struct verb_spec daemon_spec = {
	.name = "daemon",
	.help = "watch many jobs of this machine at once, in the foreground",
	.operand = VALUE_NONE,
	.examples = examples,
	.options = options,
	.notes = "Without --job it finds the jobs of Slurm, of container runtimes, Kubernetes and "
		 "libvirt by their cgroups, as soon as these are made; the settings select among "
		 "them.\n\nThe database has a run for each job, so report, top, compare and runs "
		 "work as after 'cachemon watch'. Each job is counted at level full, whatever that "
		 "costs; "
		 "references, traces and the processes that evict are not recorded. It needs Linux "
		 "6.2 or later.\n\nA job's run ends when its cgroup is gone. SIGTERM and SIGINT "
		 "end all runs and the daemon. If it is killed, each run has all intervals that "
		 "were written.\n\nWith --config the users of the node can ask for their own jobs: "
		 "see 'cachemon jobs'. SIGHUP then reads the file again.",
	.run = cmd_daemon,
	.measures = true,
};

static void complain(void *context, const char *job, const char *text)
{
	struct errtext line;

	(void)context;
	errtext_set(&line, 0, "%s: %s", job, text);
	cmd_say(line.text);
}

static int resolve(const char *job, struct selector *ret, struct errtext *err)
{
	struct selector_places places = {.proc_root = "/proc"};
	enum selector_request request;
	struct mountinfo mounts;
	const char *name;
	int r;

	errtext_set(err, -ENOMEM, "out of memory");
	r = selector_of_job(job, &request, &name, err);
	if (r)
		return r;
	r = mountinfo_read("/proc/self/mountinfo", &mounts);
	if (r)
		return errtext_set(err, r, "cannot read /proc/self/mountinfo: %s", strerror(-r));
	places.mounts = &mounts;
	r = selector_resolve(&places, request, name, ret, err);
	mountinfo_free(&mounts);
	if (r || ret->kind == SELECTED_CGROUP)
		return r;
	selector_free(ret);
	*ret = (struct selector){.cgroup.fd = -1};
	return errtext_set(err, -ENOENT, "%s has processes, but no cgroup: use cachemon watch",
			   job);
}

static bool is_twice(const struct selector *selectors, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++)
		if (selectors[k].cgroup.kind == selectors[i].cgroup.kind &&
		    selectors[k].cgroup.id == selectors[i].cgroup.id)
			return true;
	return false;
}

/* All names are looked up before anything is loaded. */
static int resolve_all(const struct options *o, struct selector *selectors, struct errtext *err)
{
	for (unsigned int i = 0; i < o->nr_jobs; i++) {
		int r = resolve(o->jobs[i], &selectors[i], err);

		if (r)
			return r;
		if (is_twice(selectors, i))
			return errtext_set(err, -EEXIST, "--job %s: its cgroup was given before",
					   o->jobs[i]);
	}
	return 0;
}

static int begin_each(const struct options *o, struct node *node, struct selector *selectors,
		      const struct mountinfo *mounts, struct errtext *err)
{
	for (unsigned int i = 0; i < o->nr_jobs; i++) {
		struct cgroup_ref cgroup = selectors[i].cgroup;
		struct errtext text;
		uint32_t id;
		int r;

		errtext_set(&text, 0, "watching %s", selectors[i].text);
		cmd_say(text.text);
		r = node_job_begin(node, &selectors[i], &cgroup, 1, mounts, &id, err);
		if (r)
			return r;
	}
	return 0;
}

static int begin_all(const struct options *o, struct node *node, struct selector *selectors,
		     struct errtext *err)
{
	struct mountinfo mounts;
	int r = mountinfo_read("/proc/self/mountinfo", &mounts);

	if (r)
		return errtext_set(err, r, "cannot read /proc/self/mountinfo: %s", strerror(-r));
	r = begin_each(o, node, selectors, &mounts, err);
	mountinfo_free(&mounts);
	return r;
}

/* Whether jobs are left. */
static bool end_gone(struct node *node)
{
	struct node_job job;
	bool left = false;

	for (size_t i = 0; node_job(node, i, &job); i++) {
		if (node_job_gone(node, job.id))
			node_job_end(node, job.id);
		else
			left = true;
	}
	return left;
}

/* The loop waits for these and for the time. */
struct waits {
	int signal_fd;
	struct follow *follow;	/* NULL: only the jobs that were named are watched */
	struct node_desk *desk; /* NULL: nobody may ask */
	struct service service;
	struct reload reload; /* .file NULL: there are no settings to read again */
};

static bool say_failed(bool *said, int r, const struct errtext *err)
{
	if (r && !*said)
		cmd_say(err->text);
	*said = r;
	return r;
}

static void read_settings(struct waits *w)
{
	struct errtext text;

	service_reloading(&w->service);
	reload_read(&w->reload, &text);
	cmd_say(text.text);
	service_ready(&w->service, &text);
}

/* Whether the signal that has arrived ends the daemon. */
static bool take_signal(struct waits *w)
{
	struct signalfd_siginfo signal;

	if (read(w->signal_fd, &signal, sizeof(signal)) != sizeof(signal))
		return false;
	if (signal.ssi_signo != SIGHUP || !w->reload.file)
		return true;
	read_settings(w);
	return false;
}

static size_t count_jobs(const struct node *node)
{
	struct node_job job;
	size_t nr = 0;

	while (node_job(node, nr, &job))
		nr++;
	return nr;
}

/* Answers, reports, and returns when to do so again. */
static uint64_t serve(struct node *node, struct waits *w)
{
	uint64_t desk_ns = w->desk ? node_desk_work(w->desk) : UINT64_MAX,
		 service_ns = service_alive(&w->service, count_jobs(node), clock_now_ns());

	return desk_ns < service_ns ? desk_ns : service_ns;
}

/* Until a signal, or until no named job is left. Returns whether the last interval was written. */
static bool loop(struct node *node, struct waits *w)
{
	struct pollfd p[] = {{.fd = w->signal_fd, .events = POLLIN},
			     {.fd = w->follow ? follow_fd(w->follow) : -1, .events = POLLIN},
			     {.fd = w->desk ? node_desk_fd(w->desk) : -1, .events = POLLIN}};
	uint64_t next_ns = clock_now_ns() + node_interval_ns(node), look_ns = 0, serve_ns = 0,
		 time_ns = 0;
	bool left = true, failed = false;
	struct errtext err;

	while (left) {
		uint64_t now = clock_now_ns(), until = next_ns < look_ns ? next_ns : look_ns, due;

		if (serve_ns < until)
			until = serve_ns;
		if (time_ns < until)
			until = time_ns;
		if (node_due(node) < until)
			until = node_due(node);
		if (poll(p, 3, now < until ? (int)((until - now) / 1000000) + 1 : 0) > 0 &&
		    p[0].revents && take_signal(w))
			break;
		/* All cgroups that were made before a client asked are watched before it is
		 * answered. */
		due = w->follow ? follow_work(w->follow) : UINT64_MAX;
		serve_ns = serve(node, w);
		time_ns = node_look(node);
		left = w->follow || end_gone(node);
		now = clock_now_ns();
		look_ns = due < now + LOOK_NS ? due : now + LOOK_NS;
		if (now < next_ns && left && !node_pressed(node) && now < node_due(node))
			continue;
		say_failed(&failed, node_sample(node, &err), &err);
		serve_ns = 0; /* rows may be complete for whom they wait */
		if (now < next_ns)
			continue;
		next_ns += node_interval_ns(node);
		if (next_ns < now)
			next_ns = now + node_interval_ns(node);
	}
	return !failed;
}

/* When it is ready, it watches the jobs that are there. */
static bool run(struct node *node, struct waits *w)
{
	struct errtext err;
	bool written;

	if (w->follow)
		follow_work(w->follow);
	/* Its manager will end it. */
	if (service_ready(&w->service, &err))
		cmd_say(err.text);
	written = loop(node, w);
	service_stopping(&w->service);
	return written;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The programs, each job and each connection need descriptors: about 800. The shell that starts the
 * daemon may have a lower limit, at which clients would keep it busy with connections that it
 * cannot take. */
static void allow_files(void)
{
	const rlim_t enough = 1024;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= enough)
		return;
	limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_waits(const struct options *o, const struct node_config *config, struct node *node,
		      const char *db, struct waits *w, struct errtext *err)
{
	int r = o->nr_jobs ? 0 : follow_new(node, config, cmd_say, &w->follow, err);

	if (!r && o->config)
		r = node_desk_new(node, db, config, &w->desk, err);
	w->reload = (struct reload){.file = o->config,
				    .started = config,
				    .node = node,
				    .follow = w->follow,
				    .desk = w->desk};
	return r;
}

static void close_waits(struct waits *w)
{
	node_desk_free(w->desk);
	follow_free(w->follow);
	reload_free(&w->reload);
	service_close(&w->service);
}

static int watch_node(const struct options *o, const struct node_config *config,
		      struct selector *selectors)
{
	struct node_options node_options = {.db = o->db ?: config->database,
					    .jobs = NODE_JOBS_MAX,
					    .births = !o->nr_jobs,
					    .trees = o->config,
					    .interval_ns = o->interval_ns ?: config->interval_ns,
					    .budget = o->config ? config->budget_percent / 100 : 0,
					    .retention =
						    o->config && !o->db ? &config->retention : NULL,
					    .vfs = o->vfs_given ? o->vfs : config->metrics.vfs,
					    .complain = complain};
	_cleanup_close_ int signal_fd = open_signals();
	struct waits waits = {.signal_fd = signal_fd};
	struct node *node = NULL;
	struct errtext err;
	bool written = false;
	int r = service_open(&waits.service, &err);

	if (!r && signal_fd < 0)
		r = errtext_set(&err, -EMFILE, "cannot receive signals: too many open files");
	if (!r)
		r = resolve_all(o, selectors, &err);
	if (!r)
		r = node_metrics_new(config, node_options.vfs != NODE_VFS_NONE, cmd_say,
				     &node_options.metrics, &err);
	if (!r)
		r = node_new(&node_options, &node, &err);
	if (!r)
		r = open_waits(o, config, node, node_options.db, &waits, &err);
	if (!r)
		r = begin_all(o, node, selectors, &err);
	if (!r)
		written = run(node, &waits);
	else
		cmd_say(err.text);
	close_waits(&waits);
	if (node_free(node, &err)) {
		cmd_say(err.text);
		written = false;
	}
	node_metrics_free(node_options.metrics);
	return written ? EXIT_DONE : EXIT_FAILED;
}

int cmd_daemon(int argc, char **argv)
{
	struct options o = {.config = NULL};
	struct selector *selectors;
	struct node_config config;
	struct errtext err;
	int r, status;

	usage_parse(&daemon_spec, parse_option, argc, argv, 0, &o);
	allow_files();
	r = o.config ? node_config_load(o.config, &config, &err)
		     : node_config_parse("", "", 0, &config, &err);
	selectors = r ? NULL : calloc(NODE_JOBS_MAX, sizeof(*selectors));
	if (selectors) {
		for (unsigned int i = 0; i < o.nr_jobs; i++)
			selectors[i].cgroup.fd = -1;
		status = watch_node(&o, &config, selectors);
		for (unsigned int i = 0; i < o.nr_jobs; i++)
			selector_free(&selectors[i]);
		free(selectors);
	} else {
		cmd_say(r ? err.text : "out of memory");
		status = EXIT_FAILED;
	}
	node_config_free(&config);
	return status;
}
