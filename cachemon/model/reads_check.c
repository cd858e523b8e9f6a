/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/reads_check.h"

#include <stdio.h>

#include "cachemon/figures/show.h"

/* Of the greater one. */
#define DIFFER_MIN 0.01

static struct opt_i64 both(const struct counts *c, enum counter cached, enum counter direct)
{
	return opt_add(counts_get(c, cached), counts_get(c, direct));
}

/*
 * Bytes are compared, and not calls: a call that finds the end of a file, and each of a pipe, is
 * one for the kernel and none here, whatever was seen. An estimate differs where its interval does.
 */
static double missing_share(const struct model_job *job, const struct reads_check *c)
{
	double seen = (double)c->seen_bytes.value, kernel = (double)c->kernel_bytes.value;
	struct range r;
	double low = seen, high = seen;

	if (counts_range(&job->counts, ESTIMATE_READ_BYTES, &r)) {
		low += r.low.value - r.value.value;
		high += r.high.value - r.value.value;
	}
	if (kernel > high)
		return (kernel - high) / kernel;
	return kernel < low ? (kernel - low) / low : 0;
}

void reads_check(const struct model_job *job, struct reads_check *ret)
{
	struct shown seen, kernel;
	double missing;

	*ret = (struct reads_check){
		.seen_bytes = both(&job->counts, C_read_bytes, C_direct_read_bytes),
		.seen_calls = both(&job->counts, C_read_calls, C_direct_read_calls),
		.kernel_bytes = job->rchar_bytes,
		.kernel_calls = job->syscr_calls,
	};
	if (!ret->seen_bytes.known || !ret->kernel_bytes.known)
		return;
	missing = missing_share(job, ret);
	seen = show_bytes(ret->seen_bytes, job->counts.sliced);
	kernel = show_bytes(ret->kernel_bytes, false);
	if (missing > DIFFER_MIN)
		snprintf(
			ret->warning, sizeof(ret->warning),
			"The kernel counts %s that the job's tasks read, and the probes saw %s of "
			"them. The rest came from pipes, sockets, tmpfs or what else is not in the "
			"page cache, or %s: no figure here is about it.",
			kernel.s, seen.s,
			job->counts.bounds & (BOUND_ROW | BOUND_READS)
				? "was lost (see the lower bounds)"
				: "past it where no probe looks");
	else if (missing < -DIFFER_MIN)
		snprintf(ret->warning, sizeof(ret->warning),
			 "The probes saw the job read %s, and the kernel counts %s for its tasks. "
			 "Reads by AIO, io_uring and splice are not in the kernel's count; without "
			 "these, the figures of reads are too large.",
			 seen.s, kernel.s);
}
