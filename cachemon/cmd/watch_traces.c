/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "account/ledger_rows.h"
#include "cmd/watch_run.h"

/* NULL: nothing is in the way. */
static const char *why_not(const struct watch_run *run)
{
	static const enum probe_role needed[] = {
		ROLE_PAGE_ADD,	      ROLE_PAGE_DELETE,	 ROLE_READ,
		ROLE_WINDOW_SYNC,     ROLE_WINDOW_ASYNC, ROLE_WINDOW_ORDER,
		ROLE_WINDOW_UNBOUNDED};

	if (run->o->level == LEVEL_COLD)
		return "the level is cold: reads are not seen";
	if (!probe_build_records(run->plan.build))
		return "the programs for this kernel do not record traces";
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!probe_plan_has(&run->plan, needed[i]))
			return "a probe is not there that traces need: see the table of probes";
	return NULL;
}

void watch_traces_begin(struct watch_run *run)
{
	struct traces_config config = {.start_ns = run->start_ns,
				       .page_shift =
					       (unsigned int)__builtin_ctzl(run->caps.page_size)};
	const char *reason = why_not(run);

	if (!reason && traces_new(&config, &run->traces))
		reason = "out of memory";
	if (!reason && sampler_trace(run->sampler, run->traces))
		reason = "the ring of traces could not be read";
	if (reason)
		store_no_traces(run->store, reason);
	else
		store_traces(run->store, run->traces);
}

void watch_traces_see(struct watch_run *run, const struct sample *s, bool last)
{
	if (!run->traces)
		return;
	if (run->sliced && !run->traces_stopped) {
		run->traces_stopped = true;
		sampler_trace_stop(run->sampler, "the per-read hook is on only at times");
		store_no_traces(run->store, "the per-read hook is on only at times");
	}
	if (!run->traces_stopped && traces_full(run->traces)) {
		run->traces_stopped = true;
		store_no_traces(run->store, "as much was recorded as is kept of one run: no more "
					    "files were chosen");
	}
	sampler_trace_look(run->sampler, s, last);
	for (size_t i = 0; i < ledger_nr_active(run->ledger); i++) {
		const struct ledger_file *f = ledger_active(run->ledger, i);

		if (f->job == JOB_WATCHED)
			traces_see_name(run->traces, &f->key, f->path, f->fstype);
	}
}
