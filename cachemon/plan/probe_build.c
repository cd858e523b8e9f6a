/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/probe_build.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[BUILD_NR] = {
	[BUILD_DIRECT] = "direct",
	[BUILD_PROBE] = "probe",
	[BUILD_BASIC] = "basic",
};

static bool has_kfunc(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* Helpers that a kernel has are the values of this enum, in the order in which they came. */
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

bool probe_build_evictors(enum probe_build build)
{
	return build != BUILD_BASIC;
}

enum probe_build probe_build_choose(const struct btf *btf)
{
	const char *wish = getenv("CACHEMON_PROBES");
	enum probe_build build = BUILD_BASIC;

	/* Of the helpers that the build calls the last to come. */
	if (has_helper(btf, "BPF_FUNC_map_lookup_percpu_elem"))
		build = has_kfunc(btf, "bpf_rdonly_cast") ? BUILD_DIRECT : BUILD_PROBE;
	for (int b = build; wish && b < BUILD_NR; b++) {
		if (!strcmp(names[b], wish))
			return b;
	}
	return build;
}
