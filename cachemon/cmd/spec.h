/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a verb is from outside: its words, options and examples, in one table each. Parsing, --help,
 * the manual pages and the completions of the shells are all made from it. Owns the types and what
 * can be asked of a table; prints nothing. All functions are in cmd.c.
 */
#ifndef SPEC_H
#define SPEC_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* What a value is: what a shell offers for it. */
enum value_kind {
	VALUE_NONE, /* an option without one, or a heading */
	VALUE_FILE,
	VALUE_DIRECTORY,
	VALUE_PATH,    /* a file or a directory */
	VALUE_CHOICE,  /* one of the words of its placeholder: "cold|full|auto" */
	VALUE_RUN,     /* of the database */
	VALUE_RUNS,    /* several of them, or "vs" between two sides */
	VALUE_JOB,     /* of the database */
	VALUE_FINDING, /* id of a rule or a note */
	VALUE_PID,
	VALUE_DURATION,
	VALUE_PERCENT,
	VALUE_NUMBER,
	VALUE_TEXT,    /* nothing that could be offered */
	VALUE_COMMAND, /* with its own words, after "--" */
	VALUE_NR,
};

/* One whose option has a doc and no name is a heading. */
struct option_spec {
	struct argp_option option;
	enum value_kind value;
};

/* clang-format off */
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
	const char *operands; /* as in a usage line; NULL: none */
	enum value_kind operand;
	const struct example *examples;	   /* ends with an empty one */
	const struct option_spec *options; /* ends with an empty one */
	const char *notes;		   /* paragraphs, with an empty line between them */
	int (*run)(int argc, char **argv);
	bool measures; /* the others do without what a user was given for measuring */
	bool hidden;   /* for programs; in no list */
};

bool option_spec_end(const struct option_spec *o);
bool option_spec_heading(const struct option_spec *o);
/* 0: it has no letter. */
char option_spec_letter(const struct option_spec *o);

/* --help, which every verb has. */
const struct option_spec *option_spec_help(void);

/* The i-th of the words "a|b|c": its length, 0 after the last. */
size_t choice_of(const char *words, size_t i, const char **ret_word);

/* All verbs, hidden ones last, in the order in which they are shown. */
const struct verb_spec *const *verbs_all(size_t *ret_nr);
/* NULL: there is none. */
const struct verb_spec *verb_find(const char *name);
/* What is shown for the program as a whole; ends with an empty one. */
const struct example *program_examples(void);

#endif
