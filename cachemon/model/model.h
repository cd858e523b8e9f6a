/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The content of a report, read from the database in one transaction: the run (where and when, how
 * it was measured, its cost and losses), its probes, jobs, files, directories and advice. Owns the
 * types; every output format reads only this.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/base/arena.h"
#include "cachemon/figures/counts.h"

struct model_probe {
	struct bytes role, hook, state, reason;
};

struct model_unmeasured {
	struct bytes counter, reason;
};

/* Detail that was dropped to reduce the cost. */
struct model_shed {
	struct bytes detail, reason;
	struct opt_i64 from_ns, to_ns; /* since the start; to_ns absent: to the end */
};

/* The cost of a run, by purpose of the probes; as the columns of run. */
enum { MODEL_COST_PARTS = 6 };

struct model_run {
	int64_t id;
	struct bytes uuid, cachemon, host, user, kernel, arch, state, level, advice_mode;
	struct opt_i64 started_ns, duration_ns, sliced, read_on_ns, interval_ns, page_size_bytes,
		memory_bytes, map_bytes, exit_status, cpu_ns, probe_cpu_ns, collector_cpu_ns;
	struct opt_f64 probe_ns_per_lookup, share_of_job_cpu, advice_calls_ns;
	struct opt_f64 cost_budget, cost_share, over_budget_by; /* shares of the job's CPU time */
	struct opt_i64 budget_kept;
	struct opt_i64 cost_parts[MODEL_COST_PARTS];
	struct model_shed *shed;
	size_t nr_shed;
	struct opt_i64 map_full, chunk_full, ring_drops, state_drops, ghosts_dropped, advice_full,
		recursion_misses, intervals_lost, law_error_pages, untracked_pages;
	struct opt_i64 silent_files; /* files whose reads may leave no event */
};

/* Versions without a budget saw waits only by the per-read hook, in its slices. */
bool model_waits_in_slices(const struct model_run *run);

/* Sleeps for the page cache, by length. */
struct model_waits {
	const char *absent; /* why they are not known; NULL: they are */
	int64_t sleeps[WAIT_BUCKETS];
};

struct model_file {
	int64_t id;
	struct bytes path, fstype;
	struct opt_i64 dev_major, dev_minor, ino, gen, size_bytes; /* ino: two's complement */
	bool deleted;
	struct counts counts;
	struct model_waits waits;
};

struct model_directory {
	int64_t id;
	struct bytes path;
	struct opt_i64 files;
	bool files_estimated; /* at least this many */
	bool subdirectories;  /* includes subdirectories without a row */
	struct counts counts;
};

struct model_filesystem {
	struct bytes type, mount, cover, why;
	struct opt_i64 dev_major, dev_minor; /* absent: not on a filesystem of the list */
	struct opt_i64 read_ahead_kb;	     /* of its device, during the run */
	struct opt_i64 rotational, network;  /* 0 or 1, of its device */
	struct opt_i64 files;
	bool files_estimated; /* at least this many */
	struct bytes device;  /* name of its block device; empty: none */
	/* Of that device during the run, by all processes. */
	struct opt_i64 device_reads, device_read_ms;
	struct counts counts;
};

/* Mean time of such a read. */
struct opt_i64 model_device_read_ns(const struct model_filesystem *f);

struct model_advice {
	int64_t id;
	struct bytes path, kind, call;
	struct opt_i64 calls, offset_bytes, length_bytes, pages_asked, pages_brought, pages_dropped;
	struct opt_i64 cached_pages, redundant_pages, dropped_refaults, dropped_refaults_others;
	struct opt_i64 used, used_late, evicted_unused, resident_unused,
		untracked; /* fates of brought pages */
};

struct model_detail;

struct model_job {
	int64_t id, slot;
	struct bytes name, selector;
	/* Its names in the system that runs it; empty: unknown, or no such name. */
	struct bytes kind, external_id, step, job_name, partition;
	struct opt_i64 uid;
	struct opt_i64 processes, alive, wall_ns, cpu_ns, rchar_bytes;
	struct opt_i64 syscr_calls;	   /* calls that read from anything */
	struct opt_i64 oom_kills;	   /* processes that the OOM killer ended at its memory
					    * limit */
	struct opt_i64 limit_bytes;	   /* that limit */
	struct bytes limit_at;		   /* directory of its cgroup, or of the job's own */
	bool limit_known;		   /* it is recorded whether there is a limit */
	struct opt_i64 outside_read_bytes; /* bytes that no hook saw, at least */
	struct model_waits waits;
	struct counts counts;
	struct model_file *files; /* most misses first */
	size_t nr_files;
	struct counts rest; /* the job without the files above */
	struct opt_i64 rest_files;
	struct model_directory *directories;
	size_t nr_directories;
	struct model_filesystem *filesystems;
	size_t nr_filesystems;
	struct model_advice *advice;
	size_t nr_advice;
	const struct model_detail *detail; /* NULL: not requested, or of (others) */
};

struct analysis;
struct wording;

struct model {
	const char *db; /* the name of its database, for commands; NULL: the default one */
	struct model_run run;
	const struct analysis *analysis; /* the advisor's; NULL: no analysis */
	const struct wording *wording;	 /* a language model's; NULL: none requested */
	struct model_probe *probes;
	size_t nr_probes;
	struct model_unmeasured *unmeasured;
	size_t nr_unmeasured;
	struct model_job *jobs; /* watched jobs first, "(others)" last */
	size_t nr_jobs;
	struct arena arena;
};

bool model_others(const struct model_job *job);
/* The command line, or the name of a running job's command; empty: unknown. */
struct bytes model_command(const struct model_job *job);
/* The job that a sentence is about: the first watched one, or "(others)" if it is the only one. */
const struct model_job *model_main_job(const struct model *m);

#endif
