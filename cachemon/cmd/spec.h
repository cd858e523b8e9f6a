/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a verb: its words, options and examples, in one table per verb. Parsing, --help,
 * the manual pages and shell completions are all generated from it. Owns the types and the queries
 * on a table; prints nothing. All functions are in cmd.c.
 */
#ifndef SPEC_H
#define SPEC_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* The type of a value, which decides what a shell offers for it. */
enum value_kind {
	VALUE_NONE, /* an option without a value, or a heading */
	VALUE_FILE,
	VALUE_DIRECTORY,
	VALUE_PATH,    /* a file or a directory */
	VALUE_CHOICE,  /* one of the words of its placeholder: "cold|full|auto" */
	VALUE_RUN,     /* a run of the database */
	VALUE_RUNS,    /* several runs, or "vs" between two sides */
	VALUE_JOB,     /* a job of the database */
	VALUE_FINDING, /* id of a rule or a note */
	VALUE_PID,
	VALUE_DURATION,
	VALUE_PERCENT,
	VALUE_NUMBER,
	VALUE_TEXT,    /* nothing to offer */
	VALUE_COMMAND, /* a command and its words, after "--" */
	VALUE_NR,
};

/* Rows; an option with a doc but no name is a heading. */
struct option_spec {
	struct argp_option option;
	enum value_kind value;
};

/* clang-format off */
/* arg: the placeholder of its value; NULL: none. */
#define OPTION(name, key, arg, value, help) {{name, key, arg, 0, help, 0}, value}
#define OPTIONS_HEADING(text) {{.doc = (text)}, VALUE_NONE}
#define OPTIONS_END {{0}, VALUE_NONE}
/* clang-format on */

struct example {
	const char *command;
	const char *why;
};

struct verb_spec {
	const char *name;
	const char *help;     /* continues "cachemon NAME: ", without a full stop */
	const char *operands; /* as in a usage line; NULL: no operands */
	enum value_kind operand;
	const struct example *examples;	   /* ends with an empty row */
	const struct option_spec *options; /* ends with an empty row */
	const char *notes;		   /* paragraphs, separated by empty lines */
	int (*run)(int argc, char **argv);
	bool measures; /* other verbs drop the capabilities for measuring */
	bool hidden;   /* used by programs; not listed */
};

bool option_spec_end(const struct option_spec *o);
bool option_spec_heading(const struct option_spec *o);
/* 0: no letter. */
char option_spec_letter(const struct option_spec *o);

/* --help, which every verb has. */
const struct option_spec *option_spec_help(void);

/* The length of the i-th of the words "a|b|c"; 0 after the last. */
size_t choice_of(const char *words, size_t i, const char **ret_word);

/* All verbs in display order, hidden ones last. */
const struct verb_spec *const *verbs_all(size_t *ret_nr);
/* NULL: no such verb. */
const struct verb_spec *verb_find(const char *name);
/* Examples of the whole program; ends with an empty row. */
const struct example *program_examples(void);

#endif
