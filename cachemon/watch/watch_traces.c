/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/watch/watch_run.h"
#include "cachemon/plan/probe_build.h"

void watch_traces_begin(struct watch_run *run)
{
	struct traces_config config = {.start_ns = run->start_ns,
				       .page_shift =
					       (unsigned int)__builtin_ctzl(run->caps.page_size)};
	const char *reason = probe_record_absent(&run->plan, RECORD_TRACES);

	if (!reason && traces_new(&config, &run->traces))
		reason = "out of memory";
	if (!reason && sampler_trace(run->sampler, run->traces))
		reason = "the ring of traces could not be read";
	if (reason) {
		store_no_traces(run->store, reason);
		return;
	}
	store_traces(run->store, run->traces);
	watch_hook_on(run, ROLE_FAULT_ADDRESS);
}

/* No file is traced any more, or none is chosen: why. */
static void stop(struct watch_run *run, const char *why)
{
	run->traces_stopped = true;
	store_no_traces(run->store, why);
}

void watch_traces_end(struct watch_run *run, const char *why)
{
	if (!run->traces || run->traces_stopped)
		return;
	trace_ring_stop(sampler_trace_ring(run->sampler), why);
	stop(run, why);
}

void watch_traces_see(struct watch_run *run, const struct sample *s, bool last)
{
	if (!run->traces)
		return;
	if (!run->traces_stopped && traces_full(run->traces))
		stop(run, "as much was recorded as is kept of one run: no more files were chosen");
	trace_ring_look(sampler_trace_ring(run->sampler), s, last);
	for (size_t i = 0; i < ledger_nr_active(run->ledger); i++) {
		const struct ledger_file *f = ledger_active(run->ledger, i);

		if (f->job == JOB_WATCHED)
			traces_see_name(run->traces, &f->key, f->path, f->fstype);
	}
}
