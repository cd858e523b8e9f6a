/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/account/ledger.h"
#include "cachemon/account/passes.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"
#include "cachemon/capture/map_memory.h"
#include "cachemon/capture/sampler_slots.h"
#include "cachemon/collector/machine_facts.h"
#include "cachemon/daemon/announced.h"
#include "cachemon/plan/machine_plan.h"
#include "cachemon/run/run_describe.h"
#include "cachemon/store/store.h"

struct job {
	struct selector selector; /* .text NULL: the slot has no job */
	uint32_t id;
	bool limits_memory;
	struct ledger *ledger;
	struct store *store;
	struct machine_facts *machine; /* NULL: there was no memory for it */
	uint64_t started_ns;	       /* CLOCK_REALTIME, the moment of start_ns */
	uint64_t start_ns, last_ns;    /* CLOCK_MONOTONIC */
	bool begun, last;
	bool written; /* its end, if the batch succeeds */
	bool complained;
};

/* Ended jobs whose rows could not be written yet: a disk may be full for a while. */
enum { ENDING_MAX = 1024 };

struct node {
	struct node_options o;
	struct kernel_caps caps;
	struct probe_plan plan;
	struct probe_set *set;
	struct sampler *sampler;
	struct store *anchor;	     /* keeps the database open while no job runs */
	struct retention *retention; /* NULL: all runs are kept */
	struct retention_clock ages;
	struct job *jobs; /* by slot; the first is unused */
	struct job *ending;
	size_t nr_ending, max_ending;
	struct announced *announced;
	uint32_t begun; /* jobs so far */
	uint64_t sampled_ns;
	bool hurry; /* root ended a job */
};

/* Between two samples, however many jobs root ends. */
#define HURRY_NS UINT64_C(250000000)

/* Ids of jobs: the slot in the low bits, and a number above, because slots are used again. */
#define SLOT_BITS 8

_Static_assert(NODE_JOBS_MAX < 1 << SLOT_BITS, "a slot fits into an id");

static uint32_t slot_of(uint32_t id)
{
	return id & ((1U << SLOT_BITS) - 1);
}

/* A node has many small jobs. A file without room for a row counts for its directory. */
static struct ledger_limits job_limits(void)
{
	struct ledger_limits l = ledger_limits_default();

	l.files = 1024;
	l.directories = 512;
	l.path_bytes = 1 << 18;
	l.distinct = 1 << 16;
	l.advice = 256;
	l.interference = 64;
	l.active = 64;
	l.active_directories = 32;
	return l;
}

static int open_probes(struct node *n, struct errtext *err)
{
	const struct plan_request request = {
		.level = LEVEL_FULL, .cgroup = true, .births = n->o.births, .sockets = true};
	struct probe_set_config config = {.caps = &n->caps, .jobs = n->o.jobs};
	int r = machine_plan_viable(&request, &n->caps, &n->plan, err);

	if (r)
		return r;
	config.ram_bytes = n->caps.ram_bytes;
	config.nr_cpus = n->caps.nr_cpus;
	for (int kind = 0; kind < CGROUP_KINDS; kind++)
		config.job_hierarchies |= 1U << kind;
	r = map_memory_check(map_memory_bytes(config.ram_bytes, config.nr_cpus, 0, 0) +
				     map_memory_slots(n->o.jobs + 1, config.nr_cpus),
			     n->caps.memlock_binds == CAPS_YES, true, err);
	if (!r)
		r = probe_set_new(&config, &n->plan, &n->set, err);
	if (!r)
		r = sampler_new(n->set, &n->sampler, err);
	if (r)
		return r;
	probe_set_start(n->set);
	r = probe_set_reads(n->set, true);
	return r ? errtext_set(err, r, "cannot count reads: %s", strerror(-r)) : 0;
}

static int open_all(struct node *n, struct errtext *err)
{
	const struct store_config config = {.path = n->o.db};
	int r;

	n->jobs = calloc(n->o.jobs + 1, sizeof(*n->jobs));
	n->retention = n->o.retention ? retention_new(n->o.retention) : NULL;
	n->announced = announced_new();
	if (!n->jobs || !n->announced || (n->o.retention && !n->retention))
		return errtext_set(err, -ENOMEM, "out of memory");
	r = machine_plan_check(err);
	if (!r)
		r = store_open(&config, &n->anchor, err);
	return r ? r : open_probes(n, err);
}

int node_new(const struct node_options *o, struct node **ret, struct errtext *err)
{
	struct node *n = calloc(1, sizeof(*n));
	struct errtext ignored;
	int r;

	if (!n)
		return errtext_set(err, -ENOMEM, "out of memory");
	n->o = *o;
	r = open_all(n, err);
	if (r) {
		node_free(n, &ignored);
		return r;
	}
	node_metrics_publish(o->metrics, &n->plan, 0);
	*ret = n;
	return 0;
}

static void job_free(struct job *j)
{
	machine_facts_free(j->machine);
	ledger_free(j->ledger);
	if (j->store)
		store_close(j->store);
	selector_free(&j->selector);
	memset(j, 0, sizeof(*j));
}

static void complain(struct node *n, struct job *j, int r, const struct errtext *err)
{
	if (r && !j->complained)
		n->o.complain(n->o.context, j->selector.text, err->text);
	j->complained = r;
}

/* Reads the mounts: whether the cgroup is in the hierarchy that limits memory. */
static bool limits_memory(const struct selector *s)
{
	struct mountinfo mounts;
	bool does;

	if (mountinfo_read("/proc/self/mountinfo", &mounts))
		return false;
	does = cgroup_limits_memory(&mounts, &s->cgroup);
	mountinfo_free(&mounts);
	return does;
}

static uint64_t now_realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void clock_begin(struct job *j)
{
	j->started_ns = now_realtime_ns();
	j->start_ns = j->last_ns = clock_now_ns();
}

static int job_open(struct node *n, struct job *j, struct errtext *err)
{
	const struct ledger_limits limits = job_limits();

	if (ledger_new(&limits, &j->ledger))
		return errtext_set(err, -ENOMEM, "out of memory");
	j->limits_memory = limits_memory(&j->selector);
	/* Without it there are no facts of the machine. */
	if (!machine_facts_new("", n->caps.page_size, &j->machine)) {
		if (j->limits_memory)
			machine_facts_of_cgroup(j->machine, &j->selector.cgroup);
		else if (j->selector.pid)
			machine_facts_of_process(j->machine, j->selector.pid);
	}
	return store_open_beside(n->anchor, &j->store, err);
}

/* KIND:NAME, as users write it. 0 or -ENOMEM. */
static int name_of(const struct selector_identity *i, char **ret)
{
	return text_print(ret, "%s:%s%s%s", i->kind, i->id, i->step ? "." : "", i->step ?: "");
}

static bool is_named(const struct selector_identity *i, const char *name)
{
	_cleanup_free_ char *own = NULL;

	return !name_of(i, &own) && !strcmp(own, name);
}

/* Root is trusted, unlike the environment of the job. */
static void apply(struct selector *s, const struct node_request *begin)
{
	if (begin->uid >= 0)
		s->uid = begin->uid;
	if (*begin->name)
		text_replace(&s->identity.job_name, begin->name);
	if (*begin->partition)
		text_replace(&s->identity.partition, begin->partition);
}

static struct job *find_named(struct node *n, const char *name)
{
	for (uint32_t slot = 1; slot <= n->o.jobs; slot++)
		if (n->jobs[slot].selector.text && is_named(&n->jobs[slot].selector.identity, name))
			return &n->jobs[slot];
	return NULL;
}

int node_announce(struct node *n, const struct node_request *begin, struct errtext *err)
{
	struct job *j = find_named(n, begin->job);

	if (j && j->begun)
		return errtext_set(err, -EEXIST, "the run of %s has begun", begin->job);
	if (j)
		apply(&j->selector, begin);
	else if (announced_put(n->announced, begin, clock_now_ns()))
		return errtext_set(err, -ENOSPC, "%d jobs were announced and did not appear",
				   ANNOUNCED_MAX);
	return 0;
}

static void apply_announced(struct node *n, struct selector *s)
{
	_cleanup_free_ char *name = NULL;
	struct node_request begin;

	if (!name_of(&s->identity, &name) &&
	    announced_take(n->announced, name, clock_now_ns(), &begin))
		apply(s, &begin);
}

int node_job_begin(struct node *n, struct selector *selector, const struct cgroup_ref *cgroups,
		   size_t nr, uint32_t *ret_id, struct errtext *err)
{
	struct job j = {.selector = *selector};
	uint32_t slot = 0;
	int r = job_open(n, &j, err);

	memset(selector, 0, sizeof(*selector));
	selector->cgroup.fd = -1;
	if (!r) {
		clock_begin(&j);
		r = sampler_slots_begin(n->sampler, cgroups, nr,
					cgroup_populated(&j.selector.cgroup), &slot, err);
	}
	if (r) {
		job_free(&j);
		return r;
	}
	apply_announced(n, &j.selector);
	*ret_id = j.id = ++n->begun << SLOT_BITS | slot;
	n->jobs[slot] = j;
	return 0;
}

int node_births(struct node *n, birth_receive *receive, void *arg, struct birth_ring **ret)
{
	if (n->plan.choices[ROLE_CGROUP_MKDIR].state != PROBE_LIVE ||
	    n->plan.choices[ROLE_CGROUP_RMDIR].state != PROBE_LIVE)
		return -ENOTSUP;
	return birth_ring_new(n->set, receive, arg, ret);
}

bool node_has_room(const struct node *n)
{
	return sampler_slots_free(n->sampler);
}

/* NULL: it has ended. */
static const struct job *find_job(const struct node *n, uint32_t id)
{
	const struct job *j = &n->jobs[slot_of(id)];

	return j->selector.text && j->id == id ? j : NULL;
}

void node_job_end(struct node *n, uint32_t id)
{
	if (find_job(n, id))
		sampler_slots_end(n->sampler, slot_of(id));
}

bool node_end_named(struct node *n, const char *job)
{
	const struct job *j = find_named(n, job);
	struct node_request ignored;
	bool announced = announced_take(n->announced, job, clock_now_ns(), &ignored);

	if (j) {
		node_job_end(n, j->id);
		n->hurry = true;
	}
	return j || announced;
}

uint64_t node_due(const struct node *n)
{
	return n->hurry ? n->sampled_ns + HURRY_NS : UINT64_MAX;
}

static int describe(struct node *n, struct job *j, struct errtext *err)
{
	const struct run_facts facts = {
		.caps = &n->caps,
		.plan = &n->plan,
		.level = LEVEL_FULL,
		.started_ns = j->started_ns,
		.interval_ns = n->o.interval_ns,
		.map_bytes = probe_set_map_bytes(n->set),
		.selector = &j->selector,
		.uid = j->selector.uid,
		.limits_memory = j->limits_memory,
		.no_references = "not recorded while many jobs are watched at once",
	};
	struct run_description *description = run_describe(&facts);
	int r = description ? store_begin(j->store, &description->run, err)
			    : errtext_set(err, -ENOMEM, "out of memory");

	free(description);
	return r;
}

static void complete_sample(struct node *n, struct job *j, struct sample *s)
{
	struct counters sum = {};

	s->start_ns = j->last_ns - j->start_ns;
	s->duration_ns = s->end_ns - j->last_ns;
	s->read_on_ns = s->duration_ns;
	/* The cost of the programs is that of all jobs together. */
	s->cost = (struct sample_cost){.cpu_ns = -1,
				       .probe_cpu_ns = -1,
				       .collector_cpu_ns = -1,
				       .probe_ns_per_lookup = -1,
				       .share_of_job_cpu = -1,
				       .advice_calls_ns = -1,
				       .budget = -1,
				       .share = -1};
	for (int i = 0; i < COST_PARTS; i++)
		s->cost.part_ns[i] = -1;
	if (j->machine)
		s->machine = machine_facts_take(j->machine, s->filesystems, s->nr_filesystems);
	for (size_t i = 0; i < s->nr_files; i++)
		counters_add(&sum, s->files[i].c);
	counters_add(&sum, s->rest[JOB_WATCHED]);
	s->law_error_pages = llabs(counters_law_error(&sum));
	ledger_apply(j->ledger, s);
	s->passes.nr = 0;
	passes_take(&s->passes, j->ledger, n->caps.page_size);
	j->last_ns = s->end_ns;
}

static bool of_kind(const struct job *j, enum find_kind kind)
{
	return !strcmp(j->selector.identity.kind, find_kind_name(kind));
}

/* Whether its run can begin now. */
static void begin_run(struct node *n, struct job *j)
{
	struct errtext why;

	if (!j->selector.text || j->begun)
		return;
	/* Its processes came after the cgroup; that of a unit has become the unit's user since. */
	if (j->selector.uid < 0 || (!j->selector.uid && of_kind(j, FIND_UNIT)))
		selector_find_user("/proc", &j->selector);
	j->begun = !describe(n, j, &why);
	complain(n, j, j->begun ? 0 : -EIO, &why);
}

static void unbegin(struct job *j)
{
	j->begun = j->begun && store_run_id(j->store);
}

static bool some_wait(const struct node *n)
{
	bool waits = n->nr_ending;

	for (uint32_t slot = 1; slot <= n->o.jobs && !waits; slot++)
		waits = n->jobs[slot].selector.text && !n->jobs[slot].begun;
	return waits;
}

/* The rows of a run need its first one, and a batch has one call for each run. */
static int begin_runs(struct node *n, struct errtext *err)
{
	int r;

	if (!some_wait(n))
		return 0;
	store_batch_begin(n->anchor);
	for (uint32_t slot = 1; slot <= n->o.jobs; slot++)
		begin_run(n, &n->jobs[slot]);
	for (size_t i = 0; i < n->nr_ending; i++)
		begin_run(n, &n->ending[i]);
	r = store_batch_end(n->anchor, err);
	for (uint32_t slot = 1; r && slot <= n->o.jobs; slot++)
		if (n->jobs[slot].selector.text)
			unbegin(&n->jobs[slot]);
	for (size_t i = 0; r && i < n->nr_ending; i++)
		unbegin(&n->ending[i]);
	return r;
}

/* Their slots are free. Without memory, or if too many wait, the job is given up. */
static void take_ended(struct node *n)
{
	for (uint32_t slot = 1; slot <= n->o.jobs; slot++) {
		struct job *j = &n->jobs[slot];

		if (!j->last)
			continue;
		if (n->nr_ending == ENDING_MAX ||
		    vec_reserve(n->ending, n->max_ending, n->nr_ending + 1)) {
			n->o.complain(n->o.context, j->selector.text,
				      "its last rows are lost: too many jobs wait to be written");
			job_free(j);
			continue;
		}
		n->ending[n->nr_ending++] = *j;
		memset(j, 0, sizeof(*j));
	}
}

static void forget_written(struct node *n)
{
	size_t left = 0;

	for (size_t i = 0; i < n->nr_ending; i++) {
		if (n->ending[i].written)
			job_free(&n->ending[i]);
		else
			n->ending[left++] = n->ending[i];
	}
	n->nr_ending = left;
}

/* Those that cannot be written now are tried again with the next sample. */
static int end_runs(struct node *n, struct errtext *err)
{
	struct errtext why;
	int r;

	take_ended(n);
	if (!n->nr_ending)
		return 0;
	store_batch_begin(n->anchor);
	for (size_t i = 0; i < n->nr_ending; i++) {
		struct job *j = &n->ending[i];
		int e = j->begun ? store_end(j->store, j->ledger, &(struct store_end){0}, &why) : 0;

		j->written = j->begun && !e;
		if (j->begun)
			complain(n, j, e, &why);
	}
	r = store_batch_end(n->anchor, err);
	if (!r)
		forget_written(n);
	return r;
}

static int sample(struct node *n, bool last, struct errtext *err)
{
	const struct slot_sample *samples;
	struct errtext why;
	size_t nr, left = 0;
	int taken, r, begun = begin_runs(n, err);

	n->hurry = false;
	n->sampled_ns = clock_now_ns();
	/* Events that were read count, even after an error. */
	taken = sampler_slots_take(n->sampler, last, &samples, &nr, begun ? &why : err);
	store_batch_begin(n->anchor);
	for (size_t i = 0; i < nr; i++) {
		struct job *j = &n->jobs[samples[i].slot];
		struct sample s = samples[i].sample;

		complete_sample(n, j, &s);
		j->last = samples[i].last || last;
		left += !j->last;
		node_metrics_take(n->o.metrics, &n->plan, j->id, &j->selector, j->ledger, &s,
				  j->last);
		if (j->begun)
			complain(n, j, store_write(j->store, j->ledger, &s, &why), &why);
	}
	r = store_batch_end(n->anchor, begun || taken ? &why : err);
	r = begun ? begun : taken ? taken : r;
	taken = end_runs(n, r ? &why : err);
	node_metrics_publish(n->o.metrics, &n->plan, left);
	return r ? r : taken;
}

/* Between two intervals, in at most a tenth of the time. */
static int keep_policy(struct node *n, struct errtext *err)
{
	uint64_t monotonic_ns = clock_now_ns();
	int r;

	if (!n->retention)
		return 0;
	r = retention_work(n->retention, n->anchor,
			   retention_now(&n->ages, now_realtime_ns(), monotonic_ns),
			   monotonic_ns + n->o.interval_ns / 10, err);
	/* Another program writes; the next interval is soon enough. */
	return r == -EBUSY ? 0 : r;
}

void node_retain(struct node *n, const struct retention_policy *policy)
{
	if (n->retention)
		retention_change(n->retention, policy);
}

int node_sample(struct node *n, struct errtext *err)
{
	struct errtext why;
	int r = sample(n, false, err), room = sampler_make_room(n->sampler), kept;

	if (!r && room)
		r = errtext_set(err, room,
				"cannot remove pages from the full kernel map, so new pages may be "
				"untracked: %s",
				strerror(-room));
	kept = keep_policy(n, r ? &why : err);
	return r ? r : kept;
}

int node_free(struct node *n, struct errtext *err)
{
	int r = 0;

	if (!n)
		return 0;
	if (n->sampler && n->jobs)
		r = sample(n, true, err);
	sampler_free(n->sampler);
	probe_set_free(n->set);
	for (uint32_t slot = 1; n->jobs && slot <= n->o.jobs; slot++)
		if (n->jobs[slot].selector.text)
			job_free(&n->jobs[slot]);
	for (size_t i = 0; i < n->nr_ending; i++)
		job_free(&n->ending[i]);
	free(n->ending);
	store_close(n->anchor);
	retention_free(n->retention);
	announced_free(n->announced);
	free(n->jobs);
	free(n);
	return r;
}

bool node_job_gone(const struct node *n, uint32_t id)
{
	const struct job *j = find_job(n, id);

	return j && !cgroup_exists(&j->selector.cgroup);
}

bool node_pressed(struct node *n)
{
	sampler_names(n->sampler);
	return sampler_pressed(n->sampler);
}

bool node_job(const struct node *n, size_t i, struct node_job *ret)
{
	for (uint32_t slot = 1; slot <= n->o.jobs; slot++) {
		const struct job *j = &n->jobs[slot];

		if (!j->selector.text || i--)
			continue;
		*ret = (struct node_job){j->id, &j->selector,
					 j->begun ? store_run_id(j->store) : 0};
		return true;
	}
	return false;
}

bool node_writes(const struct node *n, int64_t run_id)
{
	struct node_job job;

	for (size_t i = 0; node_job(n, i, &job); i++)
		if (job.run_id == run_id)
			return true;
	for (size_t i = 0; i < n->nr_ending; i++)
		if (n->ending[i].begun && store_run_id(n->ending[i].store) == run_id)
			return true;
	return false;
}
