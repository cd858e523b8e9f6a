/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of the files and directories of a run: database rows with the features found so far.
 * Owns the types, the functions that add features from each source, and their result, the TEMP
 * table analysis_pattern. fill_pattern() and pattern_error() are in fill_pattern.c,
 * trace_features() is in pattern_traces.c, the lookup of files and directories in
 * pattern_counters.c.
 */
#ifndef PATTERN_FILE_H
#define PATTERN_FILE_H

#include <sqlite3.h>

#include "advisor/pattern/pattern.h"
#include "cachemon/base/errtext.h"
#include "cachemon/figures/trace_code.h"

struct pattern_file {
	int64_t id, directory_id; /* directory_id 0: no directory */
	int64_t dev_major, dev_minor, ino, gen;
	int64_t size_bytes; /* -1: unknown */
	double weight;	    /* pages of it that the job read or touched */
	struct features f;
	struct pattern pattern;
};

struct pattern_directory {
	int64_t id;
	struct features f;
};

struct pattern_job {
	int64_t id;
	double page_bytes;
	struct pattern_file *files; /* sorted by dev, ino, gen */
	size_t nr_files;
	struct pattern_directory *directories; /* by id */
	size_t nr_directories;
};

/* Creates the table if needed, for the run of the TEMP table analysis_scope(run_id). 0, or
 * -errno with a line in err. */
int fill_pattern(sqlite3 *db, struct errtext *err);

struct pattern_file *pattern_file_find(const struct pattern_job *job, int64_t dev_major,
				       int64_t dev_minor, int64_t ino, int64_t gen);
/* NULL: not in the list. */
struct pattern_directory *pattern_directory_find(const struct pattern_job *job, int64_t id);

/* Each returns 0, or -errno with a line in err; without data it changes nothing. A feature from
 * an earlier source stays. */
int pattern_traces(sqlite3 *db, struct pattern_job *job, struct errtext *err);
int pattern_references(sqlite3 *db, struct pattern_job *job, struct errtext *err);
/* Rows of the job, with the features of their counters. */
int pattern_counters(sqlite3 *db, struct pattern_job *job, struct errtext *err);

/* From the events of a traced file; for many pages, only from those with a small hash, with all
 * reads of each. size_bytes: size of the file at the end; 0: unknown. 0 or -ENOMEM. */
int trace_features(const struct trace_event *events, size_t nr, uint64_t size_bytes,
		   uint64_t page_bytes, struct features *f);

int pattern_error(sqlite3 *db, const char *what, struct errtext *err);

#endif
