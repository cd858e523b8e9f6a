/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/access/publish.h"
#include "cachemon/account/ledger_rows.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"
#include "cachemon/daemon/metrics_http.h"
#include "cachemon/metrics/metrics_jobs.h"

enum { PRESSURE_MAX = 4096, USER_MAX = 256 };

/* Looking up a name may ask a server. */
struct user {
	int64_t uid;
	char name[USER_MAX];
};

struct node_metrics {
	char *file;		   /* NULL: none is written */
	struct metrics_http *http; /* NULL: nothing listens */
	node_metrics_say *say;
	struct metrics_jobs *jobs;
	struct metrics *past;
	bool sched_info; /* the kernel counts waiting for a CPU */
	struct user *users;
	size_t nr_users, max_users;
	struct loss_counts lost;
	bool lost_known;
	bool known[C_NR]; /* what the plan measures, which does not change while jobs run */
	bool knows;
	bool complained;
};

/* A user who can change the directory can make root write anywhere. */
static int check_directory(const char *path, struct errtext *err)
{
	struct stat sb;

	if (stat(path, &sb))
		return errtext_set(err, -errno, "metrics.textfile_directory: cannot use %s: %s",
				   path, strerror(errno));
	if (!S_ISDIR(sb.st_mode))
		return errtext_set(err, -ENOTDIR,
				   "metrics.textfile_directory: %s is not a directory", path);
	if ((sb.st_uid && sb.st_uid != geteuid()) || sb.st_mode & (S_IWGRP | S_IWOTH))
		return errtext_set(err, -EPERM,
				   "metrics.textfile_directory: others can change %s. Run: chown "
				   "root %s; chmod go-w %s",
				   path, path, path);
	return 0;
}

/* The server has its own copy of these settings. */
static int open_http(struct node_metrics *m, const struct node_config *config, struct errtext *err)
{
	struct web_config web = {0};
	int r = config->metrics.web_config ? web_config_load(config->metrics.web_config, &web, err)
					   : 0;

	if (!r)
		r = metrics_http_new(&config->metrics.listen, &web, &m->http, err);
	web_config_free(&web);
	return r;
}

static int open_all(struct node_metrics *m, const struct node_config *config, bool vfs,
		    struct errtext *err)
{
	const char *directory = config->metrics.textfile_directory;
	int r = directory ? check_directory(directory, err) : 0;

	if (!r && config->metrics.listen.ss_family)
		r = open_http(m, config, err);
	if (r)
		return r;
	m->jobs = metrics_jobs_new(vfs ? METRICS_PLACES_VFS : METRICS_PLACES);
	m->past = metrics_new();
	if (!m->jobs || !m->past ||
	    (directory && text_print(&m->file, "%s/cachemon.prom", directory)))
		return errtext_set(err, -ENOMEM, "out of memory");
	return 0;
}

int node_metrics_new(const struct node_config *config, bool vfs, node_metrics_say *say,
		     struct node_metrics **ret, struct errtext *err)
{
	struct node_metrics *m;
	int r;

	*ret = NULL;
	if (!config->metrics.textfile_directory && !config->metrics.listen.ss_family)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return errtext_set(err, -ENOMEM, "out of memory");
	m->say = say;
	m->sched_info = !access("/proc/self/schedstat", F_OK);
	r = open_all(m, config, vfs, err);
	if (r)
		node_metrics_free(m);
	else
		*ret = m;
	return r;
}

void node_metrics_free(struct node_metrics *m)
{
	if (!m)
		return;
	metrics_http_free(m->http);
	metrics_jobs_free(m->jobs);
	metrics_free(m->past);
	free(m->users);
	free(m->file);
	free(m);
}

static const char *user_of(struct node_metrics *m, int64_t uid)
{
	struct user *u;

	if (uid < 0)
		return NULL;
	for (size_t i = 0; i < m->nr_users; i++)
		if (m->users[i].uid == uid)
			return m->users[i].name;
	if (vec_reserve(m->users, m->max_users, m->nr_users + 1))
		return NULL;
	u = &m->users[m->nr_users++];
	u->uid = uid;
	invoker_user_name((uid_t)uid, u->name, sizeof(u->name));
	return u->name;
}

static void counts_of(const bool known[C_NR], const struct counters *c, struct counts *ret)
{
	*ret = (struct counts){0};
	for (int i = 0; i < C_NR; i++) {
		ret->c[i] = c->c[i];
		ret->known[i] = known[i];
	}
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds. */
static struct opt_i64 pressure(const struct cgroup_ref *cgroup, const char *file)
{
	static const char key[] = " total=";
	_cleanup_free_ char *text = NULL;
	size_t len;
	char *at;

	if (cgroup->kind != CGROUP_V2 || cgroup->fd < 0 ||
	    file_read(cgroup->fd, file, PRESSURE_MAX, &text, &len))
		return (struct opt_i64){0, false};
	at = strstr(text, key);
	if (strncmp(text, "some ", 5) != 0 || !at)
		return (struct opt_i64){0, false};
	return (struct opt_i64){strtoll(at + strlen(key), NULL, 10) * 1000, true};
}

static struct opt_i64 of_machine(int64_t value)
{
	return (struct opt_i64){value, value != MACHINE_UNKNOWN};
}

static void take_cgroup(const struct selector *job, const struct sample *sample,
			struct metrics_job *to)
{
	to->facts[METRICS_PRESSURE_CPU_NS] = pressure(&job->cgroup, "cpu.pressure");
	to->facts[METRICS_PRESSURE_MEMORY_NS] = pressure(&job->cgroup, "memory.pressure");
	to->facts[METRICS_PRESSURE_IO_NS] = pressure(&job->cgroup, "io.pressure");
	if (!sample->machine)
		return;
	to->limit_bytes = of_machine(sample->machine->limit.limit_bytes);
	to->usage_bytes = of_machine(sample->machine->limit.usage_bytes);
	to->cache_bytes = of_machine(sample->machine->limit.file_bytes);
}

static struct opt_i64 known(uint64_t value)
{
	return (struct opt_i64){(int64_t)value, true};
}

static bool vfs_known(const struct probe_plan *plan, enum vfs_call call)
{
	static const enum probe_role by_function[VFS_NR][2] = {
		[VFS_READ] = {ROLE_VFS_READ, ROLE_VFS_READV},
		[VFS_WRITE] = {ROLE_VFS_WRITE, ROLE_VFS_WRITEV},
		[VFS_OPEN] = {ROLE_VFS_OPEN, ROLE_VFS_OPEN},
		[VFS_MKDIR] = {ROLE_VFS_MKDIR, ROLE_VFS_MKDIR},
		[VFS_RMDIR] = {ROLE_VFS_RMDIR, ROLE_VFS_RMDIR},
		[VFS_UNLINK] = {ROLE_VFS_UNLINK, ROLE_VFS_UNLINK},
	};

	return probe_plan_has(plan, ROLE_VFS_CALLS) ||
	       (probe_plan_has(plan, by_function[call][0]) &&
		probe_plan_has(plan, by_function[call][1]));
}

static void take_vfs(const struct probe_plan *plan, const struct vfs_row *vfs,
		     struct opt_i64 facts[METRICS_FACTS])
{
	for (int call = 0; call < VFS_NR; call++) {
		bool is_known = vfs_known(plan, call);

		facts[METRICS_VFS_CALLS + call] =
			(struct opt_i64){(int64_t)vfs->calls[call], is_known};
		facts[METRICS_VFS_ERRORS + call] =
			(struct opt_i64){(int64_t)vfs->errors[call], is_known};
		if (call <= VFS_OPEN)
			facts[METRICS_VFS_READ_BYTES + call] =
				(struct opt_i64){(int64_t)vfs->did[call], is_known};
	}
}

/* Of filesystems which the job may not have read from. Returns how many. */
static size_t take_vfs_mounts(const struct probe_plan *plan, const bool known[C_NR],
			      const struct sample *sample, const struct vfs_device of[VFS_DEVICES],
			      struct metrics_mount ret[VFS_DEVICES])
{
	size_t nr = 0;

	for (int i = 0; i < VFS_DEVICES && of[i].dev; i++) {
		const struct sample_filesystem *fs = sample_filesystem_of(sample, of[i].dev);

		ret[nr].mount = fs ? fs->mount : NULL;
		ret[nr].device = fs ? fs->device : NULL;
		counts_of(known, &(struct counters){}, &ret[nr].counts);
		for (int call = 0; call <= VFS_OPEN; call++) {
			bool is_known = vfs_known(plan, call);

			ret[nr].facts[METRICS_VFS_CALLS + call] =
				(struct opt_i64){(int64_t)of[i].calls[call], is_known};
			ret[nr].facts[METRICS_VFS_READ_BYTES + call] =
				(struct opt_i64){(int64_t)of[i].did[call], is_known};
		}
		nr++;
	}
	return nr;
}

static void take_facts(const struct node_metrics *m, const struct probe_plan *plan,
		       const struct sample_job *facts, struct metrics_job *to)
{
	bool sends = plan->choices[ROLE_SOCKET_SEND].state == PROBE_LIVE;
	bool receives = plan->choices[ROLE_SOCKET_RECEIVE].state == PROBE_LIVE;

	to->processes = known(facts->alive);
	to->facts[METRICS_CPU_NS] = known(facts->cpu_ns);
	to->facts[METRICS_RUNQUEUE_NS] =
		(struct opt_i64){(int64_t)facts->activity.runqueue_ns, m->sched_info};
	to->facts[METRICS_RCHAR_BYTES] = known(facts->rchar_bytes);
	to->facts[METRICS_WCHAR_BYTES] = known(facts->activity.wchar_bytes);
	to->facts[METRICS_SWITCHES_VOLUNTARY] = known(facts->activity.switches_voluntary);
	to->facts[METRICS_SWITCHES_FORCED] = known(facts->activity.switches_forced);
	for (int kind = 0; kind < NET_NR; kind++) {
		to->facts[METRICS_SENT_BYTES + kind] =
			(struct opt_i64){(int64_t)facts->net[kind].sent_bytes, sends};
		to->facts[METRICS_RECEIVED_BYTES + kind] =
			(struct opt_i64){(int64_t)facts->net[kind].received_bytes, receives};
	}
	take_vfs(plan, &facts->vfs, to->facts);
}

/* Once, because the reasons cost more than the counts of a job. */
static void know_plan(struct node_metrics *m, const struct probe_plan *plan)
{
	char why[PLAN_REASON_MAX];

	for (int i = 0; i < C_NR && !m->knows; i++)
		m->known[i] = probe_plan_measures(plan, (enum counter)i, why, sizeof(why));
	m->knows = true;
}

void node_metrics_take(struct node_metrics *m, const struct probe_plan *plan, uint32_t run,
		       const struct selector *job, const struct ledger *ledger,
		       const struct sample *sample, bool last)
{
	const struct selector_identity *is = &job->identity;
	struct metrics_job to = {.manager = is->kind,
				 .jobid = selector_label(job, NULL),
				 .name = selector_title(job, NULL),
				 .step = is->step,
				 .partition = is->partition};
	const struct ledger_job *sums = ledger_job(ledger, JOB_WATCHED);
	_cleanup_free_ struct metrics_mount *mounts = NULL;
	size_t nr = ledger_nr_filesystems(ledger);

	if (!m)
		return;
	know_plan(m, plan);
	m->lost = sample->losses;
	m->lost_known = true;
	mounts = calloc(nr + VFS_DEVICES, sizeof(*mounts));
	/* Without memory the next sample makes up for it. */
	if (!mounts)
		return;
	to.user = user_of(m, job->uid);
	take_facts(m, plan, &sums->facts, &to);
	counts_of(m->known, &sums->total, &to.counts);
	for (size_t i = 0; i < nr; i++) {
		const struct ledger_filesystem *f = ledger_filesystem(ledger, i);
		const struct sample_filesystem *fs =
			f->rest ? NULL : sample_filesystem_of(sample, f->dev);

		mounts[i].mount = f->mount;
		mounts[i].device = fs ? fs->device : NULL;
		counts_of(m->known, &f->total, &mounts[i].counts);
	}
	to.mounts = mounts;
	to.nr_mounts =
		nr + take_vfs_mounts(plan, m->known, sample, sums->facts.vfs_of, mounts + nr);
	take_cgroup(job, sample, &to);
	metrics_jobs_take(m->jobs, &to, run, last, clock_now_ns());
}

static struct opt_i64 own_memory(void)
{
	char line[128];
	long long pages;

	if (file_line("", "/proc/self/statm", line, sizeof(line)) ||
	    sscanf(line, "%*d %lld", &pages) != 1)
		return (struct opt_i64){0, false};
	return (struct opt_i64){pages * sysconf(_SC_PAGESIZE), true};
}

static char *text_of(const struct metrics_node *node, enum metrics_format format, size_t *ret_len)
{
	struct text_builder b;
	int r = text_begin(&b) ? metrics_write(node, format, b.out) : 0;
	char *text = text_end(&b);

	*ret_len = b.len;
	if (!r)
		return text;
	free(text);
	return NULL;
}

/* For node_exporter, which runs as another user. */
static int write_file(const char *file, const char *text, size_t len, struct errtext *err)
{
	struct output o;
	int r = publish_open(file, &o, err);

	if (r)
		return r;
	fwrite(text, 1, len, o.out);
	if (fchmod(fileno(o.out), 0644)) {
		r = errtext_set(err, -errno, "cannot write %s: %s", file, strerror(errno));
		publish_abort(&o);
		return r;
	}
	return publish_replace(&o, err);
}

static int publish_texts(struct node_metrics *m, const struct metrics_texts *texts,
			 struct errtext *err)
{
	struct errtext other;
	int r = m->file ? write_file(m->file, texts->text, texts->text_len, err) : 0;
	int e = m->http ? metrics_http_publish(m->http, texts, r ? &other : err) : 0;

	return r ? r : e;
}

static int publish_all(struct node_metrics *m, const struct metrics_node *node, struct errtext *err)
{
	struct metrics_texts texts = {0};
	int r;

	texts.text = text_of(node, METRICS_TEXT, &texts.text_len);
	texts.open = text_of(node, METRICS_OPEN, &texts.open_len);
	r = texts.text && texts.open
		    ? publish_texts(m, &texts, err)
		    : errtext_set(err, -ENOMEM, "cannot write metrics: out of memory");
	free(texts.text);
	free(texts.open);
	return r;
}

static struct opt_i64 ppm(double share)
{
	return (struct opt_i64){(int64_t)(share * 1e6 + 0.5), share >= 0};
}

void node_metrics_publish(struct node_metrics *m, const struct probe_plan *plan, size_t nr_jobs,
			  const struct node_shares *shares)
{
	struct metrics_probe probes[ROLE_NR];
	struct metrics_loss losses[METRICS_LOSSES];
	struct metrics_node node = {.version = CACHEMON_VERSION,
				    .probes = probes,
				    .nr_probes = ROLE_NR,
				    .losses = losses,
				    .probe_cpu_ns = {shares->probes_ns, shares->probes_ns >= 0},
				    .collector_cpu_ns = {(int64_t)clock_own_cpu_ns(), true},
				    .budget_ppm = ppm(shares->budget),
				    .cost_ppm = ppm(shares->cost),
				    .details = shares->details,
				    .nr_details = shares->details[0].name ? NODE_DETAILS : 0,
				    .no_vfs = shares->no_vfs,
				    .resident_bytes = own_memory(),
				    .nr_watched = {(int64_t)nr_jobs, true}};
	struct errtext err;
	int r;

	if (!m)
		return;
	for (int i = 0; i < ROLE_NR; i++)
		probes[i] = (struct metrics_probe){probe_role_name(i),
						   plan->choices[i].state == PROBE_LIVE};
	if (m->lost_known)
		node.nr_losses = metrics_losses(&m->lost, plan->request.births, losses);
	node.past = m->past;
	metrics_jobs_view(m->jobs, clock_now_ns(), &node.jobs, &node.nr_jobs);
	r = publish_all(m, &node, &err);
	if (r && !m->complained)
		m->say(err.text);
	m->complained = r;
}
