/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports a run in any format, from a read-only database. Owns the step from a path to a finished
 * file; the parts are model (content), data and sections (words), tree and doc (syntax). All
 * functions return 0, or -errno with a line in err.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/db/job_head.h"

enum report_format {
	REPORT_TEXT,
	REPORT_MARKDOWN,
	REPORT_HTML,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_YAML,
	REPORT_FORMAT_NR,
};

struct db_image;
struct doc;
struct errtext;
struct model;
struct rule_dirs;
struct progress_sink;

enum { REPORT_RUN_LAST = -1, REPORT_FILES_DEFAULT = 100 };

struct report_options {
	const char *db;
	bool default_db;	      /* db is the default one, which commands find without --db */
	const struct db_image *image; /* read instead of db, which then only commands name */
	int64_t run_id;		      /* or REPORT_RUN_LAST, or that - N: N runs before it */
	const char *job;	      /* NULL: all */
	enum report_format format;
	const char *out_path; /* a file that appears completely or not at all; NULL: to out */
	FILE *looks_like;     /* as in a document (doc.h) */
	size_t files;	      /* number listed per job */
	const struct rule_dirs *rules; /* a site's; NULL: built-in only */
	bool advise;		       /* only the fixes, in full */
	bool brief;		       /* as text: one screen */
	/* For the commands of a screen. */
	const char *again_db; /* a path that they must name; NULL: none */
	const char *again;    /* options that name this run; NULL: none */
	/* Receives errors of a site's rules, one line per call; NULL: only the report has them. */
	void (*on_problem)(void *arg, const char *problem);
	void *on_problem_arg;
	/* Adds a language model's text to the model, after all else is loaded; NULL: none. 0, or
	 * -errno with a text; what it adds lives until the report is written. */
	int (*word)(void *arg, struct model *m, struct errtext *err);
	void *word_arg;
	/* Gets the heads of all watched jobs before anything is shown; NULL: no callback. */
	void (*on_heads)(void *arg, const struct job_head *heads, size_t nr);
	void *on_heads_arg;
	const struct progress_sink *progress; /* NULL: no callback */
};

/* -EINVAL: no such format. "text", "md", "html", "json", "csv", "yaml". */
int report_format_parse(const char *name, enum report_format *ret_format);
/* By the ending of a path; text without a path. -EINVAL: unknown ending. */
int report_format_of_path(const char *path, enum report_format *ret_format);

/* Whether other pages than reports of one run have that format: all except CSV and YAML. */
bool report_format_of_pages(enum report_format format);
/* A document in this format; text if it is not a document format. */
struct doc report_doc(enum report_format format, FILE *out);

/* The database that commands in a document name; NULL: the default one. Pages may be sent to
 * others, so they have only the file's name. */
const char *report_db_named(const char *db, bool default_db, enum report_format format);

int report_show(const struct report_options *options, FILE *out, struct errtext *err);
/* Passes the model of a run to another consumer. use: 0 or -errno with a text. */
int report_use(const struct report_options *options,
	       int (*use)(void *arg, const struct model *m, struct errtext *err), void *arg,
	       struct errtext *err);
/* The options, each after a blank; NULL, LAST: not given. To be freed; NULL: no memory. */
char *report_again(const char *db, int64_t run_id, const char *job);

#endif
