/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of a run for a monitoring system: a file that is replaced while the run goes on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/access/access.h"
#include "cachemon/access/publish.h"
#include "cachemon/account/ledger_rows.h"
#include "cachemon/metrics/metrics.h"
#include "cachemon/watch/watch_run.h"

/* A scraper does not look more often, and each time costs a rename. */
#define EVERY_NS 1000000000ULL

struct watch_metrics {
	struct metrics *metrics;
	uint64_t written_ns; /* CLOCK_MONOTONIC */
	bool complained;
};

/* Only counts taken all the time: an estimate or a lower bound is not a counter. */
static void take_counts(const struct watch_run *run, const struct counters *total,
			struct counts *ret)
{
	watch_counts(run, total, ret);
	if (!run->sliced)
		return;
	counts_slice(ret, NULL, false);
	for (int c = 0; c < C_NR; c++)
		if (counter_group((enum counter)c) == GROUP_FATE || c == C_untracked)
			counts_forget(ret, (enum counter)c);
}

static struct opt_i64 known_if_positive(int64_t value)
{
	return (struct opt_i64){value, value >= 0};
}

static int write_metrics(struct watch_run *run, const struct sample *s, bool last, FILE *out)
{
	const struct ledger_job *job = ledger_job(run->ledger, JOB_WATCHED);
	struct loss_counts lost = s->losses;
	struct metrics_loss losses[METRICS_LOSSES];
	struct metrics_probe probes[ROLE_NR];
	size_t nr = ledger_nr_filesystems(run->ledger);
	struct metrics_mount *mounts = calloc(nr, sizeof(*mounts));
	struct metrics_job of = {
		.manager = run->selector.identity.kind,
		.jobid = selector_label(&run->selector, run->o->job),
		.name = selector_title(&run->selector, run->o->job),
		.step = run->selector.identity.step,
		.partition = run->selector.identity.partition,
		.past = run->metrics->metrics,
		.running = {!last, true},
		.facts = {[METRICS_CPU_NS] = {(int64_t)job->facts.cpu_ns, true},
			  [METRICS_RCHAR_BYTES] = {(int64_t)job->facts.rchar_bytes, true}},
		.processes = {(int64_t)job->facts.alive, true},
		.mounts = mounts,
		.nr_mounts = nr,
	};
	struct metrics_node node = {
		.version = CACHEMON_VERSION,
		.probes = probes,
		.nr_probes = ROLE_NR,
		.losses = losses,
		.probe_cpu_ns = known_if_positive(s->cost.probe_cpu_ns),
		.collector_cpu_ns = {s->cost.collector_cpu_ns, true},
		.past = run->metrics->metrics,
		.jobs = &of,
		.nr_jobs = 1,
	};
	int64_t uid = watch_uid(run);
	char user[256];
	int r;

	if (!mounts)
		return -ENOMEM;
	lost.advice_full += ledger_advice_lost(run->ledger);
	node.nr_losses = metrics_losses(&lost, false, losses);
	if (uid >= 0) {
		invoker_user_name((uid_t)uid, user, sizeof(user));
		of.user = user;
	}
	for (int i = 0; i < ROLE_NR; i++)
		probes[i] = (struct metrics_probe){probe_role_name(i),
						   run->plan.choices[i].state == PROBE_LIVE};
	for (size_t i = 0; i < nr; i++) {
		const struct ledger_filesystem *f = ledger_filesystem(run->ledger, i);
		const struct sample_filesystem *fs =
			f->rest ? NULL : sample_filesystem_of(s, f->dev);

		mounts[i].mount = f->mount;
		mounts[i].device = fs ? fs->device : NULL;
		take_counts(run, &f->total, &mounts[i].counts);
	}
	take_counts(run, &job->total, &of.counts);
	r = metrics_write(&node, METRICS_TEXT, out);
	free(mounts);
	return r;
}

static int replace_file(struct watch_run *run, const struct sample *s, bool last,
			struct errtext *err)
{
	struct access saved;
	struct output o;
	int r = access_enter(&run->invoker, &saved);

	if (r)
		return errtext_set(err, r, "cannot act as user %u: %s", run->invoker.uid,
				   strerror(-r));
	r = publish_open(run->o->metrics_file, &o, err);
	if (!r) {
		r = write_metrics(run, s, last, o.out);
		if (r) {
			publish_abort(&o);
			errtext_set(err, r, "out of memory");
		} else {
			r = publish_replace(&o, err);
		}
	}
	access_leave(&saved);
	return r;
}

int watch_metrics_begin(struct watch_run *run, struct errtext *err)
{
	run->metrics = calloc(1, sizeof(*run->metrics));
	if (run->metrics)
		run->metrics->metrics = metrics_new();
	return run->metrics && run->metrics->metrics ? 0
						     : errtext_set(err, -ENOMEM, "out of memory");
}

void watch_metrics_take(struct watch_run *run, const struct sample *s, bool last)
{
	struct watch_metrics *m = run->metrics;
	struct errtext err;

	if (!m || (!last && s->end_ns - m->written_ns < EVERY_NS))
		return;
	m->written_ns = s->end_ns;
	if (!replace_file(run, s, last, &err)) {
		m->complained = false;
		return;
	}
	/* The file stays as it is now. */
	if (last)
		m->complained = false;
	watch_complain(&m->complained, err.text);
}

bool watch_metrics_incomplete(const struct watch_run *run)
{
	return run->metrics && run->metrics->complained;
}

void watch_metrics_end(struct watch_run *run)
{
	if (run->metrics)
		metrics_free(run->metrics->metrics);
	free(run->metrics);
	run->metrics = NULL;
}
