/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of a build of the probes, as in CACHEMON_PROBES. */
#ifndef BUILD_NAME_H
#define BUILD_NAME_H

#include "cachemon/plan/probe_build.h"

static inline const char *build_name(enum probe_build build)
{
	static const char *const names[BUILD_NR] = {
		[BUILD_DIRECT] = "direct",
		[BUILD_PROBE] = "probe",
		[BUILD_BASIC] = "basic",
	};

	return names[build];
}

#endif
