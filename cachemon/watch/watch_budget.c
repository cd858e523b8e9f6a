/* SPDX-License-Identifier: BSD-2-Clause */
/* Levels auto and cold keep to --max-overhead: they drop detail piece by piece, and level auto
 * slices the per-read hook last. */
#include "cachemon/account/ledger_rows.h"
#include "cachemon/watch/watch_run.h"
#include "cachemon/base/clock.h"

/* A check costs some 100 us: it is worth more in a young or sliced run. */
#define BUDGET_TICK_NS	    50000000ULL
#define BUDGET_YOUNG_NS	    2000000000ULL
#define BUDGET_LATE_TICK_NS 250000000ULL

/*
 * The cost of a piece of detail for its task and the collector, on the test machine
 * (docs/cost.md): an event of a trace 2,300 instructions, its record and its decoding; a reference
 * 450 and its record; an evictor.
 */
#define TRACE_EVENT_NS 1300
#define REFERENCE_NS   300
#define EVICTOR_NS     110

enum { FILE_ROWS_FINE = 64 };

static const char over_purse[] = "recording it exceeded its share of the overhead budget";
static const char sliced_only[] =
	"from this point reads were watched in slices, to stay within --max-overhead";
static const char *const names[DETAIL_NR] = {"traces",	 "fault_addresses", "references",
					     "evictors", "file_rows",	    "per_read_hook"};

static void mark_shed(struct watch_run *run, enum watch_detail d, const char *reason)
{
	struct sample_shed *s = &run->shed[d];

	if (s->reason) {
		s->to_ns = 0;
		return;
	}
	s->detail = names[d];
	s->reason = reason;
	s->from_ns = clock_now_ns() - run->start_ns;
}

static void resumed(struct watch_run *run, enum watch_detail d)
{
	run->shed[d].to_ns = clock_now_ns() - run->start_ns;
}

static bool is_shed(const struct watch_run *run, enum watch_detail d)
{
	return run->shed[d].reason && !run->shed[d].to_ns;
}

size_t watch_shed_list(struct watch_run *run)
{
	size_t nr = 0;

	for (int d = 0; d < DETAIL_NR; d++)
		if (run->shed[d].reason)
			run->shed_list[nr++] = run->shed[d];
	return nr;
}

/* Since the start, by detail. */
static void detail_costs(const struct watch_run *run, double ret_ns[DETAIL_NR])
{
	ret_ns[DETAIL_TRACES] =
		run->traces ? (double)traces_events(run->traces) * TRACE_EVENT_NS : 0;
	ret_ns[DETAIL_FAULT_ADDRESSES] = run->address_ns;
	ret_ns[DETAIL_REFERENCES] =
		(double)reference_ring_taken(sampler_reference_ring(run->sampler)) * REFERENCE_NS;
	ret_ns[DETAIL_EVICTORS] = run->evictors_ns;
	ret_ns[DETAIL_FILE_ROWS] = run->file_rows_ns;
	ret_ns[DETAIL_READS] = 0;
}

/* The cost follows the pages that the job's tasks evict. */
static void count_evictors(struct watch_run *run)
{
	uint64_t deletes = run->charge.runs[EV_DELETE];

	if (probe_build_evictors(run->plan.build) && !is_shed(run, DETAIL_EVICTORS))
		run->evictors_ns += (double)(deletes - run->deletes_seen) * EVICTOR_NS;
	run->deletes_seen = deletes;
}

/* Whether to write file rows. Their cost is spread over the next interval, because other detail
 * costs all the time. */
bool watch_writes_file_rows(struct watch_run *run, uint64_t interval_ns)
{
	double ns;

	/* Short intervals have as many rows of files per second as long ones. */
	if (!run->o->interval_ns && run->interval_ns < WATCH_COARSE_NS)
		ledger_keep_active(run->ledger, FILE_ROWS_FINE);
	ns = (double)ledger_nr_active(run->ledger) * COST_ROW_NS;
	run->file_rows_share = 0;
	if (is_shed(run, DETAIL_FILE_ROWS))
		return false;
	if (interval_ns)
		run->file_rows_share = ns / (double)interval_ns;
	return true;
}

/* For the first time, or again. */
static void shed(struct watch_run *run, enum watch_detail d)
{
	mark_shed(run, d, over_purse);
	switch (d) {
	case DETAIL_TRACES:
		trace_ring_shed(sampler_trace_ring(run->sampler), over_purse);
		break;
	case DETAIL_FAULT_ADDRESSES:
		probe_set_hook(run->set, ROLE_FAULT_ADDRESS, false);
		run->address_share = 0;
		break;
	case DETAIL_REFERENCES:
		reference_ring_thin(sampler_reference_ring(run->sampler), over_purse);
		break;
	case DETAIL_EVICTORS:
		probe_set_evictors(run->set, false);
		break;
	case DETAIL_FILE_ROWS:
		run->file_rows_share = 0;
		break;
	default:
		break;
	}
}

/* Detail that can be resumed without a misleading gap. */
static void resume(struct watch_run *run)
{
	if (run->sliced)
		return;
	if (is_shed(run, DETAIL_EVICTORS)) {
		probe_set_evictors(run->set, true);
		resumed(run, DETAIL_EVICTORS);
	} else if (is_shed(run, DETAIL_FILE_ROWS)) {
		resumed(run, DETAIL_FILE_ROWS);
	} else if (is_shed(run, DETAIL_TRACES)) {
		trace_ring_resume(sampler_trace_ring(run->sampler));
		resumed(run, DETAIL_TRACES);
	}
}

/* The detail that cost most since the last check goes first. */
static void shed_dearest(struct watch_run *run, const double ns[DETAIL_NR])
{
	enum watch_detail most = DETAIL_TRACES;

	for (int d = 0; d < DETAIL_READS; d++)
		if (ns[d] - run->detail_ns[d] > ns[most] - run->detail_ns[most])
			most = (enum watch_detail)d;
	if (ns[most] > run->detail_ns[most])
		shed(run, most);
}

static void judge_detail(struct watch_run *run, const struct cost_seen *seen)
{
	double ns[DETAIL_NR], sum = 0, may = budget_detail_ns(&run->budget, seen);

	detail_costs(run, ns);
	for (int d = 0; d < DETAIL_READS; d++)
		sum += ns[d];
	if (sum > may) {
		shed_dearest(run, ns);
	} else if (sum < may / 2) {
		resume(run);
	}
	for (int d = 0; d < DETAIL_NR; d++)
		run->detail_ns[d] = ns[d];
}

/* Counts go last: from here, figures of the per-read hook are estimates. */
static void begin_slices(struct watch_run *run)
{
	const bool there[DETAIL_NR] = {
		[DETAIL_TRACES] = run->traces,
		[DETAIL_FAULT_ADDRESSES] = *run->plan.choices[ROLE_FAULT_ADDRESS].hook,
		[DETAIL_REFERENCES] = !*run->references_absent,
		[DETAIL_EVICTORS] = probe_build_evictors(run->plan.build),
		[DETAIL_FILE_ROWS] = true,
	};

	for (int d = 0; d < DETAIL_READS; d++)
		if (there[d])
			mark_shed(run, (enum watch_detail)d, sliced_only);
	probe_set_hook(run->set, ROLE_FAULT_ADDRESS, false);
	run->address_share = 0;
	probe_set_evictors(run->set, false);
	run->file_rows_share = 0;
	mark_shed(run, DETAIL_READS,
		  "it exceeded the overhead budget, so it is active only in randomly placed "
		  "slices; counters that need it are estimated");
	watch_slices_begin(run);
	watch_traces_end(run, sliced_only);
	reference_ring_end(sampler_reference_ring(run->sampler), sliced_only);
}

void watch_budget_begin(struct watch_run *run)
{
	if (run->o->level == LEVEL_FULL && run->o->overhead_given)
		watch_say("level full counts everything, whatever it costs: --max-overhead "
			  "has no effect");
	if (run->o->level == LEVEL_FULL)
		return;
	budget_begin(&run->budget, run->o->max_overhead);
	if (run->o->level == LEVEL_AUTO)
		reference_ring_limit_burst(sampler_reference_ring(run->sampler),
					   BUDGET_PURSE_NS / REFERENCE_NS);
}

void watch_run_budget(struct watch_run *run)
{
	uint64_t now = clock_now_ns();
	struct cost_seen seen;

	if (run->o->level == LEVEL_FULL || now < run->budget_ns)
		return;
	run->address_ns += run->address_share * (double)(now - run->budget_seen_ns);
	run->file_rows_ns += run->file_rows_share * (double)(now - run->budget_seen_ns);
	run->budget_seen_ns = now;
	run->budget_ns = now + BUDGET_LATE_TICK_NS;
	if (run->sliced || now - run->start_ns < BUDGET_YOUNG_NS)
		run->budget_ns = now + BUDGET_TICK_NS;
	if (watch_cost_seen(run, &seen))
		return;
	count_evictors(run);
	judge_detail(run, &seen);
	if (run->sliced)
		run->duty = cost_duty(&seen, run->o->max_overhead);
	else if (run->o->level == LEVEL_AUTO && budget_slices(&run->budget, &seen))
		begin_slices(run);
}
