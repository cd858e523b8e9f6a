/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the verbs that show a database: which database, run and job, which format, and the
 * output. Owns these options, their texts and checks, and the opening of the database. A verb with
 * more options parses those and passes the rest on.
 */
#ifndef REPORT_ARGS_H
#define REPORT_ARGS_H

#include <argp.h>

#include "advisor/rules/rule_set.h"
#include "cachemon/cmd/spec.h"
#include "cachemon/report/run/report.h"
#include "cachemon/base/errtext.h"

enum {
	OPT_DB = 256,
	OPT_RUN,
	OPT_JOB,
	OPT_FORMAT,
	OPT_JSON,
	OPT_FILES,
	OPT_RULES,
	OPT_FULL,
	OPT_BRIEF,
	OPT_NO_PAGER,
	OPT_SOCKET,
	OPT_OF_VERB
};

#define REPORT_ARGS_FORMATS "text|md|html|json|csv|yaml"
/* Rows of an option table. */
#define REPORT_ARGS_DB                                                                             \
	OPTION("db", OPT_DB, "FILE", VALUE_FILE,                                                   \
	       "Database (default: $CACHEMON_DB, else the user's own)")
#define REPORT_ARGS_RUN OPTION("run", OPT_RUN, "ID|last", VALUE_RUN, "Run to show (default: last)")
#define REPORT_ARGS_JOB OPTION("job", OPT_JOB, "NAME", VALUE_JOB, "Only this job")
/* For verbs with .may_ask_node. */
#define REPORT_ARGS_NODE_JOB                                                                       \
	OPTION("job", OPT_JOB, "NAME", VALUE_JOB,                                                  \
	       "Only this job. KIND:NAME without a database: your job on this node, from its "     \
	       "daemon")
#define REPORT_ARGS_SOCKET                                                                         \
	OPTION("socket", OPT_SOCKET, "PATH", VALUE_FILE,                                           \
	       "Socket of the daemon (default: /run/cachemon/socket)")
#define REPORT_ARGS_FORMAT(formats)                                                                \
	OPTION("format", OPT_FORMAT, formats, VALUE_CHOICE,                                        \
	       "Default: by the ending of -o, else text")
#define REPORT_ARGS_JSON OPTION("json", OPT_JSON, NULL, VALUE_NONE, "Same as --format json")
#define REPORT_ARGS_RULES                                                                          \
	OPTION("rules", OPT_RULES, "DIR", VALUE_DIRECTORY,                                         \
	       "Add the rules, notes and thresholds of a site")
#define REPORT_ARGS_OUTPUT                                                                         \
	OPTION("output", 'o', "FILE", VALUE_FILE,                                                  \
	       "Write to FILE, completely or not at all; -: standard output")

/* The formats of a verb that does not have all. */
struct report_args_formats {
	bool (*has)(enum report_format format);
	const char *names;   /* "text, md" */
	const char *endings; /* ".txt or .md" */
};

/* For pages that are not a report of one run: all except CSV and YAML. */
extern const struct report_args_formats report_args_pages;

struct report_args {
	struct report_options report;
	const struct report_args_formats *formats; /* NULL: all */
	const char *named;			   /* database; NULL: the default */
	const char *rules;			   /* NULL: not given */
	const char *node_job, *socket;		   /* a job of the daemon; NULL: of a database */
	bool may_ask_node;			   /* --job KIND:NAME can be a node_job */
	bool over_nodes;			   /* or all runs of this job in a database */
	bool operand;				   /* given without --db */
	bool format_given;
	bool full, brief, no_pager; /* options of text */
	struct rule_dirs dirs;	    /* for report.rules, during the call */
	size_t problems;	    /* number of printed problems of these rules */
};

/* A verb's own parser passes unknown options here. Everything is checked before anything is
 * opened. */
error_t report_args_option(struct report_args *o, int key, char *arg, struct argp_state *state);

/* A database given without --db; two are rejected. */
void report_args_operand(struct report_args *o, char *arg, struct argp_state *state);

/* The value of --run. */
void report_args_parse_run(struct argp_state *state, const char *arg, int64_t *ret_run);

struct invoker;
/*
 * Calls show(arg, as) with database and rules resolved, and prints errors. show: 0, -errno with a
 * text, or 1 if everything was shown but there are problems. Returns the exit status.
 */
int report_args_run(struct report_args *args,
		    int (*show)(void *arg, const struct invoker *as, struct errtext *err),
		    void *arg);
/* The show() of a report. */
int report_args_show(struct report_args *args);
/* The part that it shows, for a verb's own show(). */
int report_args_show_report(const struct report_args *args, struct errtext *err);

#endif
