/* SPDX-License-Identifier: BSD-2-Clause */
/* What doctor says of capabilities and of settings that restrict. */
#include <linux/capability.h>
#include <string.h>

#include "cachemon/doctor/doctor.h"

const struct doctor_cap *doctor_caps(void)
{
	static const struct doctor_cap caps[] = {
		{CAP_BPF, "CAP_BPF", true, "making maps and loading the probes",
		 "no probe can be loaded, nothing measured"},
		{CAP_PERFMON, "CAP_PERFMON", true, "probes that read kernel memory",
		 "no probe may read kernel memory, nothing can be measured"},
		{CAP_SYSLOG, "CAP_SYSLOG", false, "reading kernel addresses at the start",
		 "kernel addresses are hidden, so that eviction causes which only a stack tells "
		 "are not measured"},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false,
		 "the mounts of other users' processes, and these under hidepid",
		 "a file that was seen without its mount may keep a path whose beginning is "
		 "unknown"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false,
		 "timing the probes; it also stands for CAP_BPF and CAP_PERFMON",
		 "own cost is not known, and level auto slices nothing"},
		{CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", false,
		 "raising the limit of locked memory at the start",
		 "the maps must fit into that limit"},
		{0, NULL, false, NULL, NULL},
	};

	return caps;
}

const char *doctor_cap_remedy(void)
{
	return "run as root, or once: sudo setcap cap_bpf,cap_perfmon,cap_syslog+ep "
	       "\"$(command -v cachemon)\"";
}

const char *doctor_cap_spared(const struct kernel_caps *caps, int cap)
{
	switch (cap) {
	case CAP_SYSLOG:
		return caps->kallsyms == CAPS_YES ? "kernel addresses are readable without" : NULL;
	case CAP_SYS_ADMIN:
		return caps->bpf_stats == CAPS_YES
			       ? "kernel.bpf_stats_enabled is 1: the probes are timed without"
			       : NULL;
	case CAP_SYS_RESOURCE:
		if (caps->memlock_binds == CAPS_NO)
			return "this kernel does not count maps as locked memory";
		return caps->memlock_bytes == UINT64_MAX ? "locked memory is unlimited" : NULL;
	default:
		return NULL;
	}
}

const char *doctor_lockdown_means(const struct kernel_caps *caps)
{
	if (!strcmp(caps->lockdown, "integrity"))
		return "integrity: nothing that cachemon does is forbidden";
	if (!strcmp(caps->lockdown, "confidentiality"))
		return "confidentiality: BPF programs may not read kernel memory, so watch cannot "
		       "run; integrity allows it";
	return NULL;
}

const char *doctor_paranoid_means(const struct kernel_caps *caps)
{
	if (caps->kallsyms != CAPS_NO)
		return NULL;
	if (caps->kptr_restrict >= 2)
		return "addresses are hidden from everybody while kernel.kptr_restrict is 2";
	return "addresses are shown with CAP_SYSLOG, or where kernel.kptr_restrict is 0 and "
	       "kernel.perf_event_paranoid 1 or less";
}

const char *doctor_unprivileged_means(const struct kernel_caps *caps)
{
	if (caps->unprivileged_bpf_disabled > 0)
		return "loading takes CAP_BPF; so does using what is loaded, before Linux 5.19: "
		       "there watch keeps it";
	return NULL;
}
