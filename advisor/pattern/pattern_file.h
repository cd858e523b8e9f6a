/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of the files and directories of a run: rows of the database with the features gathered
 * so far. Owns the types, the functions that gather from each source, and the TEMP table
 * analysis_pattern that they end in. fill_pattern() and pattern_error() are in fill_pattern.c,
 * trace_features() is in pattern_traces.c, what finds files and directories in pattern_counters.c.
 */
#ifndef PATTERN_FILE_H
#define PATTERN_FILE_H

#include <sqlite3.h>

#include "advisor/pattern/pattern.h"
#include "cachemon/base/errtext.h"
#include "cachemon/figures/trace_code.h"

struct pattern_file {
	int64_t id, directory_id; /* directory_id 0: of none */
	int64_t dev_major, dev_minor, ino, gen;
	int64_t size_bytes; /* -1: not known */
	double weight;	    /* pages that the job read or touched of it */
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
	struct pattern_file *files; /* by dev, ino, gen */
	size_t nr_files;
	struct pattern_directory *directories; /* by id */
	size_t nr_directories;
};

/* Makes the table where it is missing, for the run of the TEMP table analysis_scope(run_id). 0, or
 * -errno with a line in err. */
int fill_pattern(sqlite3 *db, struct errtext *err);

struct pattern_file *pattern_file_find(const struct pattern_job *job, int64_t dev_major,
				       int64_t dev_minor, int64_t ino, int64_t gen);
/* NULL: not among them. */
struct pattern_directory *pattern_directory_find(const struct pattern_job *job, int64_t id);

/* Each 0, or -errno with a line in err; without such data they change nothing. A feature that
 * another source has given already stays as it is. */
int pattern_traces(sqlite3 *db, struct pattern_job *job, struct errtext *err);
int pattern_references(sqlite3 *db, struct pattern_job *job, struct errtext *err);
/* Rows of the job, with the features of their counters. */
int pattern_counters(sqlite3 *db, struct pattern_job *job, struct errtext *err);

/* From the events of a traced file; if it has many pages, from those of a hash, with all reads of
 * each. size_bytes: of the file at the end; 0: unknown. 0 or -ENOMEM. */
int trace_features(const struct trace_event *events, size_t nr, uint64_t size_bytes,
		   uint64_t page_bytes, struct features *f);

int pattern_error(sqlite3 *db, const char *what, struct errtext *err);

#endif
