/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures what one run of each program costs on this machine, now, in a process that belongs to
 * the job: the per-read hook by CPU time with and without it, the others by the kernel's own
 * run-time statistics, which are on only meanwhile.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "cachemon/collector/cost.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/access/invoker.h"

/*
 * Starts the set and stops it again: of what was counted nothing is left but names in the ring (see
 * sampler_forget()). The per-read hook may be on or off afterwards, that of advice calls too. A
 * figure that cannot be measured (no directory whose files go through the page cache, say) is < 0.
 * -errno: what was counted could not be taken back.
 */
int calibrate(struct probe_set *set, const char *dir, const struct invoker *as,
	      struct calibration *ret);

/*
 * The cost of a program's run depends on what the job does: on the size of its folios, and on
 * pages whose fate a read settles. So the statistics are switched on for a moment from time to
 * time while it runs. Between the begin and the end of a measurement the caller lets some time
 * pass.
 */
struct calibration_stats {
	uint64_t ns[EV_NR], runs[EV_NR];
};

struct calibration_look {
	int stats_fd;
	struct calibration_stats before;
	uint64_t address_ns, since_ns;
	double address_share; /* of the time of the last look: run time of ROLE_FAULT_ADDRESS */
};

/* < 0: -errno, and nothing is open. */
int calibrate_look(struct probe_set *set, struct calibration_look *look);
/* Ends it: a price for those programs that ran for the job mostly; job_runs: its runs since. */
void calibrate_looked(struct probe_set *set, struct calibration_look *look,
		      const uint64_t job_runs[EV_NR], struct cost_charge *charge);

#endif
