/* SPDX-License-Identifier: BSD-2-Clause */
/* The runs of a node's jobs: each begins, gets the rows of every sample, and ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/passes.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/vec.h"
#include "cachemon/daemon/node_impl.h"
#include "cachemon/run/run_describe.h"

static void complain(struct node *n, struct job *j, int r, const struct errtext *err)
{
	if (r && !j->complained)
		n->o.complain(n->o.context, j->selector.text, err->text);
	j->complained = r;
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

	if (!j->selector.text || j->begun || j->cancelled)
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
		if (j->cancelled) {
			node_job_free(j);
			continue;
		}
		if (n->nr_ending == ENDING_MAX ||
		    vec_reserve(n->ending, n->max_ending, n->nr_ending + 1)) {
			n->o.complain(n->o.context, j->selector.text,
				      "its last rows are lost: too many jobs wait to be written");
			node_job_free(j);
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
		struct job *j = &n->ending[i];

		j->finished = j->written;
		if (j->finished && !j->awaited)
			node_job_free(j);
		else
			n->ending[left++] = *j;
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
		int e;

		if (j->finished)
			continue;
		e = j->begun ? store_end(j->store, j->ledger, &(struct store_end){0}, &why) : 0;
		j->written = j->begun && !e;
		if (j->begun)
			complain(n, j, e, &why);
	}
	r = store_batch_end(n->anchor, err);
	if (!r)
		forget_written(n);
	return r;
}

void runs_publish(struct node *n, size_t nr)
{
	struct node_shares shares;

	node_cost_show(n, &shares);
	node_metrics_publish(n->o.metrics, &n->plan, nr, &shares);
}

int runs_sample(struct node *n, bool last, struct errtext *err)
{
	const struct slot_sample *samples;
	struct errtext why;
	size_t nr, left = 0;
	int taken, r, begun = begin_runs(n, err);

	n->hurry_ns = 0;
	n->sampled_ns = clock_now_ns();
	/* Events that were read count, even after an error. */
	taken = sampler_slots_take(n->sampler, last, &samples, &nr, begun ? &why : err);
	store_batch_begin(n->anchor);
	for (size_t i = 0; i < nr; i++) {
		struct job *j = &n->jobs[samples[i].slot];
		struct sample s = samples[i].sample;

		complete_sample(n, j, &s);
		node_cost_take(n, j, &s);
		j->last = samples[i].last || last;
		left += !j->last;
		if (j->selector.kind == SELECTED_CGROUP)
			node_metrics_take(n->o.metrics, &n->plan, j->id, &j->selector, j->ledger,
					  &s, j->last);
		if (j->begun)
			complain(n, j, store_write(j->store, j->ledger, &s, &why), &why);
	}
	r = store_batch_end(n->anchor, begun || taken ? &why : err);
	r = begun ? begun : taken ? taken : r;
	taken = end_runs(n, r ? &why : err);
	node_cost_judge(n);
	runs_publish(n, left);
	return r ? r : taken;
}
