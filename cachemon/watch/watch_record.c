/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/base/terminal.h"
#include "cachemon/plan/probe_build.h"
#include "cachemon/figures/counts.h"
#include "cachemon/run/run_describe.h"
#include "cachemon/watch/watch_run.h"

void watch_say(const char *text)
{
	fprintf(stderr, "%scachemon: %s\n", terminal_rewrites(stderr) ? "\r\033[K" : "", text);
}

void watch_complain(bool *said, const char *text)
{
	if (!*said)
		watch_say(text);
	*said = true;
}

int64_t watch_uid(const struct watch_run *run)
{
	return run->selector.kind == SELECTED_COMMAND ? run->invoker.uid : run->selector.uid;
}

int watch_describe(struct watch_run *run, struct errtext *err)
{
	const struct run_facts facts = {
		.caps = &run->caps,
		.plan = &run->plan,
		.level = run->o->level,
		.advice_calls = run->o->advice_calls,
		.started_ns = run->started_ns,
		.interval_ns = run->interval_ns,
		.map_bytes = probe_set_map_bytes(run->set),
		.selector = &run->selector,
		.job = run->o->job,
		.uid = watch_uid(run),
		.limits_memory = run->memory_cgroup,
		.no_references = *run->references_absent ? run->references_absent : NULL,
	};
	struct run_description *description = run_describe(&facts);
	int r = description ? store_begin(run->store, &description->run, err)
			    : errtext_set(err, -ENOMEM, "out of memory");

	free(description);
	return r;
}

/* Only the per-read hook shows the reason for a wait in io_uring_enter(); while it is off, a
 * wait for a socket looks like one for a read. */
static void judge_stalls(struct watch_run *run)
{
	bool gone[C_NR];

	if (run->stalls_unknown || !run->plan.measured[GROUP_STALL] ||
	    !probe_set_rings_unseen(run->set))
		return;
	run->stalls_unknown = true;
	for (int c = 0; c < C_NR; c++)
		gone[c] = counter_group((enum counter)c) == GROUP_STALL;
	store_measure_no_more(run->store, run->ledger, gone,
			      "the job waited for io_uring while reads were not watched, so the "
			      "cause of the wait is not known");
}

void watch_write(struct watch_run *run, const struct sample *s)
{
	struct errtext err;

	judge_stalls(run);
	if (store_write(run->store, run->ledger, s, &err)) {
		watch_complain(&run->store_complained, err.text);
		run->interval_lost = true;
	} else {
		run->store_complained = false;
		if (run->marks)
			marks_stored(run->marks);
	}
}

static double ratio(struct opt_f64 v)
{
	return v.known ? v.value : -1;
}

void watch_counts(const struct watch_run *run, const struct counters *of, struct counts *ret)
{
	*ret = (struct counts){0};
	for (int i = 0; i < C_NR; i++) {
		enum counter_group group = counter_group((enum counter)i);

		ret->c[i] = of->c[i];
		ret->known[i] =
			run->plan.measured[group] && !(group == GROUP_STALL && run->stalls_unknown);
	}
}

static void derive(const struct watch_run *run, const struct counters *of, struct counts *c,
		   struct derived *ret)
{
	watch_counts(run, of, c);
	counts_derive(c, 0, ret);
}

/* In a sliced run, the estimates for the whole run. */
static void take_reads(const struct watch_run *run, const struct sample *s, struct watch_figures *f)
{
	const struct ledger_job *job = ledger_job(run->ledger, JOB_WATCHED);
	struct slice_estimate lookups, hits, hit_ratio;
	const int64_t *last = job->last.c;
	struct derived d;
	struct counts c;

	f->hit_ratio = f->lookups_per_s = -1;
	if (run->slices) {
		slices_estimate(run->slices, SLICE_LOOKUPS, &lookups);
		slices_hits(run->slices, (double)job->total.c[C_misses], &hits, &hit_ratio);
		if (hit_ratio.known)
			f->hit_ratio = hit_ratio.value;
		if (lookups.known)
			f->lookups_per_s = lookups.value / ((double)run->elapsed_ns / 1e9);
	} else if (s->read_on_ns) {
		derive(run, &job->last, &c, &d);
		f->hit_ratio = ratio(d.hit_ratio);
		f->lookups_per_s = (double)last[C_lookups] / ((double)s->duration_ns / 1e9);
	}
}

/* A report's figures for the run so far. */
static void take_derived(const struct watch_run *run, const struct ledger_job *job,
			 struct watch_figures *f)
{
	struct opt_i64 processes = {(int64_t)job->facts.processes, true};
	struct derived d;
	struct counts c;

	derive(run, &job->total, &c, &d);
	f->mapped = !run->sliced && counts_mapped(&c, processes);
	f->prefetch_accuracy = d.accuracy.known && !run->sliced ? d.accuracy.value : -1;
}

void watch_take_figures(struct watch_run *run, const struct sample *s)
{
	const struct ledger_job *job = ledger_job(run->ledger, JOB_WATCHED);
	const int64_t *last = job->last.c;
	struct watch_figures *f = &run->figures;
	double seconds = (double)s->duration_ns / 1e9;

	if (seconds < 0.01)
		return;
	take_reads(run, s, f);
	f->misses_per_s = (double)last[C_misses] / seconds;
	f->evictions_per_s = (double)counters_sum(last, SUM_OF(TERMS_evicted_pages)) / seconds;
	f->major_faults_per_s = (double)last[C_faults_major] / seconds;
	f->waiting = run->plan.measured[GROUP_STALL] && !run->stalls_unknown
			     ? (double)last[C_stall_ns] / (double)s->duration_ns
			     : -1;
	take_derived(run, job, f);
}

void watch_traces_begin(struct watch_run *run)
{
	struct traces_config config = {.start_ns = run->start_ns,
				       .page_shift =
					       (unsigned int)__builtin_ctzl(run->caps.page_size)};
	const char *reason = probe_record_absent(&run->plan, RECORD_TRACES);

	if (!reason && traces_new(&config, &run->traces))
		reason = "out of memory";
	if (!reason && sampler_trace(run->sampler, run->traces))
		reason = "the trace buffer could not be read";
	if (reason) {
		store_no_traces(run->store, reason);
		return;
	}
	store_traces(run->store, run->traces);
	watch_hook_on(run, ROLE_FAULT_ADDRESS);
}

/* The reason why no file is traced any more, or none is chosen. */
static void stop_traces(struct watch_run *run, const char *why)
{
	run->traces_stopped = true;
	store_no_traces(run->store, why);
}

void watch_traces_end(struct watch_run *run, const char *why)
{
	if (!run->traces || run->traces_stopped)
		return;
	trace_ring_stop(sampler_trace_ring(run->sampler), why);
	stop_traces(run, why);
}

void watch_traces_see(struct watch_run *run, const struct sample *s, bool last)
{
	if (!run->traces)
		return;
	if (!run->traces_stopped && traces_full(run->traces))
		stop_traces(run, "the limit of recorded detail for one run was reached: no more "
				 "files were traced");
	trace_ring_look(sampler_trace_ring(run->sampler), s, last);
	for (size_t i = 0; i < ledger_nr_active(run->ledger); i++) {
		const struct ledger_file *f = ledger_active(run->ledger, i);

		if (f->job == JOB_WATCHED)
			traces_see_name(run->traces, &f->key, f->path, f->fstype);
	}
}

int watch_end(struct watch_run *run, const int *exit_status)
{
	struct store_end end = {.exit_status = exit_status};
	struct errtext err;
	int r;

	run->run_id = store_run_id(run->store);
	r = store_end(run->store, run->ledger, &end, &err);
	if (r)
		watch_say(err.text);
	store_close(run->store);
	run->store = NULL;
	return r;
}
