/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures what one run of each program costs on this machine, now: the per-read hook by CPU time
 * with and without it, the others by the kernel's own run-time statistics, which are on only
 * meanwhile. Owns a file of 1 MiB in dir that has no name.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "capture/cost.h"
#include "capture/probe_set.h"

/* After probe_set_start(). Leaves the per-read hook as it was. A figure that cannot be measured
 * (dir outside the page cache, say) is < 0; never fails. */
void calibrate(struct probe_set *set, const char *dir, struct calibration *ret);

#endif
