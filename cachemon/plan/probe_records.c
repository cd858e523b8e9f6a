/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/probe_records.h"

static const struct {
	const char *name, *use;
} records[RECORD_NR] = {
	[RECORD_REFERENCES] = {"references", "the miss-ratio curve"},
	[RECORD_TRACES] = {"traces", "replays of readahead"},
	[RECORD_EVICTORS] = {"evictors", "who pushed out pages of the job"},
};

const char *probe_record_name(enum probe_record record)
{
	return records[record].name;
}

const char *probe_record_use(enum probe_record record)
{
	return records[record].use;
}

static const char *references_absent(const struct probe_plan *plan)
{
	const struct probe_choice *read = &plan->choices[ROLE_READ];

	if (plan->request.level == LEVEL_COLD)
		return "level cold has no per-read hook";
	if (!probe_build_references(plan->build))
		return "the programs for this kernel tell no references";
	if (read->state != PROBE_LIVE)
		return *read->reason ? read->reason : "there is no per-read hook";
	return NULL;
}

static const char *traces_absent(const struct probe_plan *plan)
{
	static const enum probe_role needed[] = {
		ROLE_PAGE_ADD,	      ROLE_PAGE_DELETE,	 ROLE_READ,
		ROLE_WINDOW_SYNC,     ROLE_WINDOW_ASYNC, ROLE_WINDOW_ORDER,
		ROLE_WINDOW_UNBOUNDED};

	if (plan->request.level == LEVEL_COLD)
		return "the level is cold: reads are not seen";
	if (!probe_build_traces(plan->build))
		return "the programs for this kernel do not record traces";
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!probe_plan_has(plan, needed[i]))
			return "a probe is not there that traces need: see the table of probes";
	return NULL;
}

const char *probe_record_absent(const struct probe_plan *plan, enum probe_record record)
{
	switch (record) {
	case RECORD_REFERENCES:
		return references_absent(plan);
	case RECORD_TRACES:
		return traces_absent(plan);
	case RECORD_EVICTORS:
		if (!probe_build_evictors(plan->build))
			return "the programs for this kernel do not tell who runs when a page goes";
		if (!probe_plan_has(plan, ROLE_PAGE_DELETE))
			return "there is no hook for pages that leave the cache";
		return NULL;
	default:
		return NULL;
	}
}
