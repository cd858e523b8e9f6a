/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report contains, read from the database in one transaction: the run, its probes, jobs,
 * files, directories and advice. Owns the types; every output format reads this and nothing else.
 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <stddef.h>

#include "cachemon/base/arena.h"
#include "cachemon/figures/counts.h"
#include "cachemon/model/model_run.h"

struct model_file {
	int64_t id;
	struct bytes path, fstype;
	struct opt_i64 dev_major, dev_minor, ino, gen, size_bytes; /* ino: two's complement */
	bool deleted;
	struct counts counts;
};

struct model_directory {
	int64_t id;
	struct bytes path;
	struct opt_i64 files;
	bool files_estimated; /* at least so many */
	bool subdirectories;  /* with directories below it that got no row */
	struct counts counts;
};

struct model_filesystem {
	struct bytes type, mount, cover, why;
	struct opt_i64 dev_major, dev_minor; /* absent: what is on no filesystem of the list */
	struct opt_i64 files;
	bool files_estimated; /* at least so many */
	struct counts counts;
};

struct model_advice {
	int64_t id;
	struct bytes path, kind, call;
	struct opt_i64 calls, offset_bytes, length_bytes, pages_asked, pages_brought, pages_dropped;
	struct opt_i64 cached_pages, redundant_pages, dropped_refaults, dropped_refaults_others;
	struct opt_i64 used, used_late, evicted_unused, resident_unused, untracked; /* of brought */
};

struct model_detail;

struct model_job {
	int64_t id, slot;
	struct bytes name, selector;
	struct opt_i64 processes, alive, wall_ns, cpu_ns, rchar_bytes;
	struct opt_i64 syscr_calls;	   /* that read from anything */
	struct opt_i64 oom_kills;	   /* processes that its memory limit killed */
	struct opt_i64 limit_bytes;	   /* that limit */
	struct opt_i64 outside_read_bytes; /* that no hook saw: at least so many */
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
	const struct model_detail *detail; /* NULL: not asked for, or everybody else */
};

struct analysis;
struct wording;

struct model {
	struct model_run run;
	const struct analysis *analysis; /* of the advisor; NULL: none was made */
	const struct wording *wording;	 /* of a language model; NULL: none was asked for */
	struct model_probe *probes;
	size_t nr_probes;
	struct model_unmeasured *unmeasured;
	size_t nr_unmeasured;
	struct model_job *jobs; /* the watched ones first, "(others)" last */
	size_t nr_jobs;
	struct arena arena;
};

bool model_others(const struct model_job *job);
/* The job a sentence is about: the first watched one, or "(others)" when it is alone. */
const struct model_job *model_main_job(const struct model *m);

#endif
