/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run as a whole, as the model has it: where and when, how it was measured, what that cost and
 * what was lost. Owns types only.
 */
#ifndef REPORT_MODEL_RUN_H
#define REPORT_MODEL_RUN_H

#include <stdbool.h>

#include "cachemon/base/arena.h"
#include "cachemon/figures/counts.h"

struct model_probe {
	struct bytes role, hook, state, reason;
};

struct model_unmeasured {
	struct bytes counter, reason;
};

/* What was given up to keep the cost down. */
struct model_shed {
	struct bytes detail, reason;
	struct opt_i64 from_ns, to_ns; /* since the start; to_ns absent: to the end */
};

/* What a run cost, by what the probes are for; as columns of run. */
enum { MODEL_COST_PARTS = 6 };

struct model_run {
	int64_t id;
	struct bytes uuid, cachemon, host, kernel, arch, state, level, advice_mode;
	struct opt_i64 started_ns, duration_ns, sliced, read_on_ns, interval_ns, page_size_bytes,
		memory_bytes, map_bytes, exit_status, cpu_ns, probe_cpu_ns, collector_cpu_ns;
	struct opt_f64 probe_ns_per_lookup, share_of_job_cpu, advice_calls_ns;
	struct opt_f64 cost_budget, cost_share, over_budget_by; /* of the job's CPU time */
	struct opt_i64 budget_kept;
	struct opt_i64 cost_parts[MODEL_COST_PARTS];
	struct model_shed *shed;
	size_t nr_shed;
	struct opt_i64 map_full, chunk_full, ring_drops, state_drops, ghosts_dropped, advice_full,
		recursion_misses, intervals_lost, law_error_pages, untracked_pages;
	struct opt_i64 silent_files; /* whose reads may leave no event */
};

/* Versions that kept no budget saw waits by the per-read hook alone: in its slices. */
bool model_waits_in_slices(const struct model_run *run);

#endif
