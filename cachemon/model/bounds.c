/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/bounds.h"

#include <stdio.h>

#include "cachemon/figures/show.h"

static bool is_lost(struct opt_i64 n)
{
	return n.known && n.value > 0;
}

/* The kind and amount of a loss, as a sentence. */
struct loss {
	const char *figures;
	struct opt_i64 n;
	const char *before, *after;
	bool marked; /* kind, as in struct bound */
};

size_t bounds_of(const struct model_run *run, struct bound ret[BOUNDS_MAX])
{
	const struct loss losses[BOUNDS_MAX] = {
		{"all", run->state_drops, "",
		 " tasks did not get a state in the kernel. Their activity and that of their "
		 "children is not counted, so every figure of the job is a lower bound.",
		 true},
		{"all", run->recursion_misses, "The kernel skipped ",
		 " runs of cachemon's programs on this machine because of recursion. The job's "
		 "activity at those moments is not counted, so every figure of the job is a lower "
		 "bound.",
		 true},
		{"files", run->map_full, "The map of file rows was full ",
		 " times. The counts are in the totals but not in any row, so the figures of files "
		 "and directories are lower bounds.",
		 true},
		{"evictions", run->chunk_full, "The map of page state was full ",
		 " times. The fate of pages without state is unknown, so evictions, fates and "
		 "refaults are lower bounds. Evictions of other processes may include some of the "
		 "job's pages.",
		 true},
		{"refaults", run->ghosts_dropped, "To make room, ",
		 " evicted pages were forgotten, so refaults are lower bounds.", true},
		{"reads", run->silent_files, "Reads of squashfs (",
		 " of its files were read) may leave no event when they end in the last page of a "
		 "file. Read calls, bytes, lookups and hits are therefore lower bounds, and the "
		 "use of its prefetched pages is unknown.",
		 true},
		{"advice", run->advice_full, "There was no room for ",
		 " pieces of advice: they have no row, so the list of advice is incomplete.",
		 false},
	};
	size_t nr = 0;

	for (size_t i = 0; i < BOUNDS_MAX; i++) {
		const struct loss *l = &losses[i];

		if (!is_lost(l->n))
			continue;
		ret[nr].figures = l->figures;
		ret[nr].marked = l->marked;
		snprintf(ret[nr].reason, sizeof(ret[nr].reason), "%s%s%s", l->before,
			 show_count(l->n, false).s, l->after);
		nr++;
	}
	return nr;
}

unsigned int bounds_of_totals(const struct model_run *run)
{
	return (is_lost(run->state_drops) || is_lost(run->recursion_misses) ? BOUND_ROW : 0) |
	       (is_lost(run->chunk_full) ? BOUND_PAGES : 0) |
	       (is_lost(run->ghosts_dropped) ? BOUND_REFAULTS : 0) |
	       (is_lost(run->silent_files) ? BOUND_READS : 0);
}

unsigned int bounds_of_row(const struct model_run *run)
{
	return (bounds_of_totals(run) & ~(unsigned int)BOUND_READS) |
	       (is_lost(run->map_full) ? BOUND_ROW : 0);
}

unsigned int bounds_of_fstype(const struct model_run *run, const struct bytes *fstype)
{
	return is_lost(run->silent_files) && bytes_is(fstype, "squashfs") ? BOUND_READS : 0;
}

/* The difference as a share of the larger one. */
#define DIFFER_MIN 0.01

static struct opt_i64 sum_of_both(const struct counts *c, enum counter cached, enum counter direct)
{
	return opt_add(counts_get(c, cached), counts_get(c, direct));
}

/* Compares bytes, not calls: a call that finds the end of a file, or each call on a pipe, counts
 * for the kernel but not here, whatever was seen. An estimate differs if its whole interval
 * does. */
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

void bounds_check_reads(const struct model_job *job, struct reads_check *ret)
{
	struct shown seen, kernel;
	double missing;

	*ret = (struct reads_check){
		.seen_bytes = sum_of_both(&job->counts, C_read_bytes, C_direct_read_bytes),
		.seen_calls = sum_of_both(&job->counts, C_read_calls, C_direct_read_calls),
		.kernel_bytes = job->rchar_bytes,
		.kernel_calls = job->syscr_calls,
	};
	if (!ret->seen_bytes.known || !ret->kernel_bytes.known)
		return;
	missing = missing_share(job, ret);
	seen = show_bytes(ret->seen_bytes, job->counts.sliced);
	kernel = show_bytes(ret->kernel_bytes, false);
	if (missing > DIFFER_MIN)
		snprintf(ret->warning, sizeof(ret->warning),
			 "The kernel counted %s read by the job's tasks, and the probes observed "
			 "%s. The rest came from pipes, sockets, tmpfs or other sources outside "
			 "the page cache, or %s; no figure here includes it.",
			 kernel.s, seen.s,
			 job->counts.bounds & (BOUND_ROW | BOUND_READS)
				 ? "was lost (see the lower bounds)"
				 : "bypassed the cache where no probe observes reads");
	else if (missing < -DIFFER_MIN)
		snprintf(ret->warning, sizeof(ret->warning),
			 "The probes observed %s read by the job, but the kernel counted only %s "
			 "for its tasks. The kernel does not count reads by AIO, io_uring and "
			 "splice. If the job used none of these, the read figures are too large.",
			 seen.s, kernel.s);
}
