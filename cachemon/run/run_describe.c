/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/run/run_describe.h"

#include <stdlib.h>

#include "cachemon/plan/probe_build.h"

/* For pages of other processes, fates, refaults, stalls and adders are not tracked. */
static bool others_measure(enum counter c)
{
	switch (counter_group(c)) {
	case GROUP_FATE:
	case GROUP_GHOST:
	case GROUP_STALL:
	case GROUP_DELAY:
		return false;
	default:
		return c != C_untracked && c != C_untracked_map_full && c != C_evicted_not_added;
	}
}

static const char *level_name(enum watch_level level)
{
	static const char *const names[] = {"cold", "full", "auto"};

	return names[level];
}

static void describe_machine(const struct run_facts *f, struct run_description *d)
{
	struct store_run *r = &d->run;

	uname(&d->host);
	r->cachemon = CACHEMON_VERSION;
	r->host = d->host.nodename;
	r->kernel = f->caps->release;
	r->arch = f->caps->arch;
	r->page_size_bytes = f->caps->page_size;
	r->memory_bytes = f->caps->ram_bytes;
	r->map_bytes = f->map_bytes;
}

static void describe_job(const struct run_facts *f, struct run_description *d)
{
	const struct selector_identity *is = &f->selector->identity;
	struct store_run *r = &d->run;

	d->identity = (struct store_identity){.kind = is->kind,
					      .external_id = is->id,
					      .step = is->step,
					      .job_name = is->job_name,
					      .partition = is->partition,
					      .uid = f->uid};
	if (f->uid >= 0) {
		invoker_user_name((uid_t)f->uid, d->user, sizeof(d->user));
		r->user = d->user;
	}
	r->jobs[JOB_OTHERS].name = "(others)";
	r->jobs[JOB_OTHERS].selector = "everything else on this machine";
	r->jobs[JOB_WATCHED].name = f->job ?: f->selector->name;
	r->jobs[JOB_WATCHED].selector = f->selector->text;
	r->jobs[JOB_WATCHED].identity = &d->identity;
	r->memory_cgroup = f->limits_memory ? f->selector->cgroup.path : NULL;
}

static void describe_probes(const struct probe_plan *plan, struct run_description *d)
{
	for (int i = 0; i < ROLE_NR; i++) {
		const struct probe_choice *c = &plan->choices[i];

		d->probes[i] = (struct store_probe){
			.role = probe_role_name(i),
			.hook = *c->hook ? c->hook : NULL,
			.state = probe_state_name(c->state),
			.reason = *c->reason ? c->reason : NULL,
		};
	}
	d->run.probes = d->probes;
	d->run.nr_probes = ROLE_NR;
}

static void add_unmeasured(struct run_description *d, const char *name, const char *reason)
{
	d->unmeasured[d->run.nr_unmeasured++] =
		(struct store_unmeasured){.name = name, .reason = reason};
}

static void describe_measured(const struct run_facts *f, struct run_description *d)
{
	const char *no_evictors = probe_record_absent(f->plan, RECORD_EVICTORS);
	struct store_run *r = &d->run;

	r->unmeasured = d->unmeasured;
	for (int c = 0; c < C_NR; c++) {
		bool known = probe_plan_measures(f->plan, c, d->reasons[c], sizeof(d->reasons[c]));

		r->measured.counter[JOB_WATCHED][c] = known;
		r->measured.counter[JOB_OTHERS][c] = known && others_measure(c);
		if (!known)
			add_unmeasured(d, counter_name(c), d->reasons[c]);
	}
	if (no_evictors)
		add_unmeasured(d, "interference", no_evictors);
	r->measured.facts[JOB_WATCHED] = true;
	r->references_absent[JOB_OTHERS] = "of the watched job only";
	r->references_absent[JOB_WATCHED] = f->no_references;
}

struct run_description *run_describe(const struct run_facts *f)
{
	struct run_description *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->run.level = level_name(f->level);
	d->run.advice_mode = f->advice_calls ? "calls" : "effects";
	d->run.started_ns = f->started_ns;
	d->run.interval_ns = f->interval_ns;
	describe_machine(f, d);
	describe_job(f, d);
	describe_probes(f->plan, d);
	describe_measured(f, d);
	return d;
}
