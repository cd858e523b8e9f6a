/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines of the verbs: parsed by argp, rejected here. A rejection has one line with the
 * error and one with where to find help; argp's own would be three lines with unescaped input.
 * Nothing has been done yet at that point. A request for help anywhere on the line prints help,
 * whatever else is wrong. help_*() are in usage.c.
 */
#ifndef USAGE_H
#define USAGE_H

#include <argp.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/cmd/spec.h"

/* The options are those of the table; parser as in struct argp. Returns on success, else exits
 * with 2; after help with 0. */
void usage_parse(const struct verb_spec *spec, argp_parser_t parser, int argc, char **argv,
		 unsigned int flags, void *input);

/* Exits with 2. Escapes control characters in user input. */
void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* "OPTION: 'ARG' is not WANT". */
void usage_reject(const struct argp_state *state, const char *option, const char *arg,
		  const char *want) __attribute__((noreturn));
/* Of --level: enum watch_level; of --interval: nanoseconds. */
size_t usage_level(const struct argp_state *state, const char *arg);
uint64_t usage_interval(const struct argp_state *state, const char *arg);
/* arg, which must not be empty: the option needs a value or a name. */
char *usage_value(const struct argp_state *state, const char *option, char *arg);
char *usage_name(const struct argp_state *state, const char *option, char *arg);

/* --help of the program and of its verbs, from their tables: examples first, in 80 columns. */
void help_program(FILE *out);
void help_verb(FILE *out, const struct verb_spec *spec);

#endif
