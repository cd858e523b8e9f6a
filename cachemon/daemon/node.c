/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/capture/map_memory.h"

/* Between two samples, however many jobs root asks for; and for users, as with the shortest
 * interval of the settings. */
#define HURRY_NS      UINT64_C(250000000)
#define HURRY_USER_NS UINT64_C(1000000000)

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
	l.interference = 0;
	l.active = 64;
	l.active_directories = 32;
	return l;
}

static int open_probes(struct node *n, struct errtext *err)
{
	const struct plan_request request = {
		.level = LEVEL_FULL,
		.cgroup = true,
		.births = n->o.births,
		.trees = n->o.trees,
		.sockets = true,
		.vfs_calls = n->o.metrics && n->o.vfs == NODE_VFS_CALLS,
		.vfs_functions = n->o.metrics && n->o.vfs == NODE_VFS_FUNCTIONS};
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
	node_cost_begin(n);
	runs_publish(n, 0);
	*ret = n;
	return 0;
}

void node_job_free(struct job *j)
{
	machine_facts_free(j->machine);
	ledger_free(j->ledger);
	if (j->store)
		store_close(j->store);
	selector_free(&j->selector);
	memset(j, 0, sizeof(*j));
}

static void clock_begin(struct job *j)
{
	j->started_ns = clock_read_ns(CLOCK_REALTIME);
	j->start_ns = j->last_ns = clock_now_ns();
}

static int job_open(struct node *n, struct job *j, const struct mountinfo *mounts,
		    struct errtext *err)
{
	const struct ledger_limits limits = job_limits();

	if (ledger_new(&limits, &j->ledger))
		return errtext_set(err, -ENOMEM, "out of memory");
	j->limits_memory = j->selector.kind == SELECTED_CGROUP &&
			   cgroup_limits_memory(mounts, &j->selector.cgroup);
	/* Without it there are no facts of the machine. */
	if (!machine_facts_new("", n->caps.page_size, &j->machine)) {
		if (j->limits_memory)
			machine_facts_of_cgroup(j->machine, mounts, &j->selector.cgroup);
		else if (j->selector.pid)
			machine_facts_of_process(j->machine, mounts, j->selector.pid);
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

/* "": not given. 0 or -ENOMEM. */
static int set_text(char **text, const char *now)
{
	return !*now || text_replace(text, now) || (*text && !strcmp(*text, now)) ? 0 : -ENOMEM;
}

/* Root is trusted, unlike the environment of the job. */
static int apply(struct selector *s, const struct node_request *begin, struct errtext *err)
{
	if (begin->uid >= 0)
		s->uid = begin->uid;
	if (set_text(&s->identity.job_name, begin->name) ||
	    set_text(&s->identity.partition, begin->partition))
		return errtext_set(err, -ENOMEM,
				   "out of memory: it has not the name that root announced");
	return 0;
}

/* The next sample is at most this long after the last one. */
static void hurry(struct node *n, uint64_t ns)
{
	if (!n->hurry_ns || ns < n->hurry_ns)
		n->hurry_ns = ns;
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
		return apply(&j->selector, begin, err);
	if (announced_put(n->announced, begin, clock_now_ns()))
		return errtext_set(err, -ENOSPC, "%d jobs were announced and did not appear",
				   ANNOUNCED_MAX);
	return 0;
}

static void apply_announced(struct node *n, struct selector *s)
{
	_cleanup_free_ char *name = NULL;
	struct node_request begin;
	struct errtext why;
	int r = name_of(&s->identity, &name);

	if (r)
		errtext_set(&why, r, "out of memory: the name that root announced is not known");
	else if (announced_take(n->announced, name, clock_now_ns(), &begin))
		r = apply(s, &begin, &why);
	if (r)
		n->o.complain(n->o.context, s->text, why.text);
}

/* Takes the selector. */
static int open_taken(struct node *n, struct selector *selector, const struct mountinfo *mounts,
		      struct job *ret, struct errtext *err)
{
	*ret = (struct job){.selector = *selector};
	memset(selector, 0, sizeof(*selector));
	selector->cgroup.fd = -1;
	return job_open(n, ret, mounts, err);
}

/* r: whether its slot was taken. */
static int keep_job(struct node *n, struct job *j, uint32_t slot, int r, uint32_t *ret_id)
{
	if (r) {
		node_job_free(j);
		return r;
	}
	node_cost_job(n, j);
	*ret_id = j->id = ++n->begun << SLOT_BITS | slot;
	n->jobs[slot] = *j;
	return 0;
}

int node_job_begin(struct node *n, struct selector *selector, const struct cgroup_ref *cgroups,
		   size_t nr, const struct mountinfo *mounts, uint32_t *ret_id, struct errtext *err)
{
	uint32_t slot = 0;
	struct job j;
	int r = open_taken(n, selector, mounts, &j, err);

	if (!r) {
		clock_begin(&j);
		r = sampler_slots_begin(n->sampler, cgroups, nr,
					cgroup_populated(&j.selector.cgroup), &slot, err);
	}
	if (!r)
		apply_announced(n, &j.selector);
	return keep_job(n, &j, slot, r, ret_id);
}

int node_tree_begin(struct node *n, struct selector *selector, bool of_root,
		    const struct mountinfo *mounts, uint32_t *ret_id, struct errtext *err)
{
	uint32_t slot = 0;
	struct job j;
	int r = open_taken(n, selector, mounts, &j, err);

	if (!r) {
		clock_begin(&j);
		r = sampler_slots_begin_tree(n->sampler, j.selector.pid, of_root, &slot, err);
		j.awaited = true;
	}
	return keep_job(n, &j, slot, r, ret_id);
}

bool node_trees_leave(const struct node *n)
{
	return n->plan.choices[ROLE_EXEC].state == PROBE_LIVE;
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

int node_job_join(struct node *n, uint32_t id, const struct cgroup_ref *cgroups, size_t nr,
		  bool populated, struct errtext *err)
{
	if (!find_job(n, id))
		return 0;
	return sampler_slots_join(n->sampler, slot_of(id), cgroups, nr, populated, err);
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
		hurry(n, HURRY_NS);
	}
	return j || announced;
}

void node_hurry(struct node *n, const char *job)
{
	if (find_named(n, job))
		hurry(n, HURRY_NS);
}

uint64_t node_due(const struct node *n)
{
	return n->hurry_ns ? n->sampled_ns + n->hurry_ns : UINT64_MAX;
}

/* Between two intervals, in at most a tenth of the time. */
static int keep_policy(struct node *n, struct errtext *err)
{
	uint64_t monotonic_ns = clock_now_ns();
	int r;

	if (!n->retention)
		return 0;
	r = retention_work(n->retention, n->anchor,
			   retention_now(&n->ages, clock_read_ns(CLOCK_REALTIME), monotonic_ns),
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
	int r = runs_sample(n, false, err), room = sampler_make_room(n->sampler), kept;

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
		r = runs_sample(n, true, err);
	node_cost_end(n);
	sampler_free(n->sampler);
	probe_set_free(n->set);
	for (uint32_t slot = 1; n->jobs && slot <= n->o.jobs; slot++)
		if (n->jobs[slot].selector.text)
			node_job_free(&n->jobs[slot]);
	for (size_t i = 0; i < n->nr_ending; i++)
		node_job_free(&n->ending[i]);
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

	return j && j->selector.kind == SELECTED_CGROUP && !cgroup_exists(&j->selector.cgroup);
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

static struct job *find_ending(const struct node *n, uint32_t id)
{
	for (size_t i = 0; i < n->nr_ending; i++)
		if (n->ending[i].id == id)
			return &n->ending[i];
	return NULL;
}

int64_t node_tree_written(const struct node *n, uint32_t id)
{
	const struct job *j = find_ending(n, id);

	return j && j->finished ? store_run_id(j->store) : 0;
}

void node_tree_cancel(struct node *n, uint32_t id)
{
	struct job *j = &n->jobs[slot_of(id)];

	node_job_end(n, id);
	j->cancelled = j->id == id && !j->begun;
	j->awaited = false;
}

void node_tree_end(struct node *n, uint32_t id)
{
	const struct job *j = find_job(n, id);

	node_job_end(n, id);
	if (j)
		hurry(n, j->selector.uid ? HURRY_USER_NS : HURRY_NS);
}

void node_tree_forget(struct node *n, uint32_t id)
{
	struct job *j = find_ending(n, id) ?: &n->jobs[slot_of(id)];

	node_job_end(n, id);
	if (j->id == id)
		j->awaited = false;
}

bool node_writes(const struct node *n, int64_t run_id)
{
	struct node_job job;

	for (size_t i = 0; node_job(n, i, &job); i++)
		if (job.run_id == run_id)
			return true;
	for (size_t i = 0; i < n->nr_ending; i++)
		if (n->ending[i].begun && !n->ending[i].finished &&
		    store_run_id(n->ending[i].store) == run_id)
			return true;
	return false;
}
