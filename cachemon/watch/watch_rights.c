/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run gives up of its capabilities once the probes are attached. */
#include <string.h>
#include <unistd.h>

#include "cachemon/watch/watch_run.h"
#include "cachemon/access/privileges.h"

#define LOADING (PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON))

/* For as long as the run goes on: timing the programs (bpf_enable_stats), and the mounts of other
 * users' processes. Neither is needed, both are used where they were given. */
#define GOING_ON (PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_SYS_PTRACE))

/* Files of the database come and go as whom it was started for, and signals go to CMD. */
static uint64_t for_files(const struct watch_run *run)
{
	if (run->invoker.switched)
		return PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) | PRIVILEGE(CAP_KILL);
	if (geteuid())
		return 0;
	/* Root's own run may write anywhere, as it did when it was started; and into a user's
	 * database as that user. */
	return PRIVILEGE(CAP_DAC_OVERRIDE) | PRIVILEGE(CAP_CHOWN) | PRIVILEGE(CAP_FOWNER) |
	       (store_switches(run->store) ? PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) : 0);
}

/* What a run asks of the kernel once it has begun. Not who is in the job: looking at that marks
 * them as counted, and is over when capabilities are given up. */
static int try_probes(struct watch_run *run)
{
	bool reads = run->plan.choices[ROLE_READ].state == PROBE_LIVE;
	uint64_t runs[JOB_NR][EV_NR];
	int r = probe_set_reads(run->set, false);

	if (!r && reads)
		r = probe_set_reads(run->set, true);
	if (!r)
		r = probe_set_sweep_names(run->set, NAMES_OF_ALL);
	if (!r)
		r = probe_set_events(run->set, runs);
	return r;
}

void watch_rights_try(struct watch_run *run)
{
	static const uint64_t loading[] = {0, PRIVILEGE(CAP_BPF), LOADING};
	uint64_t beside = privileges_permitted() & (GOING_ON | for_files(run)), all = ~UINT64_C(0);
	size_t i = 0;

	/* CAP_SYS_ADMIN stands for both, so it stays out of the trial. */
	for (; i < 2; i++) {
		if (!privileges_use((beside & ~PRIVILEGE(CAP_SYS_ADMIN)) | loading[i]) &&
		    !try_probes(run))
			break;
	}
	privileges_use(all);
	run->rights = beside | loading[i];
}

int watch_rights_drop(struct watch_run *run, struct errtext *err)
{
	int r = privileges_keep(run->rights);

	return r ? errtext_set(err, r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}
