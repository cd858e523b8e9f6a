/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files and directories of a job while their patterns are found: rows of the database with the
 * features gathered so far. Owns the types and the functions that gather from each source.
 * pattern_error() is in fill_pattern.c.
 */
#ifndef PATTERN_FILE_H
#define PATTERN_FILE_H

#include <sqlite3.h>

#include "advisor/pattern/pattern.h"
#include "cachemon/base/errtext.h"

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

struct pattern_file *pattern_file_find(const struct pattern_job *job, int64_t dev_major,
				       int64_t dev_minor, int64_t ino, int64_t gen);
/* SIZE_MAX: not among them. */
size_t pattern_directory_find(const struct pattern_job *job, int64_t id);

/* Each 0, or -errno with a line in err; without such data they change nothing. A feature that
 * another source has told already stays as it is. */
int pattern_traces(sqlite3 *db, struct pattern_job *job, struct errtext *err);
int pattern_references(sqlite3 *db, struct pattern_job *job, struct errtext *err);
/* pattern_counters.c: rows of the job, with the features of their counters. */
int pattern_counters(sqlite3 *db, struct pattern_job *job, struct errtext *err);

int pattern_error(sqlite3 *db, const char *what, struct errtext *err);

#endif
