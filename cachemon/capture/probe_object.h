/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled probes, one object a build, embedded in the program. Owns nothing else. */
#ifndef PROBE_OBJECT_H
#define PROBE_OBJECT_H

#include <stddef.h>

#include "cachemon/plan/probe_build.h"

/* The ELF file of a build. All have the maps, programs and variables of the skeleton. */
const void *probe_object_bytes(enum probe_build build, size_t *ret_size);

#endif
