/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/probe_build.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/plan/probe_plan.h"

static const char *const builds[BUILD_NR] = {
	[BUILD_DIRECT] = "direct",
	[BUILD_PROBE] = "probe",
	[BUILD_BASIC] = "basic",
};

static bool has_kfunc(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* The values of this enum are the helpers of a kernel, in the order in which they were added. */
static bool has_helper(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (unsigned int)id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	}
	return false;
}

bool probe_build_references(enum probe_build build)
{
	return build != BUILD_BASIC;
}

bool probe_build_traces(enum probe_build build)
{
	return build == BUILD_DIRECT;
}

bool probe_build_jobs(enum probe_build build)
{
	return build == BUILD_DIRECT;
}

bool probe_build_evictors(enum probe_build build)
{
	return build != BUILD_BASIC;
}

enum probe_build probe_build_choose(const struct btf *btf)
{
	const char *wish = getenv("CACHEMON_PROBES");
	enum probe_build build = BUILD_BASIC;

	/* The newest helper that the build calls. */
	if (has_helper(btf, "BPF_FUNC_map_lookup_percpu_elem"))
		build = has_kfunc(btf, "bpf_rdonly_cast") ? BUILD_DIRECT : BUILD_PROBE;
	for (int b = build; wish && b < BUILD_NR; b++) {
		if (!strcmp(builds[b], wish))
			return b;
	}
	return build;
}

static const struct {
	const char *name, *use;
} records[RECORD_NR] = {
	[RECORD_REFERENCES] = {"references", "the miss-ratio curve"},
	[RECORD_TRACES] = {"traces", "replays of readahead"},
	[RECORD_EVICTORS] = {"evictors", "evictors of the job's pages"},
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
		return "the programs for this kernel do not record references";
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
		return "level cold does not observe reads";
	if (!probe_build_traces(plan->build))
		return "the programs for this kernel do not record traces";
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!probe_plan_has(plan, needed[i]))
			return "a probe that traces need is missing; see the table of probes";
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
			return "the programs for this kernel do not record evictors";
		if (!probe_plan_has(plan, ROLE_PAGE_DELETE))
			return "there is no hook for pages that leave the cache";
		return NULL;
	default:
		return NULL;
	}
}
