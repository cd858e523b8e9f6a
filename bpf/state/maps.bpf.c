// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables alone. They are created before the programs, which several threads load
 * (cachemon/capture/probe_set_load.c). */
#include "bpf/kernel/build.bpf.h"
#include "bpf/state/maps.bpf.h"
