/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the present cost of one run of each program on this machine, in a process that belongs
 * to the job: the per-read hook by CPU time with and without it, the others by the kernel's
 * run-time statistics, which are on only for that time.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "cachemon/collector/cost.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/access/invoker.h"

/* Starts the set and stops it again; no counts remain, only names in the ring (see
 * sampler_forget()). Afterwards the per-read hook and the hook of advice calls may be on or off. A
 * figure that cannot be measured (for example, without a directory whose files use the page cache)
 * is < 0. -errno: the counts could not be discarded. */
int calibrate(struct probe_set *set, const char *dir, const struct invoker *as,
	      struct calibration *ret);

/* The time that the hook of a role on every system call adds to the cheapest one, by the CPU time
 * of this process, with the hook alternately on and off; ns, < 0: below the noise, or it failed.
 * The set is started, and the hook is off afterwards. */
double calibrate_call(struct probe_set *set, enum probe_role role);

/*
 * The cost of a program's run depends on the job: on the size of its folios, and on pages whose
 * fate a read settles. So the statistics are switched on briefly from time to time during the run.
 * The caller lets some time pass between the beginning and the end of a measurement.
 */
struct calibration_stats {
	uint64_t ns[EV_NR], runs[EV_NR];
};

struct calibration_look {
	int stats_fd;
	struct calibration_stats before;
	uint64_t address_ns, since_ns;
	double address_share; /* at the last measurement: run time of ROLE_FAULT_ADDRESS */
};

/* < 0: -errno, and nothing is open. */
int calibrate_look(struct probe_set *set, struct calibration_look *look);
/* Ends a measurement: gives a price for the programs that ran mostly for the job. job_runs: the
 * job's runs since its start. */
void calibrate_looked(struct probe_set *set, struct calibration_look *look,
		      const uint64_t job_runs[EV_NR], struct cost_charge *charge);
/* The same for runs in all tasks. counted: those since its start that the programs counted; their
 * price contains the others, of tasks that a program leaves alone. */
void calibrate_looked_all(struct probe_set *set, struct calibration_look *look,
			  const uint64_t counted[EV_NR], struct cost_charge *charge);

#endif
