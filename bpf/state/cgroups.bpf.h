/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cgroup of a task in each hierarchy. */
#ifndef CGROUPS_BPF_H
#define CGROUPS_BPF_H

#include "bpf/state/maps.bpf.h"

/* by: JOB_BY_*, a constant, so that the verifier removes the other cases, whose controllers this
 * kernel may lack. */
static __always_inline __u32 controller_of(__u32 by)
{
	switch (by) {
	case JOB_BY_FREEZER:
		return bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id);
	case JOB_BY_CPUSET:
		return bpf_core_enum_value(enum cgroup_subsys_id, cpuset_cgrp_id);
	case JOB_BY_CPUACCT:
		return bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id);
	case JOB_BY_PIDS:
		return bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id);
	default:
		return bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	}
}

static __always_inline struct cgroup *controller_cgroup(struct css_set *set, __u32 controller)
{
	__u64 css = load_ptr((__u64)set + bpf_core_field_offset(struct css_set, subsys) +
			     controller * 8);

	return READ(CAST(cgroup_subsys_state, css), cgroup);
}

/* The one that limits its memory. */
static __always_inline struct cgroup *memory_cgroup(struct css_set *set)
{
	return controller_cgroup(set, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
}

/* by: JOB_BY_*, a constant. */
static __always_inline struct cgroup *cgroup_in(struct css_set *set, __u32 by)
{
	return by == JOB_BY_V2 ? READ(set, dfl_cgrp) : controller_cgroup(set, controller_of(by));
}

#endif
