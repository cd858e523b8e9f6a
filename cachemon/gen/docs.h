/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that generates manual pages (for scdoc) and shell completions during the build: it
 * fills each line "@WORD@" of a template from the tables of the verbs, the rules, the SQL files or
 * the glossary. Owns nothing at run time; it is not installed. docs_*() are in docs_main.c, man_*()
 * and scd_*() in man.c, sql_*() and md_words() in sql.c, those of the shells in completions.c.
 */
#ifndef DOCS_H
#define DOCS_H

#include <stdio.h>

#include "cachemon/cmd/spec.h"

struct docs {
	FILE *out;
	const struct verb_spec *verb; /* NULL: the page does not describe a verb */
	char **files;		      /* its sources, NULL-terminated */
};

/* Fills one placeholder. 0 or -errno. */
typedef int docs_fill(const struct docs *d);

docs_fill bash_verbs, bash_flags, bash_values, zsh_verbs, zsh_functions, fish_verbs, fish_options;
docs_fill man_header, man_name, man_synopsis, man_examples, man_description, man_options, man_verbs,
	man_see_also;
docs_fill sql_tables, sql_terms, md_words, man_findings, man_notes;

/* Text for scdoc, with all markup escaped. */
void scd_text(FILE *out, const char *text);
/* The same, of so many bytes. */
void scd_bytes(FILE *out, const char *text, size_t len);

/* Calls each(option) for the options of a verb, then for --help; skips headings. */
void docs_options(const struct docs *d, const struct verb_spec *verb,
		  void (*each)(const struct docs *d, const struct verb_spec *verb,
			       const struct option_spec *o));
/* Calls each(verb) for all visible verbs. */
void docs_verbs(const struct docs *d,
		void (*each)(const struct docs *d, const struct verb_spec *verb));
/* "text md html", which the caller quotes. */
void docs_choices(FILE *out, const char *words);

#endif
